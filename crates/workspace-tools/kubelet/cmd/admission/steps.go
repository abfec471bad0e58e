package main

// Nodes one after the other, each step answered as soon as it is done: `admission steps`.
//
// A line of stdin is a case, which begins a new node, or a Step of it. Each gets one line back: the answer, and the
// milliseconds of CPU time that the process took for it. A process that hangs or dies is replaced by whoever asks.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/validation"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"

	"k8s.io/apimachinery/pkg/util/sets"

	"kubelet/internal/answer"
)

// Asked is one line: a case, or a step.
type Asked struct {
	Case *Case `json:"case,omitempty"`
	Step *Step `json:"step,omitempty"`
}

// Answered is what comes back.
type Answered struct {
	Ms     int64          `json:"ms"`
	Answer map[string]any `json:"answer,omitempty"`
	Error  string         `json:"error,omitempty"` // the line cannot be asked
}

func steps() error {
	inNamespace()
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	var n *node
	restore := func() {}
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		a := &Asked{}
		var r map[string]any
		before := cpuTime()
		if err = json.Unmarshal(line, a); err == nil && a.Case != nil {
			if n != nil {
				n.close()
			}
			restore()
			n, r, restore, err = begin(a.Case)
		} else if err == nil && n != nil && a.Step != nil {
			r, err = n.asked(a.Step)
		}
		reply := Answered{Ms: (cpuTime() - before).Milliseconds(), Answer: r}
		if err != nil {
			reply.Error = err.Error()
		}
		if err := out.Encode(reply); err != nil {
			return err
		}
	}
}

// begin starts the kubelet of a case; no node is given where it does not start.
func begin(c *Case) (n *node, _ map[string]any, restore func(), err error) {
	restore = func() {}
	// Feature gates that cannot be set are a panic of the defaults; a kubelet does not start with it.
	if fault := guarded(func() { n, restore, err = newNode(c) }); fault != "" {
		return nil, map[string]any{"error": fault}, restore, nil
	}
	if err != nil {
		return nil, nil, restore, err
	}
	n.res = append(n.res, c.Devices...)
	if errs := invalid(n.kc); errs != nil {
		return nil, map[string]any{"invalid": errs}, restore, nil
	}
	clearPlugins()
	var built error
	if fault := guarded(func() { built = n.build(containermap.NewContainerMap(), sets.New[string]()) }); fault != "" {
		return nil, map[string]any{"panic": fault}, restore, nil
	}
	if built != nil {
		return nil, map[string]any{"error": strings.ReplaceAll(built.Error(), n.dir, "/var/lib/kubelet")}, restore, nil
	}
	if err := n.registerAll(); err != nil {
		return nil, nil, restore, err
	}
	n.ready.Store(true)
	return n, n.startInfo(nil), restore, nil
}

func (n *node) asked(s *Step) (map[string]any, error) {
	if n.dead {
		return nil, fmt.Errorf("the kubelet is dead")
	}
	if s.Op == "restart" && len(s.Config) > 0 {
		kc, err := decodeConfig(s.Config)
		if err != nil {
			return nil, err
		}
		if errs := invalid(kc); errs != nil {
			n.dead = true
			return map[string]any{"invalid": errs}, nil
		}
	}
	return n.guardedStep(s)
}

// invalid is what the kubelet's validation has against a configuration.
func invalid(kc *kubeletconfig.KubeletConfiguration) []string {
	err := validation.ValidateKubeletConfiguration(kc, utilfeature.DefaultFeatureGate)
	if err == nil {
		return nil
	}
	agg, ok := err.(utilerrors.Aggregate)
	if !ok {
		return []string{err.Error()}
	}
	var list []string
	for _, e := range agg.Errors() {
		list = append(list, e.Error())
	}
	return list
}

func guarded(f func()) (fault string) {
	defer func() {
		if p := recover(); p != nil {
			fault = answer.Fault(p)
		}
	}()
	f()
	return ""
}

// cpuTime is what the process has taken of all CPUs.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
