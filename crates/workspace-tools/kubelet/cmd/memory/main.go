// Command memory runs the kubelet's memory manager on cases, one a line, and its arithmetic of quantities.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/metrics"

	"kubelet/internal/answer"
	"kubelet/internal/gates"
	"kubelet/internal/release"
)

func setup() {
	klog.SetLogger(logr.Discard())
	// Counters are live if the gate is on when they are registered.
	gates.Set(map[string]bool{gates.PodLevelManagers: release.HasPodLevel})
	metrics.Register()
	gates.Set(nil)
}

func main() {
	if len(os.Args) != 2 || os.Args[1] != "run" {
		fmt.Fprintln(os.Stderr, "usage: memory run")
		os.Exit(2)
	}
	setup()
	answer.Serve(one)
}

func one(line []byte) any {
	id := answer.ID(line)
	c := &Case{}
	if err := json.Unmarshal(line, c); err != nil {
		return answer.Answer{ID: id, Error: err.Error()}
	}
	return answer.Within(answer.Limit, id, func() any { return execute(c) })
}
