// Command device runs the kubelet's device manager on cases, one a line.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"k8s.io/klog/v2"
	kubeletmetrics "k8s.io/kubernetes/pkg/kubelet/metrics"

	"kubelet/internal/answer"
)

func main() {
	quiet := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(quiet)
	_ = quiet.Set("stderrthreshold", "FATAL")
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	if len(os.Args) != 2 || os.Args[1] != "run" {
		fmt.Fprintln(os.Stderr, "usage: device run")
		os.Exit(2)
	}
	kubeletmetrics.Register()
	answer.Serve(one)
}

func one(line []byte) any {
	id := answer.ID(line)
	c := &Case{}
	if err := json.Unmarshal(line, c); err != nil {
		return answer.Answer{ID: id, Error: err.Error()}
	}
	return answer.Within(answer.Limit, id, func() any { return runCase(c) })
}
