package main

// Faults of the topology manager.

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager/bitmask"

	"kubelet/internal/answer"
	"kubelet/internal/hints"
	"kubelet/internal/release"
	"kubelet/internal/reproduction"
)

type hintsByResource = map[string][]topologymanager.TopologyHint

// mergeProduct merges the hints of one to four resources on eight NUMA nodes, the most that the kubelet allows by default.
func mergeProduct() reproduction.Verdict {
	var info []release.Node
	for id := range 8 {
		info = append(info, release.Node{Id: id, Distances: []uint64{10, 20, 20, 20, 20, 20, 20, 20}})
	}
	m := answer.Must(release.NewTopologyManager(info, topologymanager.PolicyRestricted, "container", nil))
	var list []topologymanager.TopologyHint // what the CPU manager gives for one CPU
	bitmask.IterateBitMasks([]int{0, 1, 2, 3, 4, 5, 6, 7}, func(mask bitmask.BitMask) {
		list = append(list, topologymanager.TopologyHint{NUMANodeAffinity: mask, Preferred: mask.Count() == 1})
	})
	var all []hintsByResource
	for _, resource := range []string{"cpu", "memory", "example.com/gpu", "example.com/nic"} {
		all = append(all, hintsByResource{resource: list})
		if len(all) == 1 {
			continue
		}
		if _, admit := release.Merge(m.GetPolicy(), all); !admit {
			answer.Unusablef("%d lists of %d hints: refused", len(all), len(list))
		}
		reproduction.Note("%d lists of %d hints merged", len(all), len(list))
	}
	return reproduction.Sound("four lists of %d hints merged", len(list))
}

// distanceIndex merges hints on NUMA nodes 0 and 2, with the option that compares distances.
func distanceIndex() reproduction.Verdict {
	info := []release.Node{{Id: 0, Distances: []uint64{10, 20}}, {Id: 2, Distances: []uint64{20, 10}}}
	options := map[string]string{"prefer-closest-numa-nodes": "true"}
	m := answer.Must(release.NewTopologyManager(info, topologymanager.PolicyBestEffort, "container", options))
	list := []topologymanager.TopologyHint{hints.Of([]int{0}, true), hints.Of([]int{2}, true)}
	hint, _ := release.Merge(m.GetPolicy(), []hintsByResource{{"cpu": list}})
	return reproduction.Sound("nodes 0 and 2: the hints of each are merged to %v", hints.Bits(hint.NUMANodeAffinity))
}

// refuser gives a hint and then does not allocate.
type refuser struct{}

func (refuser) GetTopologyHints(*v1.Pod, *v1.Container) hintsByResource {
	return hintsByResource{"example.com/gpu": {hints.Of([]int{0}, true)}}
}
func (r refuser) GetPodTopologyHints(*v1.Pod) hintsByResource { return r.GetTopologyHints(nil, nil) }
func (refuser) AllocatePod(*v1.Pod) error                     { return errors.New("no device") }
func (refuser) Allocate(*v1.Pod, *v1.Container) error         { return errors.New("no device") }

// refusedHints admits a thousand pods whose allocation fails after their hints were merged.
func refusedHints() reproduction.Verdict {
	const count = 1000
	info := []release.Node{{Id: 0, Distances: []uint64{10, 20}}, {Id: 1, Distances: []uint64{20, 10}}}
	m := answer.Must(release.NewTopologyManager(info, topologymanager.PolicyBestEffort, "container", nil))
	m.AddHintProvider(release.Quiet, release.AsProvider(refuser{}))
	kept := 0
	for at := range count {
		pod := guaranteed(fmt.Sprint("pod-", at), 1)
		if m.Admit(release.AddAttributes(pod)).Admit {
			answer.Unusablef("a pod without its device was admitted")
		}
		// The container never got an id, so RemoveContainer cannot be called for it.
		if hints.IsStored(m.GetAffinity(string(pod.UID), "app")) {
			kept++
		}
	}
	if kept > 0 {
		return reproduction.Fault("%d pods refused; the hints of %d are still stored", count, kept)
	}
	return reproduction.Sound("%d pods refused; no hint is stored", count)
}
