package main

// A kubelet reduced to the parts that decide admission: its managers, made and started in its order, and its admission
// chain.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/record"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/kubelet/preemption"
	schedulerframework "k8s.io/kubernetes/pkg/scheduler/framework"

	"kubelet/internal/counters"
	"kubelet/internal/pods"
	"kubelet/internal/release"
)

// podEntry is a pod that the node knows.
type podEntry struct {
	pod    *v1.Pod
	ids    map[string]string // container name -> container id
	active bool
}

// node is a kubelet reduced to the parts that decide admission.
type node struct {
	c      *Case
	mi     *release.MachineInfo
	kc     *kubeletconfig.KubeletConfiguration
	dir    string
	rootfs uint64

	nac      nodeAllocatable
	topo     release.TopologyManager
	cpu      release.CPUManager
	mem      release.MemoryManager
	dev      release.DeviceManager
	alloc    release.Allocation
	ready    atomic.Bool
	mu       sync.Mutex
	pods     []*podEntry
	firstGet chan struct{}
	stops    []func()
	res      []ResourceDevs
	preempt  []string
	dead     bool
	serial   int
}

func (n *node) AddSource(string) {}
func (n *node) AllReady() bool   { return n.ready.Load() }
func (n *node) GetPodStatus(types.UID) (v1.PodStatus, bool) {
	return v1.PodStatus{}, false
}

func (n *node) activePods() []*v1.Pod {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.firstGet != nil {
		// The CPU manager's background loop asks once when it starts; everything it
		// could do then is kept out of the way so that steps are deterministic.
		close(n.firstGet)
		n.firstGet = nil
		return nil
	}
	var out []*v1.Pod
	for _, p := range n.pods {
		if p.active {
			out = append(out, p.pod)
		}
	}
	return out
}

func clearPlugins() {
	ents, _ := os.ReadDir(pluginapi.DevicePluginPath)
	for _, e := range ents {
		_ = os.RemoveAll(filepath.Join(pluginapi.DevicePluginPath, e.Name()))
	}
}

// build makes the managers in the order of the container manager and starts them in its order.
func (n *node) build(cmap containermap.ContainerMap, running sets.Set[string]) error {
	logger := release.Quiet
	ctx := context.Background()
	kc := n.kc
	nac, err := newNodeAllocatable(kc, n.mi)
	if err != nil {
		return err
	}
	n.nac = *nac
	if n.topo, err = release.NewTopologyManager(n.mi.Topology, kc.TopologyManagerPolicy, kc.TopologyManagerScope, kc.TopologyManagerPolicyOptions); err != nil {
		return err
	}
	if n.dev, err = release.NewDeviceManager(n.mi.Topology, n.topo.Manager); err != nil {
		return err
	}
	n.topo.AddHintProvider(logger, n.dev.ManagerImpl)
	if n.cpu, err = release.NewCPUManager(kc.CPUManagerPolicy, kc.CPUManagerPolicyOptions, 100000*time.Hour, n.mi, n.nac.reservedCPUs, n.nac.reservation(), n.dir, n.topo.Manager); err != nil {
		return err
	}
	n.topo.AddHintProvider(logger, n.cpu.Manager)
	if n.mem, err = release.NewMemoryManager(kc.MemoryManagerPolicy, n.mi, n.nac.reservation(), kc.ReservedMemory, n.dir, n.topo.Manager); err != nil {
		return err
	}
	n.topo.AddHintProvider(logger, n.mem.Manager)

	n.ready.Store(false)
	first := make(chan struct{})
	if kc.CPUManagerPolicy != "none" {
		n.mu.Lock()
		n.firstGet = first
		n.mu.Unlock()
	}
	if err := n.cpu.Start(ctx, n.activePods, n, n, nil, cmap.Clone()); err != nil {
		n.mu.Lock()
		n.firstGet = nil
		n.mu.Unlock()
		return fmt.Errorf("start cpu manager error: %w", err)
	}
	if kc.CPUManagerPolicy != "none" {
		<-first
	}
	if err := n.mem.Start(ctx, n.activePods, n, n, nil, cmap.Clone()); err != nil {
		return fmt.Errorf("start memory manager error: %w", err)
	}
	n.nac.addEphemeral(n.rootfs)
	if err := n.nac.validate(); err != nil {
		return err
	}
	if err := n.dev.Start(logger, n.activePods, n, cmap.Clone(), running); err != nil {
		return err
	}

	// The admission chain: resize, eviction, sysctls, allocation, predicates, AppArmor, pod features, ...
	// Those that cannot reject here (no resize, no node pressure, no sysctls, no AppArmor) are left out.
	n.alloc = release.NewAllocation(n.activePods, n)
	crit := preemption.NewCriticalPodAdmissionHandler(n.activePods, n.killPod, record.NewFakeRecorder(1000))
	pred := lifecycle.NewPredicateAdmitHandler(release.NodeGetter(n.getNode), crit, func(ni *schedulerframework.NodeInfo, a *lifecycle.PodAdmitAttributes) error {
		return n.dev.UpdatePluginResources(ni, a)
	})
	n.alloc.AddPodAdmitHandlers(lifecycle.PodAdmitHandlers{n.topo.Manager, pred, lifecycle.NewPodFeaturesAdmitHandler()})
	return nil
}

func (n *node) killPod(pod *v1.Pod, _ bool, _ *int64, _ func(*v1.PodStatus)) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.pods {
		if p.pod.UID == pod.UID {
			p.active = false
			n.preempt = append(n.preempt, pod.Name)
		}
	}
	return nil
}

func (n *node) getNode(ctx context.Context, _ bool) (*v1.Node, error) {
	nd := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", Labels: map[string]string{v1.LabelOSStable: "linux", v1.LabelHostname: "node-1"}}}
	set := release.MachineSetter(int(n.kc.MaxPods), int(n.kc.PodsPerCore), n.mi, func() v1.ResourceList { return n.nac.capacity },
		n.dev.GetCapacity, n.nac.reservation)
	if err := set(ctx, nd); err != nil {
		return nil, err
	}
	return nd, nil
}

func (n *node) registerAll() error {
	for i := range n.res {
		n.serial++
		stop, err := register(n.dev, &n.res[i], n.serial)
		if err != nil {
			return err
		}
		n.stops = append(n.stops, stop)
	}
	return nil
}

func (n *node) stopPlugins() {
	for _, s := range n.stops {
		s()
	}
	n.stops = nil
}

func (n *node) close() {
	n.stopPlugins()
	if n.dev.ManagerImpl != nil {
		_ = n.dev.Stop(release.Quiet)
	}
	clearPlugins()
	_ = os.RemoveAll(n.dir)
}

// collect does what the periodic loops do in time: it frees what dead pods hold.
func (n *node) collect() {
	dummy := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "none", UID: "none"}}
	n.cpu.GetPodTopologyHints(dummy)
	n.mem.GetPodTopologyHints(dummy)
	n.dev.UpdateAllocatedDevices()
}

func (n *node) newID(pod, c string) string {
	n.serial++
	return fmt.Sprintf("%s_%s_%d", pod, c, n.serial)
}

func (n *node) startContainer(p *podEntry, c *v1.Container) {
	logger := release.Quiet
	id := n.newID(p.pod.Name, c.Name)
	p.ids[c.Name] = id
	n.cpu.AddContainer(logger, p.pod, c, id)
	n.mem.AddContainer(logger, p.pod, c, id)
	n.topo.AddContainer(p.pod, c, id)
}

// admit runs the admission chain as HandlePodAdditions does.
func (n *node) admit(p *podEntry) map[string]any {
	n.preempt = nil
	n.mu.Lock()
	p.active = true
	n.mu.Unlock()
	m0 := counts()
	ok, reason, msg := n.alloc.AddPod(n.activePods(), p.pod)
	r := map[string]any{"admitted": ok}
	if d := counters.Changes(m0, counts()); len(d) > 0 {
		r["metrics"] = d
	}
	if !ok {
		r["reason"], r["message"] = reason, msg
	}
	if len(n.preempt) > 0 {
		r["preempted"] = n.preempt
	}
	cs := []map[string]any{}
	all := pods.Containers(p.pod)
	for i := range all {
		cs = append(cs, n.containerResult(p.pod, &all[i]))
	}
	r["containers"] = cs
	if !ok {
		n.mu.Lock()
		p.active = false
		n.mu.Unlock()
	}
	return r
}
