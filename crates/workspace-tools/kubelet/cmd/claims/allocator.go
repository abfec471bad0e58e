package main

// Faults of kube-scheduler's allocator of resource claims.

import (
	"maps"
	"slices"
	"strings"

	resource "k8s.io/api/resource/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"sigs.k8s.io/yaml"

	"kubelet/internal/answer"
	"kubelet/internal/reproduction"
)

// judged is a fault if the pod of a manifest ends as the fault shows. The other decision stands beside it: the same with a
// harmless change, which has to fit.
func judged(shows decided, found decision, change string, other decision) reproduction.Verdict {
	seen := found.seen + "; " + change + ": " + other.seen
	if found.end == shows && other.end == fits {
		return reproduction.Fault("%s", seen)
	}
	return reproduction.Sound("%s", seen)
}

// searchExplosion asks for six CPUs and then a GPU on one NUMA node, and for the same in the other order.
func searchExplosion() reproduction.Verdict {
	o := manifest("search-explosion")
	found := o.decide(features)
	slices.Reverse(o.requests())
	return judged(timedOut, found, "the GPU requested first", o.decide(features))
}

// allConstraint asks for all GPUs of a node, on one NUMA node; then for the same where both are on one.
func allConstraint() reproduction.Verdict {
	o := manifest("all-constraint")
	found := o.decide(features)
	for _, device := range o.slices[0].Spec.Devices {
		maps.Copy(device.Attributes, o.slices[0].Spec.Devices[0].Attributes)
	}
	return judged(stopsPod, found, "with both GPUs on one NUMA node", o.decide(features))
}

// allLimit asks for all devices of a node with 33, and then with 32.
func allLimit() reproduction.Verdict {
	o := manifest("all-limit")
	found := o.decide(features)
	o.slices[0].Spec.Devices = o.slices[0].Spec.Devices[1:]
	other := o.decide(features)
	other.seen, _, _ = strings.Cut(other.seen, ":")
	return judged(stopsPod, found, "with a device less", other)
}

// allOtherDriver asks for all GPUs while the slices of another driver are incomplete, and for as many GPUs as there are.
func allOtherDriver() reproduction.Verdict {
	o := manifest("all-other-driver")
	found := o.decide(features)
	request := o.requests()[0].Exactly
	request.AllocationMode, request.Count = resource.DeviceAllocationModeExactCount, 2
	return judged(stopsPod, found, "two GPUs requested", o.decide(features))
}

// counterSets asks for a partition of a free GPU beside one whose partitions consume more than it has now.
func counterSets() reproduction.Verdict {
	o := manifest("counter-sets")
	found := o.decide(features)
	results := &o.allocated[0].Status.Allocation.Devices.Results
	*results = (*results)[:1]
	return judged(doesNotFit, found, "with gpu-0-b free", o.decide(features))
}

// adminCounters asks for administrative access to a partition in use, and to the same device without counters.
func adminCounters() reproduction.Verdict {
	o := manifest("admin-counters")
	found := o.decide(features)
	o.slices[1].Spec.Devices[0].ConsumesCounters = nil
	return judged(doesNotFit, found, "to the same device without counters", o.decide(features))
}

// adminOrder has a pod with administrative access to a GPU and the GPU, in both orders.
func adminOrder() reproduction.Verdict {
	o := manifest("admin-order")
	found := o.decide(features)
	slices.Reverse(o.wanted)
	return judged(doesNotFit, found, "with the claims in the other order", o.decide(features))
}

// capacityDomain asks for a capacity by its full name, and by its short one.
func capacityDomain() reproduction.Verdict {
	o := manifest("capacity-domain")
	found := o.decide(features)
	requested := o.requests()[0].Exactly.Capacity.Requests
	for name, amount := range maps.Clone(requested) {
		_, short, _ := strings.Cut(string(name), "/")
		delete(requested, name)
		requested[resource.QualifiedName(short)] = amount
	}
	return judged(doesNotFit, found, "by its short name", o.decide(features))
}

// capacityIgnored asks for more than a device has, without the gate of such requests, of two of the allocators.
func capacityIgnored() reproduction.Verdict {
	o := manifest("capacity-ignored")
	off := features
	off.ConsumableCapacity = false
	found := o.decide(off)
	seen := found.seen + "; by the allocator \"incubating\": " + o.decidedByIncubating(off)
	if found.end == fits {
		return reproduction.Fault("%s", seen)
	}
	return reproduction.Sound("%s", seen)
}

// attributeTwice has a selector read an attribute that a device has under two names, two hundred times.
func attributeTwice() reproduction.Verdict {
	o := manifest("attribute-twice")
	found := map[string]bool{}
	for range 200 {
		found[o.decide(features).seen] = true
	}
	seen := strings.Join(slices.Sorted(maps.Keys(found)), ", and also ")
	if len(found) > 1 {
		return reproduction.Fault("asked 200 times: %s", seen)
	}
	return reproduction.Sound("asked 200 times: %s", seen)
}

// negativeCounter has a device consume less than nothing, which the API server accepts.
func negativeCounter() reproduction.Verdict {
	o := manifest("negative-counter")
	must(utilfeature.DefaultMutableFeatureGate.Set("DRAPartitionableDevices=true"))
	for _, slice := range arranged(o.slices) {
		if refused := created(answer.Must(yaml.Marshal(slice))).refused; refused != "" {
			return reproduction.Sound("the API server refuses it: %s", refused)
		}
	}
	found := o.decide(features)
	o.slices[1].Spec.Devices = o.slices[1].Spec.Devices[1:]
	o.requests()[0].Exactly.Count = 1
	other := o.decide(features)
	seen := found.seen + "; the large one alone: " + other.seen
	if found.end == fits && other.end == doesNotFit {
		return reproduction.Fault("%s; accepted by the API server", seen)
	}
	return reproduction.Sound("%s", seen)
}
