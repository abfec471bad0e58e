package main

// A reproduction in a process of its own, and what its end says.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// deadline is how long a reproduction may take. Each one that ends takes less than a second.
const deadline = 20 * time.Second

// end is how a fault shows.
type end int

const (
	answers end = iota // by a wrong answer
	crashes            // the process dies
	hangs              // the process goes on for ever
)

// reproduction is one fault.
type reproduction struct {
	name  string
	shows end
	run   func() verdict
}

// verdict is what a reproduction found.
type verdict struct {
	Word string `json:"word"`
	Seen string `json:"seen"`
}

func fault(format string, args ...any) verdict {
	return verdict{"FAULT", fmt.Sprintf(format, args...)}
}

func sound(format string, args ...any) verdict {
	return verdict{"OK", fmt.Sprintf(format, args...)}
}

// note prints what went well before the fault. A process that dies afterwards can no longer say it.
func note(format string, args ...any) { report(verdict{"NOTE", fmt.Sprintf(format, args...)}) }

func report(v verdict) {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

// inProcess runs the reproduction in another process of this program.
func (r reproduction) inProcess() verdict {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	command := exec.CommandContext(ctx, "/proc/self/exe", "one", r.name)
	var out, trace bytes.Buffer
	command.Stdout, command.Stderr = &out, &trace
	err := command.Run()
	var said []string
	for _, line := range bytes.Split(out.Bytes(), []byte("\n")) {
		var v verdict
		if json.Unmarshal(line, &v) != nil {
			continue
		}
		if v.Word != "NOTE" {
			return v
		}
		said = append(said, v.Seen)
	}
	var exit *exec.ExitError
	seen := func(last string) string { return strings.Join(append(said, last), "; ") }
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return ended(r.shows == hangs, seen(fmt.Sprintf("no answer after %s", deadline)))
	case errors.As(err, &exit):
		text, inKubelet := panicOf(trace.String())
		return ended(r.shows == crashes && inKubelet, seen(text))
	}
	return verdict{"ERROR", seen(fmt.Sprintf("no verdict: %v", err))}
}

// ended is a fault if the process ended as the fault shows.
func ended(asExpected bool, seen string) verdict {
	if asExpected {
		return verdict{"FAULT", seen}
	}
	return verdict{"ERROR", seen}
}

var frame = regexp.MustCompile(`(?m)^k8s\.io/kubernetes/pkg/kubelet/(\S+)\(`)

// panicOf is the panic of a Go program's last words, with the topmost function of the kubelet's.
func panicOf(trace string) (text string, inKubelet bool) {
	for _, line := range strings.Split(trace, "\n") {
		if strings.HasPrefix(line, "panic: ") {
			text = strings.TrimSuffix(line, " [recovered, repanicked]")
			break
		}
	}
	found := frame.FindStringSubmatch(trace)
	if text == "" || found == nil {
		fmt.Fprint(os.Stderr, trace)
		return "the process died outside the kubelet's code", false
	}
	name := found[1]
	return fmt.Sprintf("%s, in %s", text, name), true
}
