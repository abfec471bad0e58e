//go:build kubelet_1_37 || kubelet_1_38

package main

// Faults of the helpers with which drivers publish standard attributes.

import (
	"fmt"
	"slices"
	"testing/fstest"

	"k8s.io/dynamic-resource-allocation/deviceattribute"

	"kubelet/internal/answer"
	"kubelet/internal/reproduction"
)

// numaGaps asks which NUMA nodes are nearest to a node, on a machine whose nodes are numbered 0, 2 and 3, and with the
// numbers 0, 1 and 2.
func numaGaps() reproduction.Verdict {
	gaps, dense := nearest([]int{0, 2, 3}), nearest([]int{0, 1, 2})
	seen := fmt.Sprintf("nodes 0, 2, 3: nearest to 0 are %v; nodes 0, 1, 2: %v", gaps, dense)
	if slices.Equal(gaps, []int64{0, 2}) {
		return reproduction.Sound("%s", seen)
	}
	return reproduction.Fault("%s", seen)
}

// nearest is the attribute numaNode, in its form as a list, of a device on the first of three nodes. The second is nearer to it
// than the third.
func nearest(ids []int) []int64 {
	sysfs := fstest.MapFS{}
	for at, id := range ids {
		distances := [3]string{"10 12 20", "12 10 20", "20 20 10"}[at]
		folder := fmt.Sprintf("devices/system/node/node%d/", id)
		sysfs[folder+"distance"] = &fstest.MapFile{Data: []byte(distances + "\n")}
		sysfs[folder+"cpulist"] = &fstest.MapFile{Data: fmt.Appendf(nil, "%d\n", at)}
		sysfs[fmt.Sprintf("devices/system/cpu/cpu%d/topology/physical_package_id", at)] = &fstest.MapFile{Data: []byte("0\n")}
	}
	attribute := answer.Must(deviceattribute.GetNUMANodeAttribute(ids[0], deviceattribute.ListAttribute, deviceattribute.WithFS(sysfs)))
	return attribute.Value.IntValues
}
