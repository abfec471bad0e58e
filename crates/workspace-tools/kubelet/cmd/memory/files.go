package main

// Cases on one state: hints, starts from a file, the file itself, and reserved memory.

import (
	"os"
	"path/filepath"
	"sort"
	"strings"

	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	utilflag "k8s.io/kubernetes/pkg/util/flag"

	"kubelet/internal/answer"
	"kubelet/internal/pods"
	"kubelet/internal/release"
	"kubelet/internal/scratch"
)

const stateFile = "memory_manager_state"

func hideDir(err error, dir string) string { return scratch.Hide(err.Error(), dir, "$DIR") }

func (w *world) writeState(s *StateIn) {
	entries, pods := s.Entries, s.PodEntries
	if entries == nil {
		entries = state.ContainerMemoryAssignments{}
	}
	if pods == nil {
		pods = release.PodMemory{}
	}
	made := release.WriteMemory(release.MemoryForm(podLevel()), policyOr(w.c.Policy), s.MachineState, entries, pods)
	text, ok := made["file"].(string)
	if !ok {
		panic(made["error"])
	}
	if err := os.WriteFile(filepath.Join(w.dir, stateFile), []byte(text), 0600); err != nil {
		panic(err)
	}
}

func guarded(f func() any) (out any) {
	defer func() {
		if r := recover(); r != nil {
			out = map[string]string{"panic": answer.Fault(r)}
		}
	}()
	return f()
}

// hints: the hints of every container of the pod and of the pod, all on the same state.
func runHints(c *Case) any {
	w := newWorld(c)
	defer w.close()
	if c.State != nil {
		w.writeState(c.State)
	}
	w.ready.ok = false // nothing is collected as stale
	if err := w.boot(policyOr(c.Policy), c.Nodes, c.Reserv, nil); err != nil {
		return map[string]any{"error": hideDir(err, w.dir)}
	}
	p := c.Pod.Named()
	ctrs := map[string]any{}
	for _, k := range pods.Containers(p) {
		ctrs[k.Name] = guarded(func() any { return hintsOut(w.mgr.GetTopologyHints(p, &k)) })
	}
	return map[string]any{"containers": ctrs, "pod": guarded(func() any { return hintsOut(w.mgr.GetPodTopologyHints(p)) })}
}

func sortedAllocatable(b []state.Block) []state.Block {
	if b == nil {
		return nil
	}
	out := append([]state.Block{}, b...)
	sort.Slice(out, func(i, k int) bool {
		if out[i].NUMAAffinity[0] != out[k].NUMAAffinity[0] {
			return out[i].NUMAAffinity[0] < out[k].NUMAAffinity[0]
		}
		return out[i].Type < out[k].Type
	})
	return out
}

func runStart(c *Case) any {
	w := newWorld(c)
	defer w.close()
	path := filepath.Join(w.dir, stateFile)
	if c.File != nil {
		if err := os.WriteFile(path, []byte(*c.File), 0600); err != nil {
			panic(err)
		}
	}
	out := map[string]any{}
	if err := w.boot(policyOr(c.Policy), c.Nodes, c.Reserv, nil); err != nil {
		out["error"] = hideDir(err, w.dir)
	} else {
		out["state"] = w.state()
		out["allocatable"] = sortedAllocatable(w.mgr.GetAllocatableMemory())
	}
	if b, err := os.ReadFile(path); err == nil {
		if c.File != nil && string(b) == *c.File {
			out["file_unchanged"] = true
		} else {
			out["file"] = string(b)
		}
	} else {
		out["file"] = nil
	}
	return out
}

func runCheckpoint(c *Case) any {
	switch c.Op {
	case "write":
		machine, entries, pods := c.State.MachineState, c.State.Entries, c.State.PodEntries
		if machine == nil {
			machine = state.NUMANodeMap{}
		}
		if entries == nil {
			entries = state.ContainerMemoryAssignments{}
		}
		if pods == nil {
			pods = release.PodMemory{}
		}
		made := release.WriteMemory(c.Version, c.Policy, machine, entries, pods)
		if made == nil {
			answer.Unusablef("this release does not write form %d", c.Version)
		}
		return made
	case "read":
		cp := release.MemoryForms(c.Version)
		if cp == nil {
			answer.Unusablef("this release does not read form %d", c.Version)
		}
		if err := cp.UnmarshalCheckpoint([]byte(*c.File)); err != nil {
			return map[string]any{"error": err.Error(), "at": "decode"}
		}
		if err := cp.VerifyChecksum(); err != nil {
			return map[string]any{"error": err.Error(), "at": "checksum"}
		}
		out := map[string]any{"checkpoint": cp}
		if data := release.MemoryData(cp); data != nil {
			out["data"] = data
		}
		return out
	}
	panic(answer.Unusable("unknown op " + c.Op))
}

func runReserved(c *Case) any {
	w := newWorld(c)
	defer w.close()
	if c.NAR == nil {
		c.NAR = map[string]string{}
	}
	if err := w.boot(c.Policy, c.Nodes, c.Reserv, nil); err != nil {
		return map[string]any{"error": hideDir(err, w.dir)}
	}
	return map[string]any{"machineState": w.mgr.State().GetMachineState(), "allocatable": sortedAllocatable(w.mgr.GetAllocatableMemory())}
}

func runFlag(c *Case) any {
	var v []kubeletconfig.MemoryReservation
	fv := &utilflag.ReservedMemoryVar{Value: &v}
	for _, s := range strings.Split(c.Value, "\n") { // one line per use of the flag
		if err := fv.Set(s); err != nil {
			return map[string]any{"error": err.Error()}
		}
	}
	out := []any{}
	for _, r := range v {
		lim := map[string]string{}
		for k, q := range r.Limits {
			lim[string(k)] = q.String()
		}
		out = append(out, map[string]any{"node": r.NumaNode, "limits": lim})
	}
	return map[string]any{"reserved": out, "string": fv.String()}
}
