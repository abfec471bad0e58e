//go:build kubelet_1_34

package main

import (
	resource "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured"
)

// arranged are slices with counters where the release has them: beside the devices that consume them.
func arranged(slices []*resource.ResourceSlice) []*resource.ResourceSlice {
	var sets []resource.CounterSet
	var kept []*resource.ResourceSlice
	for _, slice := range slices {
		sets = append(sets, slice.Spec.SharedCounters...)
		if len(slice.Spec.Devices) > 0 {
			kept = append(kept, slice.DeepCopy())
		}
	}
	if len(sets) > 0 {
		kept[0].Spec.SharedCounters, kept[0].Spec.Pool.ResourceSliceCount = sets, int64(len(kept))
	}
	return kept
}

func stopsNodeOnly(error) bool { return false }

func (*objects) decidedByIncubating(structured.Features) string { return "cannot be chosen" }
