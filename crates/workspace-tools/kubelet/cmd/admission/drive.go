package main

// A kubelet's managers with a root folder that others look at: `admission drive DIR`.
//
// The first line of stdin is a Drive, each further one a Step; each gets one line back as soon as it is done, with what
// the managers hold by then. DIR stands at /var/lib/kubelet of a mount namespace of its own, so that the three state
// files are where the kubelet has them, and what is in DIR before is what the managers start from.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"syscall"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"

	"kubelet/internal/gates"
	"kubelet/internal/pods"
)

// Drive is how it starts.
type Drive struct {
	Case
	// Residents run already: what they hold is in the files.
	Residents []json.RawMessage `json:"residents,omitempty"`
}

const kubeletRoot = "/var/lib/kubelet"

// inFolder re-executes the program in its own mount namespace with the folder as the kubelet's.
func inFolder(dir string) error {
	if os.Getenv("ADMISSION_NS") == "" {
		if err := command(os.Args[1:]).run(); err != nil {
			return err
		}
		os.Exit(0)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mount private: %w", err)
	}
	if err := syscall.Mount(dir, kubeletRoot, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s: %w", dir, err)
	}
	return nil
}

func drive(dir string) error {
	if err := inFolder(dir); err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 64<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	var n *node
	for in.Scan() {
		var r map[string]any
		var err error
		if n == nil {
			d := &Drive{}
			if err = json.Unmarshal(in.Bytes(), d); err == nil {
				n, r, err = d.start()
			}
		} else {
			s := &Step{}
			if err = json.Unmarshal(in.Bytes(), s); err == nil {
				r, err = n.guardedStep(s)
			}
		}
		if err != nil {
			return err
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	if n != nil {
		n.stopPlugins()
	}
	return in.Err()
}

func (d *Drive) start() (*node, map[string]any, error) {
	mi, err := loadMachine(d.Machine, d.Pages)
	if err != nil {
		return nil, nil, err
	}
	kc, err := decodeConfig(d.Config)
	if err != nil {
		return nil, nil, err
	}
	if _, err := gates.SetExactly(kc.FeatureGates); err != nil {
		return nil, nil, err
	}
	n := &node{c: &d.Case, mi: mi, kc: kc, dir: kubeletRoot, rootfs: 100 << 30, res: d.Devices}
	cmap, running := containermap.NewContainerMap(), sets.New[string]()
	for _, raw := range d.Residents {
		pod, err := decodePod(raw)
		if err != nil {
			return nil, nil, err
		}
		p := &podEntry{pod: pod, ids: map[string]string{}}
		for _, c := range pods.Containers(pod) {
			id := n.newID(pod.Name, c.Name)
			p.ids[c.Name] = id
			cmap.Add(string(pod.UID), c.Name, id)
			if !finishedInit(pod, c.Name) {
				running.Insert(id)
			}
		}
		n.pods = append(n.pods, p)
	}
	if err := n.build(cmap, running); err != nil {
		return n, map[string]any{"error": err.Error()}, nil
	}
	r := map[string]any{"loaded": n.state()}
	var again []any
	for _, p := range n.pods {
		a := n.admit(p)
		a["pod"] = p.pod.Name
		again = append(again, a)
	}
	if err := n.registerAll(); err != nil {
		return nil, nil, err
	}
	n.ready.Store(true)
	r["readmit"] = again
	r["start"] = n.startInfo(nil)
	return n, r, nil
}
