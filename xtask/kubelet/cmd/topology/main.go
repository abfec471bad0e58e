package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

const caseLimit = 5 * time.Second

type out struct {
	ID     string `json:"id"`
	Result any    `json:"result,omitempty"`
	Panic  string `json:"panic,omitempty"`
	Hang   bool   `json:"hang,omitempty"`
}

func runLine(line []byte) (o out) {
	var c Case
	if err := json.Unmarshal(line, &c); err != nil {
		return out{Panic: "bad case: " + err.Error()}
	}
	o.ID = c.ID
	defer func() {
		if r := recover(); r != nil {
			o.Result, o.Panic = nil, fmt.Sprint(r)
		}
	}()
	o.Result = runCase(&c)
	return o
}

func emit(w *bufio.Writer, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.Write(b)
	w.WriteByte('\n')
}

func reader(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, 1<<20) }

func readLine(r *bufio.Reader) ([]byte, bool) {
	for {
		line, err := r.ReadBytes('\n')
		for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
			line = line[:len(line)-1]
		}
		if len(line) > 0 {
			return line, true
		}
		if err != nil {
			return nil, false
		}
	}
}

// worker answers case by case, no time limit.
func worker() {
	in, w := reader(os.Stdin), bufio.NewWriter(os.Stdout)
	for {
		line, ok := readLine(in)
		if !ok {
			return
		}
		emit(w, runLine(line))
		w.Flush()
	}
}

type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines chan []byte
}

func startChild() *child {
	cmd := exec.Command(os.Args[0], "worker")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		panic(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	ch := &child{cmd, stdin, make(chan []byte, 1)}
	go func() {
		r := reader(stdout)
		for {
			l, ok := readLine(r)
			if !ok {
				close(ch.lines)
				return
			}
			ch.lines <- l
		}
	}()
	return ch
}

func (c *child) stop() { c.stdin.Close(); c.cmd.Process.Kill(); c.cmd.Wait() }

// run gives each case to a child process, so that an endless one can be ended.
func run() {
	in, w := reader(os.Stdin), bufio.NewWriterSize(os.Stdout, 1<<20)
	defer w.Flush()
	ch := startChild()
	defer func() { ch.stop() }()
	for {
		line, ok := readLine(in)
		if !ok {
			return
		}
		var id struct {
			ID string `json:"id"`
		}
		json.Unmarshal(line, &id)
		var res struct {
			ID     string          `json:"id"`
			Result json.RawMessage `json:"result,omitempty"`
			Panic  string          `json:"panic,omitempty"`
			Hang   bool            `json:"hang,omitempty"`
		}
		ch.stdin.Write(append(append([]byte{}, line...), '\n'))
		select {
		case l, ok := <-ch.lines:
			if !ok {
				res.Panic = "process died"
				ch.stop()
				ch = startChild()
			} else if err := json.Unmarshal(l, &res); err != nil {
				res.Panic = "bad answer: " + err.Error()
			}
		case <-time.After(caseLimit):
			res.Hang = true
			ch.stop()
			ch = startChild()
		}
		res.ID = id.ID
		emit(w, res)
		w.Flush()
	}
}

func main() {
	klog.SetLogger(logr.Discard())
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: topology run|worker")
		os.Exit(2)
	}
	switch os.Args[1] {
	case "run":
		run()
	case "worker":
		worker()
	default:
		fmt.Fprintln(os.Stderr, "unknown command", os.Args[1])
		os.Exit(2)
	}
}
