package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/metrics"
)

func setup() {
	klog.SetLogger(logr.Discard())
	// register with the gate on, so that every counter is live
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{"PodLevelResources": true, "PodLevelResourceManagers": true}); err != nil {
		panic(err)
	}
	metrics.Register()
	setGates(nil)
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: memory run")
		os.Exit(2)
	}
	setup()
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	switch os.Args[1] {
	case "run":
		sc := bufio.NewReaderSize(os.Stdin, 1<<20)
		for {
			line, err := sc.ReadBytes('\n')
			if len(line) > 1 {
				c, derr := decodeCase(line)
				if derr != nil {
					enc.Encode(Out{ID: c.ID, Result: map[string]string{"bad_case": derr.Error()}})
				} else {
					enc.Encode(executeTimed(c))
				}
				out.Flush()
			}
			if err != nil {
				return
			}
		}
	}
}
