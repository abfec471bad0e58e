package main

// Faults of the memory manager and of a pod's amounts.

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"

	"kubelet/internal/answer"
	"kubelet/internal/pods"
	"kubelet/internal/release"
	"kubelet/internal/reproduction"
)

// startMemory is a memory manager with the static policy and this memory reserved on node 0.
func startMemory(info *release.MachineInfo, reserved, dir string) release.MemoryManager {
	amounts := pods.List(pods.Amounts{"memory": reserved})
	reservation := []kubeletconfig.MemoryReservation{{NumaNode: 0, Limits: amounts}}
	m := answer.Must(release.NewMemoryManager("Static", info, amounts, reservation, dir, release.AsStore(store{})))
	none := func() []*v1.Pod { return nil }
	must(m.Start(release.Context, none, around{}, around{}, nilRuntime{}, containermap.NewContainerMap()))
	return m
}

type nilRuntime struct{ around }

// nodeIDs asks for memory on a POWER9 machine, whose GPUs are NUMA nodes 252 to 255.
func nodeIDs() reproduction.Verdict {
	dir, remove := folder()
	defer remove()
	info := machine(pairs(0, 4), pairs(8, 4), nil)
	info.Topology[1].Id, info.Topology[2].Id = 8, 255
	m := startMemory(info, "1Gi", dir)
	pod := guaranteed("pod", 1)
	hints := m.GetTopologyHints(pod, &pod.Spec.Containers[0])
	return reproduction.Sound("%d hints for memory on NUMA nodes 0, 8 and 255", len(hints["memory"]))
}

// missingPageSize asks for huge pages of a size that only one of two NUMA nodes has.
func missingPageSize() reproduction.Verdict {
	dir, remove := folder()
	defer remove()
	info := machine(pairs(0, 4), pairs(8, 4))
	info.Topology[0].HugePages = []release.HugePagesInfo{{PageSize: 1 << 20, NumPages: 4}}
	m := startMemory(info, "1Gi", dir)
	amounts := pods.Amounts{"cpu": "1", "memory": "1Gi", "hugepages-1Gi": "1Gi"}
	pod := (&pods.Pod{UID: "pod", App: []pods.Container{{Name: "app", Both: amounts}}}).Named()
	hints := m.GetTopologyHints(pod, &pod.Spec.Containers[0])
	return reproduction.Sound("%d hints for huge pages that NUMA node 1 lacks", len(hints["hugepages-1Gi"]))
}

// unevenGroup restarts beside a pod whose memory lies on two NUMA nodes, of which one has huge pages.
func unevenGroup() reproduction.Verdict {
	dir, remove := folder()
	defer remove()
	info := machine(pairs(0, 4), pairs(8, 4))
	info.Topology[0].HugePages = []release.HugePagesInfo{{PageSize: 1 << 20, NumPages: 4}}
	m := startMemory(info, "1Gi", dir)
	amounts := pods.Amounts{"cpu": "1", "memory": "100Gi"}
	pod := (&pods.Pod{UID: "pod", App: []pods.Container{{Name: "app", Both: amounts}}}).Named()
	must(allocate(m, pod))
	startMemory(info, "1Gi", dir)
	return reproduction.Sound("a pod holds memory of both NUMA nodes; the kubelet restarts")
}

// wrappedMemory reserves more memory on a NUMA node than it has, and asks for a tebibyte.
func wrappedMemory() reproduction.Verdict {
	dir, remove := folder()
	defer remove()
	info := machine(pairs(0, 4), pairs(8, 4))
	info.Topology[0].Memory, info.Topology[1].Memory = 1*gib, 1*gib
	info.MemoryCapacity = 2 * gib
	m := startMemory(info, "2Gi", dir)
	amounts := pods.Amounts{"cpu": "1", "memory": "1Ti"}
	pod := (&pods.Pod{UID: "pod", App: []pods.Container{{Name: "app", Both: amounts}}}).Named()
	if err := allocate(m, pod); err != nil {
		return reproduction.Sound("two nodes of 1Gi: a pod that asks for 1Ti is refused: %v", err)
	}
	for _, block := range m.GetMemory("pod", "app") {
		return reproduction.Fault("two nodes of 1Gi, 2Gi reserved on node 0: a pod gets %dGi on nodes %v", block.Size/gib, block.NUMAAffinity)
	}
	return reproduction.Sound("two nodes of 1Gi: a pod that asks for 1Ti gets nothing")
}

// overheadAlias asks three times what a pod with pod-level memory of 1.5Gi and an overhead of 100Mi requests.
func overheadAlias() reproduction.Verdict {
	memory := v1.ResourceList{v1.ResourceMemory: resource.MustParse("1.5Gi")}
	pod := &v1.Pod{Spec: v1.PodSpec{
		Resources:  &v1.ResourceRequirements{Requests: memory, Limits: memory},
		Overhead:   v1.ResourceList{v1.ResourceMemory: resource.MustParse("100Mi")},
		Containers: []v1.Container{{Name: "app"}},
	}}
	var seen []int64
	for range 3 {
		amount := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})[v1.ResourceMemory]
		seen = append(seen, amount.Value()>>20)
	}
	if seen[0] != seen[2] {
		return reproduction.Fault("PodRequests of one pod, three times: %d, %d, %d Mi", seen[0], seen[1], seen[2])
	}
	return reproduction.Sound("PodRequests of one pod, three times: %d Mi", seen[0])
}
