package main

// The kubelet around the memory manager: its folder, its pods, and a recorder between it and the topology manager.

import (
	"os"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"

	"kubelet/internal/gates"
	"kubelet/internal/pods"
	"kubelet/internal/release"
	"kubelet/internal/scratch"
)

func podLevel() bool { return gates.On(gates.PodLevelManagers) }

// fixedStore answers with the affinities of the case.
type fixedStore struct {
	m map[string]map[string]topologymanager.TopologyHint
}

func (f *fixedStore) GetAffinity(uid, name string) topologymanager.TopologyHint {
	return f.m[uid][name]
}
func (f *fixedStore) GetPolicy() topologymanager.Policy { return topologymanager.NewNonePolicy() }
func (f *fixedStore) Name() string                      { return "container" }

type ready struct{ ok bool }

func (r *ready) AddSource(string) {}
func (r *ready) AllReady() bool   { return r.ok }

// world is one kubelet with a folder.
type world struct {
	c       *Case
	dir     string
	mgr     release.MemoryManager
	store   *fixedStore
	topo    *release.TopologyManager
	rec     *recorder
	active  map[string]*v1.Pod
	order   []string
	known   map[string]*v1.Pod
	ready   *ready
	running map[string][2]string // container id -> pod, name
	started bool
}

func newWorld(c *Case) *world {
	return &world{c: c, dir: scratch.Folder("memory-"), active: map[string]*v1.Pod{}, known: map[string]*v1.Pod{}, ready: &ready{true}, running: map[string][2]string{},
		store: &fixedStore{map[string]map[string]topologymanager.TopologyHint{}}}
}

func (w *world) close() { os.RemoveAll(w.dir) }

func (w *world) activePods() []*v1.Pod {
	var out []*v1.Pod
	for _, u := range w.order {
		if p := w.active[u]; p != nil {
			out = append(out, p)
		}
	}
	return out
}

// recorder sits between the topology manager and the memory manager and writes down what was asked and answered.
type recorder struct {
	w     *world
	calls []any
}

func (r *recorder) add(call, name string, hints any, err error, aff *Affinity) {
	m := map[string]any{"call": call}
	if name != "" {
		m["container"] = name
	}
	if strings.HasPrefix(call, "hints") {
		m["hints"] = hints
	} else {
		if err != nil {
			m["error"] = err.Error()
		}
		if aff != nil {
			m["affinity"] = aff
		}
	}
	r.calls = append(r.calls, m)
}

func (r *recorder) GetTopologyHints(p *v1.Pod, c *v1.Container) map[string][]topologymanager.TopologyHint {
	h := r.w.mgr.GetTopologyHints(p, c)
	r.add("hints", c.Name, hintsOut(h), nil, nil)
	return h
}
func (r *recorder) GetPodTopologyHints(p *v1.Pod) map[string][]topologymanager.TopologyHint {
	h := r.w.mgr.GetPodTopologyHints(p)
	r.add("hints_pod", "", hintsOut(h), nil, nil)
	return h
}
func (r *recorder) Allocate(p *v1.Pod, c *v1.Container) error {
	aff := r.w.affinity(string(p.UID), c.Name)
	err := r.w.mgr.Allocate(p, c)
	r.add("allocate", c.Name, nil, err, fromHint(aff))
	return err
}
func (r *recorder) AllocatePod(p *v1.Pod) error {
	aff := r.w.affinity(string(p.UID), pods.Containers(p)[0].Name)
	err := r.w.mgr.AllocatePod(p)
	r.add("allocate_pod", "", nil, err, fromHint(aff))
	return err
}

func (w *world) affinity(uid, name string) topologymanager.TopologyHint {
	if w.topo != nil {
		return w.topo.GetAffinity(uid, name)
	}
	return w.store.GetAffinity(uid, name)
}

func (w *world) affinityStore() topologymanager.Store {
	if w.topo != nil {
		return w.topo.Manager
	}
	return release.AsStore(w.store)
}

// boot makes the managers anew and starts the memory manager.
func (w *world) boot(policy string, nodes []Node, rs []Reservation, cm containermap.ContainerMap) error {
	w.started = false
	mi := machineInfo(nodes)
	w.topo = nil
	if t := w.c.Topo; t != nil {
		tm, err := release.NewTopologyManager(mi.Topology, t.Policy, t.Scope, t.Options)
		if err != nil {
			return err
		}
		w.topo = &tm
	}
	nar := sumReserved(rs)
	if w.c.NAR != nil {
		nar = pods.List(w.c.NAR)
	}
	m, err := release.NewMemoryManager(policy, mi, nar, reservations(rs), w.dir, w.affinityStore())
	if err != nil {
		return err
	}
	w.mgr = m
	w.rec = &recorder{w: w}
	if w.topo != nil {
		w.topo.AddHintProvider(release.Quiet, release.AsProvider(w.rec))
	}
	if cm == nil {
		cm = containermap.NewContainerMap()
	}
	if err := m.Start(release.Context, w.activePods, w.ready, nil, nil, cm); err != nil {
		return err
	}
	w.started = true
	return nil
}

func (w *world) state() any {
	if !w.started {
		return nil
	}
	return stateOut(w.mgr.State(), podLevel())
}

func policyOr(p string) string {
	if p == "" {
		return "Static"
	}
	return p
}
