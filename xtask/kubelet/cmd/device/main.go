// Command device is the oracle for the kubelet's device manager (v1.36.3).
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"k8s.io/klog/v2"
	kubeletmetrics "k8s.io/kubernetes/pkg/kubelet/metrics"
)

var tmpRoot = "/dev/shm"

func main() {
	quiet := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(quiet)
	quiet.Set("stderrthreshold", "FATAL")
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	if os.Getenv("KLOG") != "" {
		quiet.Set("v", os.Getenv("KLOG"))
		klog.LogToStderr(true)
		klog.SetOutput(os.Stderr)
	}
	if _, err := os.Stat(tmpRoot); err != nil {
		tmpRoot = os.TempDir()
	}
	kubeletmetrics.Register()
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: device run")
		os.Exit(2)
	}
	switch os.Args[1] {
	case "run":
		run()
	}
}

func run() {
	sc := bufio.NewScanner(os.Stdin)
	sc.Buffer(make([]byte, 1<<20), 1<<28)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for sc.Scan() {
		if len(sc.Bytes()) == 0 {
			continue
		}
		c := &Case{}
		line := append([]byte(nil), sc.Bytes()...)
		if err := json.Unmarshal(line, c); err != nil {
			enc.Encode(map[string]any{"id": c.ID, "error": err.Error()})
			continue
		}
		type answer struct{ v map[string]any }
		ch := make(chan answer, 1)
		go func() {
			defer func() {
				if r := recover(); r != nil {
					ch <- answer{map[string]any{"id": c.ID, "panic": fmt.Sprint(r)}}
				}
			}()
			ch <- answer{map[string]any{"id": c.ID, "result": runCase(c)}}
		}()
		var a map[string]any
		select {
		case x := <-ch:
			a = x.v
		case <-time.After(5 * time.Second):
			a = map[string]any{"id": c.ID, "hang": true}
		}
		enc.Encode(a)
		out.Flush()
	}
}
