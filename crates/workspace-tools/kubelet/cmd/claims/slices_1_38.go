//go:build kubelet_1_38

package main

// The allocator of 1.38 takes slices in a form of its own.

import (
	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/api"
	"k8s.io/dynamic-resource-allocation/structured"
)

// asTaken are slices as the allocator takes them.
func asTaken(slices []*resource.ResourceSlice) []*api.ResourceSlice {
	var all []*api.ResourceSlice
	for _, slice := range slices {
		own := new(api.ResourceSlice)
		if err := api.Convert_v1_ResourceSlice_To_api_ResourceSlice(slice, own, nil); err != nil {
			panic(err)
		}
		all = append(all, own)
	}
	return all
}

// noneShared are no devices of which claims have shares.
func noneShared() sets.Set[structured.DeviceID] { return sets.New[structured.DeviceID]() }
