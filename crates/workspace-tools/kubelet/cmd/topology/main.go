// Command topology runs the kubelet's topology manager on cases, one a line.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"kubelet/internal/answer"
)

func main() {
	klog.SetLogger(logr.Discard())
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case "run":
			answer.Supervisor{Limit: answer.Limit}.Run()
			return
		case "worker":
			answer.Serve(one)
			return
		}
	}
	fmt.Fprintln(os.Stderr, "usage: topology run")
	os.Exit(2)
}

func one(line []byte) any {
	return answer.Guarded(answer.ID(line), func() any {
		var c Case
		if err := json.Unmarshal(line, &c); err != nil {
			answer.Unusablef("bad case: %v", err)
		}
		return runCase(&c)
	})
}
