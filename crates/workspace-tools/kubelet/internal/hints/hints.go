// Package hints turns topology hints into JSON and back.
package hints

import (
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager/bitmask"

	"kubelet/internal/answer"
)

// Mask makes a mask; null is none, [] one without nodes.
func Mask(bits []int) bitmask.BitMask {
	if bits == nil {
		return nil
	}
	return answer.Must(bitmask.NewBitMask(bits...))
}

// Bits are the nodes of a mask; null if there is none.
func Bits(mask bitmask.BitMask) []int {
	if mask == nil {
		return nil
	}
	return append([]int{}, mask.GetBits()...)
}

// Of makes a hint.
func Of(nodes []int, preferred bool) topologymanager.TopologyHint {
	hint := topologymanager.TopologyHint{Preferred: preferred}
	if nodes != nil {
		hint.NUMANodeAffinity = Mask(nodes)
	}
	return hint
}

// IsStored says whether a hint is more than what the store answers for a container that it does not know.
func IsStored(hint topologymanager.TopologyHint) bool {
	return hint.NUMANodeAffinity != nil || hint.Preferred
}

// Map turns the hints of each resource; no map stays null.
func Map[T any](all map[string][]topologymanager.TopologyHint, one func(topologymanager.TopologyHint) T) map[string][]T {
	if all == nil {
		return nil
	}
	out := map[string][]T{}
	for resource, list := range all {
		turned := []T{}
		for _, hint := range list {
			turned = append(turned, one(hint))
		}
		out[resource] = turned
	}
	return out
}
