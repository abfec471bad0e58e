package main

// What one allocation came to, and what it may choose: the kubelet takes devices in the random order of its maps.

import (
	"math/rand"
	"sort"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"kubelet/internal/answer"
	"kubelet/internal/release"
)

// Choice says which device ids the real code may choose: all of Fixed and any Count of AnyOf.
type Choice struct {
	Fixed []string `json:"fixed"`
	AnyOf []string `json:"any_of,omitempty"`
	Count int      `json:"count,omitempty"`
	tier0 bool
}

// outcome is what one call came to.
type outcome struct {
	err   any
	ids   map[string][]string // resource -> ids given to Allocate, or taken without a call
	done  []string            // resources with a new allocation
	rpcs  []RPC
	out   any
	panic any
}

func (w *world) once(snap snapshot, uid, cname string, call func() (any, error)) (o outcome) {
	w.takeLogs()
	o.ids = map[string][]string{}
	func() {
		defer func() {
			if r := recover(); r != nil {
				o.panic = answer.Fault(r)
				if !w.in.mu.TryLock() { // the panic left the lock held
				}
				w.in.mu.Unlock()
			}
		}()
		out, err := call()
		o.out, o.err = out, w.errText(err)
	}()
	o.rpcs = w.takeLogs()
	called := map[string]bool{}
	for _, r := range o.rpcs {
		if r.Call == "Allocate" {
			called[r.Resource] = true
			o.ids[r.Resource] = r.IDs
		}
	}
	now := w.in.save()
	for r, s := range now.allocated {
		if o.err == nil && o.panic == nil || isPreStart(o.err) {
			break
		}
		if _, ok := o.ids[r]; !ok {
			if d := s.Difference(snap.allocated[r]); d.Len() > 0 {
				o.ids[r] = sorted(d.UnsortedList())
			}
		}
	}
	for r := range now.pods[uid][cname] {
		if _, had := snap.pods[uid][cname][r]; !had && called[r] {
			o.done = append(o.done, r)
		}
	}
	sort.Strings(o.done)
	return o
}

// choice works out, with the manager's own NUMA filter, in which tier the random choice falls.
func (w *world) choice(uid, cont, res string, required int, pref []string) *Choice {
	in := w.in
	in.mu.Lock()
	defer in.mu.Unlock()
	if d, ok := in.pods.devs[uid][cont][res]; ok && len(d.deviceIds.Devices()) >= 0 {
		return nil
	}
	needed := required
	fixed := sets.New[string]()
	pick := func(tier idset, first bool) *Choice {
		t := tier.Difference(fixed)
		if t.Len() >= needed && needed > 0 {
			if t.Len() == needed {
				fixed = fixed.Union(t)
				return &Choice{Fixed: sorted(fixed.UnsortedList())}
			}
			return &Choice{Fixed: sorted(fixed.UnsortedList()), AnyOf: sorted(t.UnsortedList()), Count: needed, tier0: first}
		}
		fixed = fixed.Union(t)
		needed -= t.Len()
		return nil
	}
	if needed == 0 || (*in.healthy)[res].Len() == 0 {
		return nil
	}
	if c := pick((*in.reuse)[uid][res], true); c != nil {
		return c
	}
	used := (*in.allocated)[res].Union(fixed)
	avail := (*in.healthy)[res].Difference(used)
	if avail.Len() < needed {
		return nil
	}
	al, un, no := release.FilterByAffinity(w.in.m, uid, cont, res, avail)
	p := sets.New[string](pref...)
	var tiers []idset
	if needed < al.Len() {
		tiers = []idset{p.Intersection(al), al}
	} else {
		tiers = []idset{al, p.Intersection(avail), un, no}
	}
	for _, t := range tiers {
		if c := pick(t, false); c != nil {
			return c
		}
	}
	return nil
}

func subset(a, b []string) bool { return sets.New(b...).HasAll(a...) }

// isPreStart tells the errors that end GetDeviceRunContainerOptions before anything is allocated.
func isPreStart(err any) bool {
	s, _ := err.(string)
	return strings.HasPrefix(s, "device plugin PreStartContainer") || strings.HasPrefix(s, "no devices found allocated in local cache") ||
		strings.HasPrefix(s, "endpoint not found in cache")
}

// shuffled gives the container a limits map with another walk order.
func shuffled(c *v1.Container) {
	var keys []string
	for k := range c.Resources.Limits {
		keys = append(keys, string(k))
	}
	rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	l := v1.ResourceList{}
	for _, k := range keys {
		l[v1.ResourceName(k)] = c.Resources.Limits[v1.ResourceName(k)]
	}
	c.Resources.Limits = l
}
