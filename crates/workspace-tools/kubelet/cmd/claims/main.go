// Command claims reproduces faults in how resource claims are decided: by kube-scheduler's allocator, by the API server's
// validation and by the helpers of drivers. It runs in the root of the workspace.
package main

import "kubelet/internal/reproduction"

// reproductions are all faults, in the order of docs/upstream/README.md.
var reproductions = []reproduction.Reproduction{
	{"search-explosion", reproduction.Answers, searchExplosion},
	{"all-constraint", reproduction.Answers, allConstraint},
	{"all-limit", reproduction.Answers, allLimit},
	{"all-other-driver", reproduction.Answers, allOtherDriver},
	{"counter-sets", reproduction.Answers, counterSets},
	{"admin-counters", reproduction.Answers, adminCounters},
	{"admin-order", reproduction.Answers, adminOrder},
	{"capacity-domain", reproduction.Answers, capacityDomain},
	{"capacity-ignored", reproduction.Answers, capacityIgnored},
	{"attribute-twice", reproduction.Answers, attributeTwice},
	{"negative-counter", reproduction.Answers, negativeCounter},
	{"attribute-slashes", reproduction.Answers, attributeSlashes},
	{"driver-capitals", reproduction.Answers, driverCapitals},
	{"dropped-class", reproduction.Answers, droppedClass},
	{"deleted-class", reproduction.Answers, deletedClass},
	{"numa-gaps", reproduction.Answers, numaGaps},
}

func main() { reproduction.Main(reproductions) }
