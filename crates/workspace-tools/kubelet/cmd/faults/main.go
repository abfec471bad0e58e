// Command faults reproduces faults of the kubelet's resource managers, each in a process that may crash or hang.
//
// `faults run [NAME...]` prints a line for each: its name, FAULT, OK, ABSENT (the release lacks the code) or ERROR (the
// reproduction itself failed), and what was seen, with tabs between. `faults list` prints the names.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"k8s.io/klog/v2"

	"kubelet/internal/answer"
)

// reproductions are all faults, in the order of docs/upstream/README.md.
var reproductions = []reproduction{
	{"merge-product", hangs, mergeProduct},
	{"distribute-hang", hangs, distributeHang},
	{"killed-between-writes", answers, killedBetweenWrites},
	{"full-node", answers, fullNode},
	{"smt-after-restart", answers, smtAfterRestart},
	{"pod-cpus-lost", answers, podCPUsLost},
	{"busy-sibling", answers, busySibling},
	{"node-ids", crashes, nodeIDs},
	{"missing-page-size", crashes, missingPageSize},
	{"uneven-group", crashes, unevenGroup},
	{"wrapped-memory", answers, wrappedMemory},
	{"distance-index", crashes, distanceIndex},
	{"refused-hints", answers, refusedHints},
	{"overhead-alias", answers, overheadAlias},
	{"blocked-devices", answers, blockedDevices},
	{"replaced-plugin", answers, replacedPlugin},
	{"open-connections", answers, openConnections},
}

func main() {
	quiet := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(quiet)
	_ = quiet.Set("stderrthreshold", "FATAL")
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	switch {
	case len(os.Args) == 2 && os.Args[1] == "list":
		for _, r := range reproductions {
			fmt.Println(r.name)
		}
		return
	case len(os.Args) >= 2 && os.Args[1] == "run":
		if runAll(os.Args[2:]) {
			return
		}
	case len(os.Args) == 3 && os.Args[1] == "one":
		one(os.Args[2])
		return
	default:
		fmt.Fprintln(os.Stderr, "usage: faults list | faults run [NAME...]")
	}
	os.Exit(2)
}

// runAll reproduces the named faults, or all, and says whether every reproduction worked.
func runAll(names []string) bool {
	worked := true
	for _, r := range reproductions {
		if len(names) > 0 && !slices.Contains(names, r.name) {
			continue
		}
		v := r.inProcess()
		fmt.Printf("%s\t%s\t%s\n", r.name, v.Word, v.Seen)
		worked = worked && v.Word != "ERROR"
	}
	return worked
}

// one reproduces a fault in this process.
func one(name string) {
	defer func() {
		if r := recover(); r != nil {
			unusable, ok := r.(answer.Unusable)
			if !ok {
				panic(r)
			}
			report(verdict{"ERROR", string(unusable)})
		}
	}()
	for _, r := range reproductions {
		if r.name == name {
			report(r.run())
			return
		}
	}
	answer.Unusablef("no fault %q", name)
}
