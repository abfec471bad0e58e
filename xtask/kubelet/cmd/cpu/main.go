// Command cpu runs the real CPU manager of Kubernetes on cases given as JSON lines.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

const caseLimit = 5 * time.Second

func main() {
	klog.SetLogger(logr.Discard())
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: cpu run|worker")
		os.Exit(2)
	}
	switch os.Args[1] {
	case "run":
		supervise()
	case "worker":
		worker()
	default:
		fmt.Fprintln(os.Stderr, "unknown command", os.Args[1])
		os.Exit(2)
	}
}

func lines(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, 1<<20) }

func caseID(line []byte) any {
	var h struct {
		ID   any             `json:"id"`
		Case json.RawMessage `json:"case"`
	}
	_ = json.Unmarshal(line, &h)
	return h.ID
}

// supervise feeds a worker process one case at a time and replaces the worker when a case does not end.
func supervise() {
	in := lines(os.Stdin)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	var cmd *exec.Cmd
	var wIn io.WriteCloser
	var wOut chan []byte
	start := func() {
		cmd = exec.Command(os.Args[0], "worker")
		cmd.Stderr = os.Stderr
		wIn, _ = cmd.StdinPipe()
		p, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		ch := make(chan []byte, 1)
		wOut = ch
		go func() {
			r := lines(p)
			for {
				b, err := r.ReadBytes('\n')
				if len(b) > 0 {
					ch <- b
				}
				if err != nil {
					close(ch)
					return
				}
			}
		}()
	}
	stop := func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		cmd = nil
	}
	for {
		line, err := in.ReadBytes('\n')
		if t := strings.TrimSpace(string(line)); t != "" {
			if cmd == nil {
				start()
			}
			if _, werr := wIn.Write([]byte(t + "\n")); werr != nil {
				stop()
				start()
				_, _ = wIn.Write([]byte(t + "\n"))
			}
			var resp []byte
			select {
			case b, ok := <-wOut:
				if ok {
					resp = b
				} else {
					resp, _ = json.Marshal(map[string]any{"id": caseID([]byte(t)), "panic": "worker died"})
					stop()
				}
			case <-time.After(caseLimit):
				resp, _ = json.Marshal(map[string]any{"id": caseID([]byte(t)), "hang": true})
				stop()
			}
			out.Write(append([]byte(strings.TrimSpace(string(resp))), '\n'))
			if in.Buffered() == 0 {
				out.Flush()
			}
		}
		if err != nil {
			break
		}
	}
	if cmd != nil {
		_ = wIn.Close()
		_ = cmd.Wait()
	}
}

func enc(v any) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return []byte(strings.TrimSpace(b.String()))
}

func worker() {
	in := lines(os.Stdin)
	n := 0
	for {
		line, err := in.ReadBytes('\n')
		if len(strings.TrimSpace(string(line))) > 0 {
			os.Stdout.Write(append(one(line), '\n'))
			if n++; n%200 == 0 {
				debug.FreeOSMemory()
			}
		}
		if err != nil {
			return
		}
	}
}

func one(line []byte) (resp []byte) {
	var id any
	defer func() {
		if r := recover(); r != nil {
			resp = enc(map[string]any{"id": id, "panic": fmt.Sprint(r)})
			if os.Getenv("CPU_TRACE") != "" {
				fmt.Fprintln(os.Stderr, string(debug.Stack()))
			}
		}
	}()
	id = caseID(line)
	var c Case
	if err := json.Unmarshal(line, &c); err != nil {
		return enc(map[string]any{"id": id, "panic": "bad case: " + err.Error()})
	}
	// a vector line {"id","case":{...}} works as well as a bare case
	if c.Kind == "" {
		var v struct{ Case Case }
		if json.Unmarshal(line, &v) == nil && v.Case.Kind != "" {
			c = v.Case
		}
	}
	return enc(map[string]any{"id": id, "result": execute(&c)})
}
