package main

// What reproductions share: machines, pods, folders, and a kubelet that is quiet around its managers.

import (
	"context"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/utils/cpuset"

	"kubelet/internal/answer"
	"kubelet/internal/pods"
	"kubelet/internal/release"
)

const gib = 1 << 30

// machine makes one socket for each NUMA node; a node lists its cores, a core its CPUs.
func machine(nodes ...[][]int) *release.MachineInfo {
	info := &release.MachineInfo{NumSockets: len(nodes)}
	for id, cores := range nodes {
		node := release.Node{Id: id, Memory: 64 * gib}
		for _, cpus := range cores {
			node.Cores = append(node.Cores, release.Core{Id: info.NumPhysicalCores, SocketID: id, Threads: cpus})
			info.NumPhysicalCores++
			info.NumCores += len(cpus)
		}
		for other := range nodes {
			distance := uint64(20)
			if other == id {
				distance = 10
			}
			node.Distances = append(node.Distances, distance)
		}
		info.Topology = append(info.Topology, node)
		info.MemoryCapacity += node.Memory
	}
	return info
}

// pairs are cores of two CPUs, from the CPU `first` on.
func pairs(first, cores int) [][]int {
	var all [][]int
	for core := range cores {
		all = append(all, []int{first + 2*core, first + 2*core + 1})
	}
	return all
}

// guaranteed is a pod of one container with whole CPUs and 1Gi of memory.
func guaranteed(name string, cpus int) *v1.Pod {
	return (&pods.Pod{UID: name, App: []pods.Container{{Name: "app", Both: pods.Amounts{"cpu": strconv.Itoa(cpus), "memory": "1Gi"}}}}).Named()
}

// store is a topology manager that has no preference.
type store struct{}

func (store) GetAffinity(string, string) topologymanager.TopologyHint {
	return topologymanager.TopologyHint{}
}
func (store) GetPolicy() topologymanager.Policy {
	return topologymanager.NewBestEffortPolicy(nil, topologymanager.PolicyOptions{})
}
func (store) Name() string { return "container" }

// around is the rest of a kubelet that has just started: its sources of pods are not ready, it knows no status.
type around struct{}

func (around) AddSource(string)                            {}
func (around) AllReady() bool                              { return false }
func (around) GetPodStatus(types.UID) (v1.PodStatus, bool) { return v1.PodStatus{}, false }
func (around) UpdateContainerResources(context.Context, string, *runtimeapi.ContainerResources) error {
	return nil
}

// startCPUs makes and starts a CPU manager with the static policy, as a kubelet does that starts on the folder.
func startCPUs(info *release.MachineInfo, options map[string]string, reserved, dir string) (release.CPUManager, error) {
	set := answer.Must(cpuset.Parse(reserved))
	amount := pods.List(pods.Amounts{"cpu": strconv.Itoa(set.Size())})
	m, err := release.NewCPUManager("static", options, time.Hour, info, set, amount, dir, release.AsStore(store{}))
	if err != nil {
		return m, err
	}
	none := func() []*v1.Pod { return nil }
	return m, m.Start(context.Background(), none, around{}, around{}, around{}, containermap.NewContainerMap())
}

// freshCPUs is a CPU manager on an empty folder.
func freshCPUs(info *release.MachineInfo, options map[string]string, reserved, dir string) release.CPUManager {
	return answer.Must(startCPUs(info, options, reserved, dir))
}

// held are the CPUs that a container holds.
func held(m release.CPUManager, pod *v1.Pod) cpuset.CPUSet {
	return m.GetExclusiveCPUs(string(pod.UID), pod.Spec.Containers[0].Name)
}

// allocate serves the only container of a pod.
func allocate(m interface {
	Allocate(*v1.Pod, *v1.Container) error
}, pod *v1.Pod) error {
	return m.Allocate(pod, &pod.Spec.Containers[0])
}

// must ends a reproduction whose preparation failed.
func must(err error) {
	if err != nil {
		answer.Unusablef("%v", err)
	}
}
