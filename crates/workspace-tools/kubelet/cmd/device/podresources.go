package main

// What the pod resources service is told.

import (
	v1 "k8s.io/api/core/v1"
	podresourcesapi "k8s.io/kubelet/pkg/apis/podresources/v1"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/utils/cpuset"

	"kubelet/internal/answer"
	"kubelet/internal/release"
)

// provided is what the pod resources service is told: by the device manager, and by the case in place of the others.
type provided struct{ w *world }

func (p provided) UpdateAllocatedDevices() { p.w.in.m.UpdateAllocatedDevices() }
func (p provided) Devices(uid, c string) []*podresourcesapi.ContainerDevices {
	return release.PodResDevices(p.w.in.m.GetDevices(uid, c))
}
func (p provided) AllocatableDevices() []*podresourcesapi.ContainerDevices {
	return release.PodResDevices(p.w.in.m.GetAllocatableDevices())
}
func (p provided) CPUs(key string) []int64 {
	var out []int64
	for _, c := range answer.Must(cpuset.Parse(p.w.cpus[key])).List() {
		out = append(out, int64(c))
	}
	return out
}
func (p provided) Memory(key string) []*podresourcesapi.ContainerMemory {
	var bs []memorystate.Block
	for _, b := range p.w.mem[key] {
		bs = append(bs, memorystate.Block{NUMAAffinity: b.Nodes, Type: v1.ResourceName(b.Type), Size: b.Size})
	}
	return release.PodResMemory(bs)
}
func (p provided) GetActivePods() []*v1.Pod { return p.w.activePods() }
func (p provided) GetPods() []*v1.Pod {
	var out []*v1.Pod
	for _, u := range p.w.order {
		out = append(out, p.w.pods[u])
	}
	return out
}
func (p provided) GetPodByName(ns, name string) (*v1.Pod, bool) {
	for _, x := range p.w.activePods() {
		if x.Namespace == ns && x.Name == name {
			return x, true
		}
	}
	return nil, false
}

func (w *world) podres() podresourcesapi.PodResourcesListerServer {
	return release.PodResources(provided{w})
}

// providedKey is "uid/container", "/" for what is allocatable, or "uid" for what a pod holds as a whole.
func providedKey(st *Step) string {
	if st.Pod != "" && st.Container == "" {
		return st.Pod
	}
	return st.Pod + "/" + st.Container
}
