package main

// The kubelet around the device manager: its folder, its pods, and all that the manager remembers.

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"

	"kubelet/internal/release"
)

// world is one kubelet with a folder of plugins.
type world struct {
	c         *Case
	dir       string
	sock      string
	in        *inner
	store     *affinityStore
	plugins   map[string]*fakePlugin
	pods      map[string]*v1.Pod
	order     []string
	active    sets.Set[string]
	ready     bool
	cpus      map[string]string // "uid/container" or "" for allocatable
	mem       map[string][]MemBlock
	metrics0  map[string]float64
	ckptStamp string
}

// affinityStore answers with the affinities of the case.
type affinityStore struct {
	m map[string]topologymanager.TopologyHint
}

func (s *affinityStore) GetAffinity(pod, c string) topologymanager.TopologyHint {
	return s.m[pod+"/"+c]
}
func (s *affinityStore) GetPolicy() topologymanager.Policy { return nil }
func (s *affinityStore) Name() string                      { return "fake" }

type sources struct{ w *world }

func (s sources) AddSource(string) {}
func (s sources) AllReady() bool   { return s.w.ready }

func topology(nodes []int) []release.Node {
	var out []release.Node
	for _, n := range nodes {
		out = append(out, release.Node{Id: n})
	}
	return out
}

const ckptName = "kubelet_internal_checkpoint"

func (w *world) newManager(running []Running) error {
	m, err := release.NewDeviceManagerAt(w.sock, topology(w.c.Nodes), release.AsStore(w.store))
	if err != nil {
		return err
	}
	w.in = open(m)
	cm := containermap.NewContainerMap()
	set := sets.New[string]()
	for _, r := range running {
		cm.Add(r.Pod, r.Container, r.ID)
		if r.Running {
			set.Insert(r.ID)
		}
	}
	return m.Start(release.Quiet, w.activePods, sources{w}, cm, set)
}

func (w *world) activePods() []*v1.Pod {
	var out []*v1.Pod
	for _, u := range w.order {
		if w.active.Has(u) {
			out = append(out, w.pods[u])
		}
	}
	return out
}

func (w *world) stamp() string {
	fi, err := os.Stat(filepath.Join(w.dir, ckptName))
	if err != nil {
		return ""
	}
	return fmt.Sprint(fi.Sys().(*syscall.Stat_t).Ino, fi.ModTime().UnixNano())
}

// await polls until ok, or gives up after d.
func await(d time.Duration, ok func() bool) bool {
	end := time.Now().Add(d)
	for !ok() {
		if time.Now().After(end) {
			return false
		}
		time.Sleep(150 * time.Microsecond)
	}
	return true
}

var stoppedRE = regexp.MustCompile(`endpoint &?\{.*\} has been stopped`)

func (w *world) errText(err error) any {
	if err == nil {
		return nil
	}
	s := stoppedRE.ReplaceAllString(err.Error(), "endpoint <ENDPOINT> has been stopped")
	return strings.ReplaceAll(s, w.dir, "<DIR>")
}

func setsOut(x map[string]idset) map[string][]string {
	out := map[string][]string{}
	for k, v := range x {
		out[k] = sorted(v.UnsortedList())
	}
	return out
}

// state is everything the manager remembers.
func (w *world) state() map[string]any {
	in := w.in
	in.mu.Lock()
	defer in.mu.Unlock()
	pods := map[string]map[string]map[string]map[string][]string{}
	for p, cs := range in.pods.devs {
		pods[p] = map[string]map[string]map[string][]string{}
		for c, rs := range cs {
			pods[p][c] = map[string]map[string][]string{}
			for r, d := range rs {
				m := map[string][]string{}
				for n, ids := range d.deviceIds {
					m[fmt.Sprint(n)] = sorted(ids)
				}
				pods[p][c][r] = m
			}
		}
	}
	eps := map[string]any{}
	for r, e := range *in.endpoints {
		x := map[string]any{"stopped": !e.e.data.stopTime.IsZero()}
		if e.opts != nil {
			x["pre_start"], x["preferred"] = e.opts.PreStartRequired, e.opts.GetPreferredAllocationAvailable
		} else {
			x["options"] = nil
		}
		if l := in.connectedSockets(r); len(l) > 1 { // several plugins serve the resource
			x["connected"] = l
		}
		eps[r] = x
	}
	reuse := map[string]map[string][]string{}
	for p, rs := range *in.reuse {
		reuse[p] = setsOut(rs)
	}
	return map[string]any{"healthy": setsOut(*in.healthy), "unhealthy": setsOut(*in.unhealthy), "allocated": setsOut(*in.allocated),
		"pods": pods, "endpoints": eps, "reuse": reuse}
}

func (w *world) takeLogs() []RPC {
	var out []RPC
	var names []string
	for n := range w.plugins {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		out = append(out, w.plugins[n].takeLog()...)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Resource < out[j].Resource })
	return out
}
