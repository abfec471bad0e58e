// Program admission takes a pod the whole way into a node: it makes the kubelet's topology, CPU, memory and device managers
// as its container manager does, drives them through its admission chain, and prints what they decide.
//
//	admission run            cases on stdin, answers on stdout, one a line
//	admission vectors        cases on stdin, {"id", "case", "result"} on stdout, each asked several times
//	admission bench          work to be timed on stdin, times on stdout
//	admission drive DIR      a node whose root folder is DIR: see drive.go
//	admission steps          nodes one after the other, step by step: see steps.go
//	admission gates          every feature gate of the release
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"kubelet/internal/answer"
	"kubelet/internal/gates"
)

func runCase(c *Case) (any, error) {
	switch c.Kind {
	case "sequence":
		return runSequence(c)
	case "effective":
		return runEffective(c)
	case "config":
		return runConfig(c)
	case "reserved":
		return runReserved(c)
	}
	return nil, fmt.Errorf("unknown kind %q", c.Kind)
}

// answered asks one case once.
func answered(id any, c *Case) Line {
	a := answer.Guarded(id, func() any {
		result, err := runCase(c)
		if err != nil {
			return map[string]any{"caseError": err.Error()}
		}
		return result
	})
	return Line{ID: a.ID, Result: a.Result, Panic: a.Panic, Error: a.Error}
}

// serve answers cases, bare or as {"id", "case"}.
func serve(f func(id any, c *Case) Line) {
	inNamespace()
	answer.Serve(func(line []byte) any {
		var l Line
		c := &Case{}
		err := json.Unmarshal(line, &l)
		if err == nil && l.Case != nil {
			c = l.Case
		} else if err == nil {
			err = json.Unmarshal(line, c)
		}
		if err != nil {
			return Line{ID: l.ID, Error: err.Error()}
		}
		return f(l.ID, c)
	})
}

// supervise has each case answered by a worker in a namespace of its own.
func supervise(limit time.Duration) {
	worker := func() *exec.Cmd { return command(os.Args[1:]).Cmd }
	answer.Supervisor{Worker: worker, Limit: limit, Renew: 2000}.Run()
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: admission run|vectors|bench|drive|steps|gates")
	os.Exit(2)
}

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	klog.SetLogger(logr.Discard())
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	isWorker := os.Getenv("ADMISSION_NS") != ""
	switch os.Args[1] {
	case "run":
		flags.BoolVar(&useStubs, "stubs", false, "devices from real device plugin stubs on unix sockets")
		_ = flags.Parse(os.Args[2:])
		if !isWorker {
			supervise(answer.Limit)
			return
		}
		serve(answered)
	case "vectors":
		times := flags.Int("times", 5, "runs per case")
		_ = flags.Parse(os.Args[2:])
		if !isWorker {
			supervise(4 * answer.Limit)
			return
		}
		serve(func(id any, c *Case) Line { return vector(id, c, *times) })
	case "bench":
		limit := flags.Duration("limit", 20*time.Second, "what takes longer in all is given up")
		each := flags.Duration("each", time.Second, "how long each is repeated")
		_ = flags.Parse(os.Args[2:])
		bench(*limit, *each)
	case "bench-one":
		inNamespace()
		each := flags.Duration("each", time.Second, "")
		_ = flags.Parse(os.Args[2:])
		testing.Init()
		_ = flag.Set("test.benchtime", each.String())
		_, _ = os.Stdout.Write(append(answer.Encode(benchOne(*each)), '\n'))
	case "drive":
		if len(os.Args) != 3 {
			usage()
		}
		if err := drive(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "steps":
		if err := steps(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "gates":
		for _, line := range gates.Table() {
			fmt.Println(line)
		}
	default:
		usage()
	}
}
