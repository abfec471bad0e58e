//go:build !kubelet_1_38

package main

import (
	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"
)

// asTaken are slices as the allocator takes them.
func asTaken(slices []*resource.ResourceSlice) []*resource.ResourceSlice { return slices }

// noneShared are no devices of which claims have shares.
func noneShared() sets.Set[structured.SharedDeviceID] { return sets.New[structured.SharedDeviceID]() }
