package main

// The kubelet around the CPU manager: its store of hints, its pods, and its reconciliation rounds.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"

	"kubelet/internal/hints"
	"kubelet/internal/machines"
	"kubelet/internal/pods"
	"kubelet/internal/release"
)

// store answers with the affinities of the case.
type store struct {
	mu     sync.Mutex
	hints  map[string][]int // uid/container -> nodes; absent: no affinity
	policy string
}

// namedPolicy is a policy of which the CPU manager asks the name only.
type namedPolicy struct {
	topologymanager.Policy
	name string
}

func (p namedPolicy) Name() string { return p.name }

func (s *store) GetAffinity(uid, container string) topologymanager.TopologyHint {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.hints[uid+"/"+container]
	if !ok || n == nil {
		return topologymanager.TopologyHint{}
	}
	return hints.Of(n, true)
}
func (s *store) GetPolicy() topologymanager.Policy { return namedPolicy{name: s.policy} }
func (s *store) Name() string                      { return s.policy }

func newStore(c *Case) *store {
	p := c.TMPolicy
	if p == "" {
		p = "best-effort"
	}
	return &store{hints: map[string][]int{}, policy: p}
}

func managerFor(c *Case, st *store, dir string) (release.CPUManager, error) {
	rl := v1.ResourceList{}
	if c.ReservedCPU != nil {
		rl = pods.List(pods.Amounts{"cpu": *c.ReservedCPU})
	}
	pol := c.Policy
	if pol == "" {
		pol = "static"
	}
	return release.NewCPUManager(pol, c.Options, time.Millisecond, machines.Named(c.Machine), set(c.ReservedSet), rl, dir, release.AsStore(st))
}

const stateFile = "cpu_manager_state"

func fileNow(dir string) any {
	b, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		return nil
	}
	return string(b)
}

// kubelet stands for the rest of the kubelet around one manager; reconcile rounds run only when asked for.
type kubelet struct {
	m       release.CPUManager
	dir     string
	active  []*v1.Pod
	status  map[string]v1.PodStatus
	fail    map[string]bool
	updates []M
	ready   bool
	inMain  atomic.Bool
	arrived chan struct{}
	tick    chan struct{}
	dead    atomic.Bool
}

func (k *kubelet) AddSource(string) {}

// AllReady is the first thing a reconcile round asks for: hold it there until a round is wanted.
func (k *kubelet) AllReady() bool {
	if !k.inMain.Load() {
		if k.dead.Load() {
			select {}
		}
		k.arrived <- struct{}{}
		<-k.tick
	}
	return k.ready
}
func (k *kubelet) GetPodStatus(uid types.UID) (v1.PodStatus, bool) {
	s, ok := k.status[string(uid)]
	return s, ok
}
func (k *kubelet) UpdateContainerResources(_ context.Context, id string, r *runtimeapi.ContainerResources) error {
	k.updates = append(k.updates, M{"id": id, "cpus": r.Linux.CpusetCpus})
	if k.fail[id] {
		return fmt.Errorf("update of %s failed", id)
	}
	return nil
}

func (k *kubelet) start(c *Case, ids []ContainerIDJSON) error {
	cm := containermap.NewContainerMap()
	for _, x := range ids {
		cm.Add(x.Pod, x.Container, x.ID)
	}
	k.arrived = make(chan struct{})
	k.tick = make(chan struct{})
	err := k.m.Start(context.Background(), func() []*v1.Pod { return k.active }, k, k, k, cm)
	if err == nil && c.Policy != "none" {
		<-k.arrived
	}
	return err
}

func (k *kubelet) main(f func()) {
	k.inMain.Store(true)
	defer k.inMain.Store(false)
	f()
}

func (k *kubelet) drop(uid string) {
	var r []*v1.Pod
	for _, p := range k.active {
		if string(p.UID) != uid {
			r = append(r, p)
		}
	}
	k.active = r
}
