// Program admission is the oracle for the whole path of a pod into a node:
// it builds the real kubelet topology, CPU, memory and device managers the way
// the kubelet's container manager does, drives them through the kubelet's
// admission chain, and prints what came out.
//
//	admission run            cases on stdin, results on stdout (JSON lines)
//	admission vectors        cases on stdin, {"id","case","result"} on stdout, each run several times
//	admission bench          work to be timed on stdin, times on stdout
//	admission drive DIR      a node whose root folder is DIR: see drive.go
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// Case is one input line. Kind decides which fields count.
type Case struct {
	Kind    string          `json:"kind"`
	Machine string          `json:"machine,omitempty"`
	Pages   []HugePages     `json:"hugepages,omitempty"` // replaces the huge pages of the machine
	RootFS  string          `json:"rootfs,omitempty"`    // ephemeral storage capacity, default 100Gi
	Config  json.RawMessage `json:"config,omitempty"`    // KubeletConfiguration as JSON
	YAML    string          `json:"yaml,omitempty"`      // KubeletConfiguration as YAML text (kind config)
	DropIn  string          `json:"dropIn,omitempty"`    // a file of the drop-in folder beside it (kind config)
	Devices []ResourceDevs  `json:"devices,omitempty"`
	Steps   []Step          `json:"steps,omitempty"`
	Pod     json.RawMessage `json:"pod,omitempty"` // kind effective
	Note    string          `json:"note,omitempty"`
}

type Line struct {
	ID       string          `json:"id"`
	Case     *Case           `json:"case,omitempty"`
	Result   any             `json:"result,omitempty"`
	Unstable map[string]any  `json:"unstable,omitempty"`
	Panic    string          `json:"panic,omitempty"`
	Hang     bool            `json:"hang,omitempty"` // set by the supervisor
	Raw      json.RawMessage `json:"-"`
}

const caseTimeout = 5 * time.Second

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

// guarded runs one case, turning panics and endless loops into results.
func guarded(id string, c *Case) Line {
	l := Line{ID: id}
	func() {
		defer func() {
			if r := recover(); r != nil {
				if os.Getenv("ADMISSION_TRACE") != "" {
					fmt.Fprintf(os.Stderr, "%v\n%s\n", r, debug.Stack())
				}
				l.Panic = fmt.Sprint(r)
			}
		}()
		r, err := runCase(c)
		if err != nil {
			r = map[string]any{"caseError": err.Error()}
		}
		l.Result = r
	}()
	return l
}

func readLines(r io.Reader, f func(id string, c *Case)) {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 1<<20), 64<<20)
	for sc.Scan() {
		b := sc.Bytes()
		if len(b) == 0 {
			continue
		}
		var l Line
		if err := json.Unmarshal(b, &l); err != nil {
			fmt.Fprintf(os.Stderr, "bad line: %v\n", err)
			continue
		}
		c := l.Case
		if c == nil {
			c = &Case{}
			if err := json.Unmarshal(b, c); err != nil {
				fmt.Fprintf(os.Stderr, "bad line: %v\n", err)
				continue
			}
		}
		f(l.ID, c)
	}
}

// inNamespace re-executes the program in its own mount namespace with a tmpfs on
// /var/lib/kubelet, because the device manager's directory is a constant.
func inNamespace() {
	switch os.Getenv("ADMISSION_NS") {
	case "":
		if err := command(os.Args[1:]).run(); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	case "1":
		if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
			fmt.Fprintln(os.Stderr, "mount private:", err)
		}
		if err := syscall.Mount("tmpfs", "/var/lib/kubelet", "tmpfs", 0, ""); err != nil {
			fmt.Fprintln(os.Stderr, "mount tmpfs:", err)
		}
	}
}

type child struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func command(args []string) *child {
	_ = os.MkdirAll("/var/lib/kubelet", 0o755)
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "ADMISSION_NS=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	return &child{Cmd: cmd}
}

func (c *child) run() error {
	c.Stdin, c.Stdout = os.Stdin, os.Stdout
	return c.Cmd.Run()
}

func (c *child) start() error {
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	c.in, c.out = in, bufio.NewReaderSize(out, 1<<20)
	return c.Cmd.Start()
}

// supervise hands each line to a worker process and kills the worker when a case takes too long.
func supervise(limit time.Duration) {
	sc := bufio.NewScanner(os.Stdin)
	sc.Buffer(make([]byte, 1<<20), 64<<20)
	w := bufio.NewWriterSize(os.Stdout, 1<<16)
	defer w.Flush()
	var c *child
	stop := func() {
		if c != nil {
			_ = c.in.Close()
			_ = c.Process.Kill()
			_ = c.Wait()
			c = nil
		}
	}
	defer stop()
	done := 0
	for sc.Scan() {
		line := sc.Bytes()
		if len(line) == 0 {
			continue
		}
		if done++; done%2000 == 0 {
			stop()
		}
		if c == nil {
			c = command(os.Args[1:])
			if err := c.start(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		type answer struct {
			b   []byte
			err error
		}
		ch := make(chan answer, 1)
		cc := c
		go func(l []byte) {
			_, _ = cc.in.Write(append(append([]byte{}, l...), '\n'))
			b, err := cc.out.ReadBytes('\n')
			ch <- answer{b, err}
		}(line)
		var l Line
		_ = json.Unmarshal(line, &l)
		select {
		case a := <-ch:
			if a.err != nil {
				stop()
				b, _ := json.Marshal(Line{ID: l.ID, Panic: "the process died"})
				a.b = append(b, '\n')
			}
			_, _ = w.Write(a.b)
		case <-time.After(limit):
			stop()
			b, _ := json.Marshal(Line{ID: l.ID, Hang: true})
			_, _ = w.Write(append(b, '\n'))
		}
		w.Flush()
	}
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: admission run|vectors|bench|drive")
		os.Exit(2)
	}
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	klog.SetLogger(logr.Discard())
	if os.Getenv("ADMISSION_LOG") != "" {
		klog.ClearLogger()
		klog.LogToStderr(true)
	}
	enc := json.NewEncoder(os.Stdout)
	enc.SetEscapeHTML(false)
	switch os.Args[1] {
	case "run":
		if os.Getenv("ADMISSION_NS") == "" {
			supervise(caseTimeout)
			return
		}
		inNamespace()
		fs := flag.NewFlagSet("run", flag.ExitOnError)
		fs.BoolVar(&useStubs, "stubs", false, "devices from real device plugin stubs on unix sockets")
		_ = fs.Parse(os.Args[2:])
		w := bufio.NewWriterSize(os.Stdout, 1<<16)
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		readLines(os.Stdin, func(id string, c *Case) { _ = e.Encode(guarded(id, c)); w.Flush() })
	case "vectors":
		if os.Getenv("ADMISSION_NS") == "" {
			supervise(4 * caseTimeout)
			return
		}
		inNamespace()
		fs := flag.NewFlagSet("vectors", flag.ExitOnError)
		times := fs.Int("times", 5, "runs per case")
		_ = fs.Parse(os.Args[2:])
		w := bufio.NewWriterSize(os.Stdout, 1<<16)
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		readLines(os.Stdin, func(id string, c *Case) { vector(e, id, c, *times); w.Flush() })
	case "bench":
		fs := flag.NewFlagSet("bench", flag.ExitOnError)
		limit := fs.Duration("limit", 20*time.Second, "what takes longer in all is given up")
		each := fs.Duration("each", time.Second, "how long each is repeated")
		_ = fs.Parse(os.Args[2:])
		bench(*limit, *each)
	case "bench-one":
		inNamespace()
		fs := flag.NewFlagSet("bench-one", flag.ExitOnError)
		each := fs.Duration("each", time.Second, "")
		_ = fs.Parse(os.Args[2:])
		testing.Init()
		_ = flag.Set("test.benchtime", each.String())
		_ = enc.Encode(benchOne(*each))
	case "drive":
		if len(os.Args) != 3 {
			fmt.Fprintln(os.Stderr, "usage: admission drive DIR")
			os.Exit(2)
		}
		if err := drive(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		fmt.Fprintln(os.Stderr, "unknown command")
		os.Exit(2)
	}
}
