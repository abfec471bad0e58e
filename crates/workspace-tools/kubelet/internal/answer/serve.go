package answer

// The two ways to answer stdin: within the process, and in worker processes that are replaced when a case does not end.

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"time"
)

// Lines calls f with each line that is not empty.
func Lines(r io.Reader, f func(line []byte)) {
	in := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			f(line)
		}
		if err != nil {
			return
		}
	}
}

// Serve answers the cases of stdin one after the other.
func Serve(f func(line []byte) any) {
	answered := 0
	Lines(os.Stdin, func(line []byte) {
		_, _ = os.Stdout.Write(append(Encode(f(line)), '\n'))
		if answered++; answered%200 == 0 {
			debug.FreeOSMemory()
		}
	})
}

// Supervisor hands each case to a worker process.
type Supervisor struct {
	// Worker makes the process; nil: this program with the argument "worker".
	Worker func() *exec.Cmd
	// Limit is how long a case may take.
	Limit time.Duration
	// Renew is how many cases a worker answers; 0: all.
	Renew int
}

type worker struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     chan []byte
}

func (s Supervisor) start() *worker {
	command := exec.Command("/proc/self/exe", "worker")
	if s.Worker != nil {
		command = s.Worker()
	}
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err == nil {
		var out io.Reader
		if out, err = command.StdoutPipe(); err == nil {
			if err = command.Start(); err == nil {
				w := &worker{command, in, make(chan []byte, 1)}
				go func() {
					defer close(w.out)
					Lines(out, func(line []byte) { w.out <- line })
				}()
				return w
			}
		}
	}
	fmt.Fprintln(os.Stderr, "the worker does not start:", err)
	os.Exit(1)
	return nil
}

func (w *worker) stop() {
	if w != nil {
		_ = w.in.Close()
		_ = w.command.Process.Kill()
		for range w.out {
		}
		_ = w.command.Wait()
	}
}

// Run answers stdin.
func (s Supervisor) Run() {
	var w *worker
	defer func() { w.stop() }()
	asked := 0
	Lines(os.Stdin, func(line []byte) {
		if asked++; s.Renew > 0 && asked%s.Renew == 0 {
			w.stop()
			w = nil
		}
		if w == nil {
			w = s.start()
		}
		_, _ = w.in.Write(append(append([]byte{}, line...), '\n'))
		var out []byte
		select {
		case b, ok := <-w.out:
			if out = b; !ok {
				out = Encode(Answer{ID: ID(line), Panic: "the process died"})
				w.stop()
				w = nil
			}
		case <-time.After(s.Limit):
			out = Encode(Answer{ID: ID(line), Hang: true})
			w.stop()
			w = nil
		}
		_, _ = os.Stdout.Write(append(out, '\n'))
	})
}
