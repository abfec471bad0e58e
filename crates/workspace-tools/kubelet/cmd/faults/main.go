// Command faults reproduces faults of the kubelet's resource managers.
package main

import "kubelet/internal/reproduction"

// reproductions are all faults, in the order of docs/upstream/README.md.
var reproductions = []reproduction.Reproduction{
	{"merge-product", reproduction.Hangs, mergeProduct},
	{"distribute-hang", reproduction.Hangs, distributeHang},
	{"killed-between-writes", reproduction.Answers, killedBetweenWrites},
	{"full-node", reproduction.Answers, fullNode},
	{"smt-after-restart", reproduction.Answers, smtAfterRestart},
	{"pod-cpus-lost", reproduction.Answers, podCPUsLost},
	{"busy-sibling", reproduction.Answers, busySibling},
	{"node-ids", reproduction.Crashes, nodeIDs},
	{"missing-page-size", reproduction.Crashes, missingPageSize},
	{"uneven-group", reproduction.Crashes, unevenGroup},
	{"wrapped-memory", reproduction.Answers, wrappedMemory},
	{"distance-index", reproduction.Crashes, distanceIndex},
	{"refused-hints", reproduction.Answers, refusedHints},
	{"overhead-alias", reproduction.Answers, overheadAlias},
	{"blocked-devices", reproduction.Answers, blockedDevices},
	{"replaced-plugin", reproduction.Answers, replacedPlugin},
	{"open-connections", reproduction.Answers, openConnections},
}

func main() { reproduction.Main(reproductions) }
