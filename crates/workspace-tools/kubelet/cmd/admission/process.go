package main

// The processes that the program starts of itself, each in a mount namespace of its own.

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

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
