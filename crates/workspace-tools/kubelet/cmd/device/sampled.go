package main

// An allocation, sampled: what varies is recorded, and the manager is left as a fixed order of choices leaves it.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sort"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// sampled runs call many times from the same state, records what varies, and leaves the manager in the canonical state:
// resources served in ascending order of name, every free choice taken in ascending byte order of ids (or as step.Choose says).
func (w *world) sampled(st *Step, pod *v1.Pod, c *v1.Container, res map[string]any, call, alone func(c *v1.Container) (any, error)) outcome {
	in := w.in
	uid := string(pod.UID)
	snap := in.save()
	if w.c.NoSampling {
		return w.once(snap, uid, c.Name, func() (any, error) { return call(c) })
	}
	// Devices of pods that are gone are freed first thing.
	w.in.m.UpdateAllocatedDevices()
	gc := in.save()
	in.restore(snap)
	ckpt, ckptErr := os.ReadFile(filepath.Join(w.dir, ckptName))
	reset := func() {
		in.restore(snap)
		if ckptErr == nil {
			os.WriteFile(filepath.Join(w.dir, ckptName), ckpt, 0600)
		} else {
			os.Remove(filepath.Join(w.dir, ckptName))
		}
	}
	do := func() outcome {
		shuffled(c)
		return w.once(gc, uid, c.Name, func() (any, error) { return call(c) })
	}
	var names []string
	for r := range c.Resources.Limits {
		names = append(names, string(r))
	}
	sort.Strings(names)
	// One resource at a time: what does each do on its own?
	probe := map[string]outcome{}
	pref := map[string][]string{}
	failing, wantDone := []string{}, sets.New[string]()
	early := false
	for _, r := range names {
		one := c.DeepCopy()
		one.Resources.Limits = v1.ResourceList{v1.ResourceName(r): c.Resources.Limits[v1.ResourceName(r)]}
		reset()
		o := w.once(gc, uid, c.Name, func() (any, error) { return alone(one) })
		probe[r] = o
		for _, x := range o.rpcs {
			if x.Call == "GetPreferredAllocation" {
				pref[r] = w.plugins[x.Plugin].lastPref
			}
		}
		early = early || isPreStart(o.err)
	}
	for _, r := range names {
		if o := probe[r]; (o.err != nil || o.panic != nil) && (!early || isPreStart(o.err)) {
			failing = append(failing, r)
		}
	}
	bad := ""
	if len(failing) > 0 {
		bad = failing[0]
	}
	var able []string
	for _, r := range names {
		if len(probe[r].done) > 0 && !early {
			able = append(able, r)
			if bad == "" || r < bad {
				wantDone.Insert(r)
			}
		}
	}
	// What may be chosen, resource by resource.
	choices := map[string]*Choice{}
	reset()
	w.in.m.UpdateAllocatedDevices()
	in.mu.Lock()
	for p := range *in.reuse {
		if p != uid {
			delete(*in.reuse, p)
		}
	}
	in.mu.Unlock()
	free := false
	for _, r := range names {
		q := c.Resources.Limits[v1.ResourceName(r)]
		called := false
		for _, x := range probe[r].rpcs {
			called = called || x.Call == "Allocate"
		}
		taken := called && (wantDone.Has(r) || r == bad)
		if !taken {
			continue
		}
		if ch := w.choice(uid, c.Name, r, int(q.Value()), pref[r]); ch != nil {
			choices[r] = ch
			free = free || ch.Count > 0
		}
	}
	// The random outcomes apart from ids: which resource fails first, and which were served before it.
	if len(names) > 1 && bad != "" {
		var l []any
		seen := map[string]bool{}
		for _, f := range failing {
			sub := able
			if early {
				sub = nil
			}
			var ok []string
			for _, r := range sub {
				if r != f {
					ok = append(ok, r)
				}
			}
			for m := 0; m < 1<<len(ok); m++ {
				done := []string{}
				for i, r := range ok {
					if m>>i&1 == 1 {
						done = append(done, r)
					}
				}
				o := map[string]any{"error": probe[f].err, "allocated": done}
				if probe[f].panic != nil {
					o["panic"] = probe[f].panic
				}
				b, _ := json.Marshal(o)
				if !seen[string(b)] {
					seen[string(b)] = true
					l = append(l, o)
				}
			}
		}
		if len(l) > 1 {
			res["outcomes"] = l
		}
	}
	// The real call, several times: each outcome must be one of those foreseen.
	n := 3
	if free {
		n = 10
	}
	for i := 0; i < n; i++ {
		reset()
		s := do()
		okErr := s.err == nil && bad == ""
		for _, f := range failing {
			if reflect.DeepEqual(s.err, probe[f].err) {
				okErr = true
			}
		}
		if !okErr || !sets.New(able...).HasAll(s.done...) || (bad == "" && !sets.New(s.done...).Equal(sets.New(able...))) {
			res["model_mismatch"] = map[string]any{"error": s.err, "done": s.done, "able": able, "failing": failing}
		}
		for r, ch := range choices {
			ids, ok := s.ids[r]
			if !ok {
				continue
			}
			all := append(append([]string{}, ch.Fixed...), ch.AnyOf...)
			if s.err != nil && len(ids) < len(ch.Fixed)+ch.Count { // an error cut the walk through the tiers short
				ok = subset(ids, all)
			} else {
				ok = len(ids) == len(ch.Fixed)+ch.Count && subset(ch.Fixed, ids) && subset(ids, all)
			}
			if !ok {
				res["model_mismatch"] = map[string]any{"resource": r, "got": ids, "choice": ch}
			}
		}
	}
	if len(choices) > 0 {
		res["choice"] = choices
	}
	// Force the canonical (or asked) choice through the real code.
	target := map[string][]string{}
	for name, ch := range choices {
		want := append(append([]string{}, ch.Fixed...), ch.AnyOf[:ch.Count]...)
		if asked, ok := st.Choose[name]; ok && ch.Count > 0 {
			if len(asked) == len(want) && subset(ch.Fixed, asked) && subset(asked, append(append([]string{}, ch.Fixed...), ch.AnyOf...)) {
				want = asked
			} else {
				res["choose_invalid"] = map[string]any{"resource": name, "asked": asked}
			}
		}
		if ch.Count > 0 {
			target[name] = want
		}
	}
	wantPre := sets.New[string]()
	for _, r := range names {
		for _, x := range probe[r].rpcs {
			if x.Call == "PreStartContainer" && (!early || r <= bad) {
				wantPre.Insert(r)
			}
		}
	}
	var last outcome
	for try := 0; try < 400; try++ {
		reset()
		undo := w.force(uid, target, choices)
		last = do()
		undo()
		ok := true
		for name, want := range target {
			if got, have := last.ids[name]; have && !reflect.DeepEqual(sorted(got), sorted(want)) {
				ok = false
			}
		}
		pre := sets.New[string]()
		for _, x := range last.rpcs {
			if x.Call == "PreStartContainer" {
				pre.Insert(x.Resource)
			}
		}
		if bad != "" {
			ok = ok && reflect.DeepEqual(last.err, probe[bad].err) && sets.New(last.done...).Equal(wantDone)
			if last.ids[bad] == nil && len(probe[bad].ids[bad]) > 0 {
				ok = false
			}
			for r := range last.ids { // nothing taken out of turn
				if r > bad {
					ok = false
				}
			}
		}
		if !ok || !pre.Equal(wantPre) {
			continue
		}
		// The preferred-allocation calls are those of the natural runs.
		var rpcs []RPC
		for _, r := range names {
			if bad != "" && r > bad {
				continue
			}
			for _, x := range probe[r].rpcs {
				if x.Call == "GetPreferredAllocation" {
					rpcs = append(rpcs, x)
				}
			}
		}
		for _, r := range last.rpcs {
			if r.Call != "GetPreferredAllocation" {
				rpcs = append(rpcs, r)
			}
		}
		rank := map[string]int{"PreStartContainer": 0, "GetPreferredAllocation": 1, "Allocate": 2}
		sort.SliceStable(rpcs, func(i, j int) bool {
			if rpcs[i].Resource != rpcs[j].Resource {
				return rpcs[i].Resource < rpcs[j].Resource
			}
			return rank[rpcs[i].Call] < rank[rpcs[j].Call]
		})
		last.rpcs = rpcs
		return last
	}
	res["force_failed"] = fmt.Sprint(last.err, last.ids, last.done, target, wantDone, bad, wantPre)
	return last
}

func (w *world) force(uid string, target map[string][]string, choices map[string]*Choice) func() {
	in := w.in
	var undo []func()
	in.mu.Lock()
	defer in.mu.Unlock()
	for name, want := range target {
		ch := choices[name]
		if ch.tier0 {
			full := (*in.reuse)[uid][name]
			drop := full.Difference(sets.New(want...))
			(*in.reuse)[uid][name] = full.Difference(drop)
			undo = append(undo, func() {
				in.mu.Lock()
				defer in.mu.Unlock()
				(*in.reuse)[uid][name] = (*in.reuse)[uid][name].Union(drop)
			})
			continue
		}
		e, ok := (*in.endpoints)[name]
		if !ok || e.opts == nil {
			continue
		}
		old := e.opts.GetPreferredAllocationAvailable
		e.opts.GetPreferredAllocationAvailable = true
		var ps []*fakePlugin
		for _, p := range w.plugins {
			if p.resource == name {
				p.mu.Lock()
				p.force = want
				p.mu.Unlock()
				ps = append(ps, p)
			}
		}
		undo = append(undo, func() {
			e.opts.GetPreferredAllocationAvailable = old
			for _, p := range ps {
				p.mu.Lock()
				p.force = nil
				p.mu.Unlock()
			}
		})
	}
	return func() {
		for _, u := range undo {
			u()
		}
	}
}
