// Package reproduction runs reproductions of faults, each in a process that may crash or hang, and says what their ends show.
package reproduction

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

// End is how a fault shows.
type End int

const (
	Answers End = iota // by a wrong answer
	Crashes            // the process dies
	Hangs              // the process goes on for ever
)

// Reproduction is one fault.
type Reproduction struct {
	Name  string
	Shows End
	Run   func() Verdict
}

// Verdict is what a reproduction found.
type Verdict struct {
	Word string `json:"word"`
	Seen string `json:"seen"`
}

// Fault is the verdict that the release has the fault.
func Fault(format string, args ...any) Verdict {
	return Verdict{"FAULT", fmt.Sprintf(format, args...)}
}

// Sound is the verdict that it does what it should.
func Sound(format string, args ...any) Verdict {
	return Verdict{"OK", fmt.Sprintf(format, args...)}
}

// Absent is the verdict that it lacks the feature that the fault is in.
func Absent(format string, args ...any) Verdict {
	return Verdict{"ABSENT", fmt.Sprintf(format, args...)}
}

// Note prints what went well before the fault. A process that dies afterwards can no longer say it.
func Note(format string, args ...any) { report(Verdict{"NOTE", fmt.Sprintf(format, args...)}) }

func report(v Verdict) {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

// inProcess runs the reproduction in another process of this program.
func (r Reproduction) inProcess() Verdict {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	command := exec.CommandContext(ctx, "/proc/self/exe", "one", r.Name)
	var out, trace bytes.Buffer
	command.Stdout, command.Stderr = &out, &trace
	err := command.Run()
	var said []string
	for _, line := range bytes.Split(out.Bytes(), []byte("\n")) {
		var v Verdict
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
		return ended(r.Shows == Hangs, seen(fmt.Sprintf("no answer after %s", deadline)))
	case errors.As(err, &exit):
		text, inKubelet := panicOf(trace.String())
		return ended(r.Shows == Crashes && inKubelet, seen(text))
	}
	return Verdict{"ERROR", seen(fmt.Sprintf("no verdict: %v", err))}
}

// ended is a fault if the process ended as the fault shows.
func ended(asExpected bool, seen string) Verdict {
	if asExpected {
		return Verdict{"FAULT", seen}
	}
	return Verdict{"ERROR", seen}
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
