package main

// A restart of the manager, and the start of a container.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sort"

	v1 "k8s.io/api/core/v1"

	"kubelet/internal/pods"
	"kubelet/internal/release"
)

// runOptions asks for what the runtime is told about a container; the order of lists is that of a map walk.
func (w *world) runOptions(st *Step, res map[string]any) {
	p := w.pods[st.Pod]
	c := pods.Find(p, st.Container)
	ordered := true
	call := func(c *v1.Container) (any, error) {
		o, err := w.in.m.GetDeviceRunContainerOptions(release.Context, p, c)
		w.in.mu.Lock()
		ordered = len(w.in.pods.devs[st.Pod][st.Container]) <= 1
		w.in.mu.Unlock()
		return optionsOut(o, ordered), err
	}
	// A single missing resource makes the manager go through the allocation of all of them again.
	again := false
	for r, q := range c.Resources.Limits {
		w.in.mu.Lock()
		_, held := w.in.pods.devs[st.Pod][st.Container][string(r)]
		_, h := (*w.in.healthy)[string(r)]
		_, a := (*w.in.allocated)[string(r)]
		w.in.mu.Unlock()
		again = again || (!held && (h || a) && !q.IsZero() && w.active.Has(st.Pod))
	}
	o := w.sampled(st, p, c, res, call, func(c *v1.Container) (any, error) {
		x, err := call(c)
		if err == nil && again {
			err = w.in.m.Allocate(p, c)
		}
		return x, err
	})
	res["error"], res["rpcs"] = o.err, o.rpcs
	if o.err == nil {
		seen := map[string]any{}
		for i := 0; i < 80 && !w.c.NoSampling; i++ {
			w.in.restore(w.in.save()) // maps with another walk order
			x, err := call(c)
			if err != nil {
				break
			}
			b, _ := json.Marshal(x)
			seen[string(b)] = x
		}
		w.takeLogs()
		var keys []string
		for k := range seen {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		var l []any
		for _, k := range keys {
			l = append(l, seen[k])
		}
		if len(l) == 1 {
			res["options"] = l[0]
		} else if len(l) == 0 {
			res["options"] = o.out
		} else {
			res["options_any_of"] = l
		}
	}
}

// restart stops the manager and starts another, with the checkpoint as the case says.
func (w *world) restart(st *Step, res map[string]any) {
	w.in.m.Stop(release.Quiet)
	w.quiet("")
	path := filepath.Join(w.dir, ckptName)
	if st.Delete {
		os.Remove(path)
	}
	if st.Raw != nil {
		os.WriteFile(path, []byte(*st.Raw), 0600)
	}
	if st.Value != nil {
		w.ready = *st.Value
	}
	res["files_before"] = w.files()
	err := w.newManager(st.Running)
	res["error"] = w.errText(err)
	res["files_after"] = w.files()
}
