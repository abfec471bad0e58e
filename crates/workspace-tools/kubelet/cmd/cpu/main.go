// Command cpu runs the kubelet's CPU manager on cases, one a line.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"kubelet/internal/answer"
)

func main() {
	klog.SetLogger(logr.Discard())
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
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
	fmt.Fprintln(os.Stderr, "usage: cpu run")
	os.Exit(2)
}

// one answers a case, bare or as {"id", "case"}.
func one(line []byte) any {
	return answer.Guarded(answer.ID(line), func() any {
		var c Case
		if err := json.Unmarshal(line, &c); err != nil {
			answer.Unusablef("bad case: %v", err)
		}
		if c.Kind == "" {
			var recorded struct{ Case Case }
			if json.Unmarshal(line, &recorded) == nil {
				c = recorded.Case
			}
		}
		return execute(&c)
	})
}
