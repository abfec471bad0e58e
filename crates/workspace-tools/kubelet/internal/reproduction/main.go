package reproduction

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"k8s.io/klog/v2"

	"kubelet/internal/answer"
)

// Main is a program with reproductions. `run [NAME...]` prints a line for each: its name, FAULT, OK, ABSENT (the release lacks
// the code) or ERROR (the reproduction itself failed), and what was seen, with tabs between. `list` prints the names.
func Main(all []Reproduction) {
	quiet := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(quiet)
	_ = quiet.Set("stderrthreshold", "FATAL")
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	switch {
	case len(os.Args) == 2 && os.Args[1] == "list":
		for _, r := range all {
			fmt.Println(r.Name)
		}
		return
	case len(os.Args) >= 2 && os.Args[1] == "run":
		if runAll(all, os.Args[2:]) {
			return
		}
	case len(os.Args) == 3 && os.Args[1] == "one":
		one(all, os.Args[2])
		return
	default:
		fmt.Fprintf(os.Stderr, "usage: %[1]s list | %[1]s run [NAME...]\n", os.Args[0])
	}
	os.Exit(2)
}

// runAll reproduces the named faults, or all, and says whether every reproduction worked.
func runAll(all []Reproduction, names []string) bool {
	worked := true
	for _, r := range all {
		if len(names) > 0 && !slices.Contains(names, r.Name) {
			continue
		}
		v := r.inProcess()
		fmt.Printf("%s\t%s\t%s\n", r.Name, v.Word, v.Seen)
		worked = worked && v.Word != "ERROR"
	}
	return worked
}

// one reproduces a fault in this process.
func one(all []Reproduction, name string) {
	defer func() {
		if r := recover(); r != nil {
			unusable, ok := r.(answer.Unusable)
			if !ok {
				panic(r)
			}
			report(Verdict{"ERROR", string(unusable)})
		}
	}()
	for _, r := range all {
		if r.Name == name {
			report(r.Run())
			return
		}
	}
	answer.Unusablef("no fault %q", name)
}
