//go:build kubelet_1_37 || kubelet_1_38

package release

// The pod resources service of 1.37, which shows what pods hold as a whole.

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	podresourcesapi "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubernetes/pkg/kubelet/apis/podresources"
)

// Provided is what a pod resources service is told. Keys are "uid/container", "uid" or, for what is allocatable, "/".
type Provided interface {
	UpdateAllocatedDevices()
	Devices(uid, container string) []*podresourcesapi.ContainerDevices
	AllocatableDevices() []*podresourcesapi.ContainerDevices
	CPUs(key string) []int64
	Memory(key string) []*podresourcesapi.ContainerMemory
	podresources.PodsProvider
}

type told struct{ Provided }

func (t told) UpdateAllocatedDevices(klog.Logger)                           { t.Provided.UpdateAllocatedDevices() }
func (t told) GetDevices(uid, c string) []*podresourcesapi.ContainerDevices { return t.Devices(uid, c) }
func (t told) GetAllocatableDevices(klog.Logger) []*podresourcesapi.ContainerDevices {
	return t.AllocatableDevices()
}
func (t told) GetCPUs(pod *v1.Pod, c *v1.Container) []int64 {
	return t.CPUs(string(pod.UID) + "/" + c.Name)
}
func (t told) GetPodCPUs(uid string) []int64 { return t.CPUs(uid) }
func (t told) GetAllocatableCPUs() []int64   { return t.CPUs("/") }
func (t told) GetMemory(_ klog.Logger, pod *v1.Pod, c *v1.Container) []*podresourcesapi.ContainerMemory {
	return t.Memory(string(pod.UID) + "/" + c.Name)
}
func (t told) GetPodMemory(_ klog.Logger, uid string) []*podresourcesapi.ContainerMemory {
	return t.Memory(uid)
}
func (t told) GetAllocatableMemory(klog.Logger) []*podresourcesapi.ContainerMemory {
	return t.Memory("/")
}
func (t told) GetDynamicResources(klog.Logger, *v1.Pod, *v1.Container) []*podresourcesapi.DynamicResource {
	return nil
}

// PodResources is the service.
func PodResources(p Provided) podresourcesapi.PodResourcesListerServer {
	t := told{p}
	return podresources.NewV1PodResourcesServer(Context, podresources.PodResourcesProviders{Pods: t, Devices: t, Cpus: t, Memory: t, DynamicResources: t})
}

// PodResourcesOf gives what the pod holds as a whole.
func PodResourcesOf(p *podresourcesapi.PodResources, show func(cpus []int64, memory []*podresourcesapi.ContainerMemory)) {
	show(p.CpuIds, p.Memory)
}
