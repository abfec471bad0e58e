//go:build !kubelet_1_34

package main

import (
	"errors"

	resource "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured"
)

// arranged are slices with counters where the release has them: in slices without devices.
func arranged(slices []*resource.ResourceSlice) []*resource.ResourceSlice { return slices }

// stopsNodeOnly is whether an error of the allocator lets kube-scheduler try other nodes.
func stopsNodeOnly(err error) bool { return errors.Is(err, structured.ErrFailedAllocationOnNode) }

// decidedByIncubating is what the allocator "incubating" decides where another would be taken.
func (o *objects) decidedByIncubating(features structured.Features) string {
	structured.EnableAllocators("incubating")
	defer structured.EnableAllocators()
	return o.decide(features).seen
}
