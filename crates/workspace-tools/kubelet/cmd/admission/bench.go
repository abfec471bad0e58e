package main

// Times the kubelet's own code on work that is read from stdin, one description a line. Each is done in a process of
// its own, which is ended at the limit: some of it would take hours.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"

	"kubelet/internal/hints"
	"kubelet/internal/release"
)

// Work is one description. Kind decides which fields count.
type Work struct {
	Name    string               `json:"name"`
	Kind    string               `json:"kind"` // merge, cpuHints, memoryHints, deviceHints, takeCpus, admit
	Merge   *MergeWork           `json:"merge,omitempty"`
	Machine *release.MachineInfo `json:"machine,omitempty"`
	Config  json.RawMessage      `json:"config,omitempty"` // KubeletConfiguration
	Devices []ResourceDevs       `json:"devices,omitempty"`
	// Residents were there before. They are given what is free first, without a hint.
	Residents []json.RawMessage `json:"residents,omitempty"`
	Pod       json.RawMessage   `json:"pod,omitempty"`
}

// MergeWork is a merge of lists of hints, one list a provider.
type MergeWork struct {
	Policy    string       `json:"policy"`
	Closest   bool         `json:"closest,omitempty"`
	Distances [][]uint64   `json:"distances"` // a row for each node
	Providers [][]WorkHint `json:"providers"`
}

// WorkHint is one hint.
type WorkHint struct {
	Nodes     []int `json:"nodes"`
	Preferred bool  `json:"preferred,omitempty"`
}

// Timed is what came out.
type Timed struct {
	Name   string `json:"name"`
	Ns     int64  `json:"ns_per_op,omitempty"`
	Bytes  int64  `json:"bytes_per_op,omitempty"`
	Allocs int64  `json:"allocs_per_op,omitempty"`
	OverNs int64  `json:"over_ns,omitempty"` // not finished after this long
	Error  string `json:"error,omitempty"`
}

// bench hands each line to a process of its own.
func bench(limit, each time.Duration) {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 1 {
			_ = out.Encode(timed(line, limit, each))
		}
		if err != nil {
			return
		}
	}
}

func timed(line []byte, limit, each time.Duration) Timed {
	var name struct{ Name string }
	if err := json.Unmarshal(line, &name); err != nil {
		return Timed{Error: "no work: " + err.Error()}
	}
	c := command([]string{"bench-one", "-each", each.String()})
	if err := c.start(); err != nil {
		return Timed{Name: name.Name, Error: err.Error()}
	}
	// The child says when it is ready: setting up is not timed, and has more patience.
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		_, _ = c.in.Write(line)
		_ = c.in.Close()
		for {
			b, err := c.out.ReadBytes('\n')
			if err != nil {
				return
			}
			lines <- b
		}
	}()
	give := func(t Timed) Timed {
		_ = c.Process.Kill()
		for range lines {
		}
		_ = c.Wait()
		t.Name = name.Name
		return t
	}
	for _, patience := range []time.Duration{10 * limit, limit} {
		select {
		case b, ok := <-lines:
			t := Timed{}
			if !ok {
				return give(Timed{Error: "the process ended without an answer"})
			}
			if err := json.Unmarshal(b, &t); err != nil {
				return give(Timed{Error: err.Error()})
			}
			if t != (Timed{}) {
				return give(t)
			}
		case <-time.After(patience):
			return give(Timed{OverNs: patience.Nanoseconds()})
		}
	}
	return give(Timed{Error: "the process gave no answer"})
}

// benchOne does the work that stdin describes again and again for about as long as `each`.
func benchOne(each time.Duration) (t Timed) {
	defer func() {
		if r := recover(); r != nil {
			t.Error = fmt.Sprint(r)
		}
	}()
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	w := Work{}
	if err := json.Unmarshal(text, &w); err != nil {
		panic(err)
	}
	t.Name = w.Name
	once, done := prepare(&w)
	defer done()
	fmt.Println("{}")
	once() // what is slow the first time only is left out
	begin := time.Now()
	once()
	r := testing.BenchmarkResult{N: 1, T: time.Since(begin)}
	if r.T < each {
		r = testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; i < b.N; i++ {
				once()
			}
		})
		t.Bytes, t.Allocs = r.AllocedBytesPerOp(), r.AllocsPerOp()
	}
	t.Ns = r.NsPerOp()
	return t
}

// prepare sets everything up; the first function does the work once, the second cleans up.
func prepare(w *Work) (func(), func()) {
	nothing := func() {}
	switch w.Kind {
	case "merge":
		return w.Merge.prepare(), nothing
	case "cpuHints", "takeCpus":
		return prepareCPU(w), nothing
	case "memoryHints":
		return prepareMemory(w), nothing
	case "deviceHints":
		n := w.node()
		e := entry(w.Pod)
		return func() { n.dev.GetTopologyHints(e.pod, &e.pod.Spec.Containers[0]) }, n.close
	case "admit":
		n := w.node()
		return n.admitAndRemove(entry(w.Pod)), n.close
	}
	panic("unknown kind " + w.Kind)
}

func (m *MergeWork) prepare() func() {
	var nodes []release.Node
	for i, row := range m.Distances {
		nodes = append(nodes, release.Node{Id: i, Distances: row})
	}
	options := map[string]string{"max-allowable-numa-nodes": fmt.Sprint(max(8, len(nodes)))}
	if m.Closest {
		options["prefer-closest-numa-nodes"] = "true"
	}
	manager, err := release.NewTopologyManager(nodes, m.Policy, "container", options)
	must(err)
	var in []map[string][]topologymanager.TopologyHint
	for i, given := range m.Providers {
		var list []topologymanager.TopologyHint
		for _, h := range given {
			list = append(list, hints.Of(h.Nodes, h.Preferred))
		}
		in = append(in, map[string][]topologymanager.TopologyHint{fmt.Sprint("example.com/", i): list})
	}
	policy := manager.GetPolicy()
	return func() { release.Merge(policy, in) }
}

// anywhere is a Topology Manager that has merged nothing.
type anywhere struct{ topologymanager.Policy }

func (anywhere) GetAffinity(string, string) topologymanager.TopologyHint {
	return topologymanager.TopologyHint{}
}
func (a anywhere) GetPolicy() topologymanager.Policy { return a.Policy }
func (anywhere) Name() string                        { return topologymanager.PolicyBestEffort }

func store(mi *release.MachineInfo) topologymanager.Store {
	options := map[string]string{"max-allowable-numa-nodes": fmt.Sprint(max(8, len(mi.Topology)))}
	manager, err := release.NewTopologyManager(mi.Topology, topologymanager.PolicyBestEffort, "container", options)
	must(err)
	return release.AsStore(anywhere{manager.GetPolicy()})
}

// prepareCPU drives the policy without the manager around it, which collects dead pods and writes files besides.
func prepareCPU(w *Work) func() {
	kc := w.config()
	topo, err := release.Discover(w.Machine)
	must(err)
	reserved, err := getReservedCPUs(w.Machine, kc.ReservedSystemCPUs)
	must(err)
	policy, err := release.NewCPUPolicy(topo, reserved.Size(), reserved, store(w.Machine), kc.CPUManagerPolicyOptions)
	must(err)
	state := release.NewCPUState()
	must(policy.Start(release.Quiet, state))
	for _, raw := range w.Residents {
		pod := entry(raw).pod
		must(policy.Allocate(release.Quiet, state, pod, &pod.Spec.Containers[0]))
	}
	pod := entry(w.Pod).pod
	container := &pod.Spec.Containers[0]
	if w.Kind == "cpuHints" {
		return func() { policy.GetTopologyHints(release.Quiet, state, pod, container) }
	}
	return func() {
		must(policy.Allocate(release.Quiet, state, pod, container))
		must(policy.RemoveContainer(release.Quiet, state, string(pod.UID), container.Name))
	}
}

func prepareMemory(w *Work) func() {
	kc := w.config()
	reserved := map[int]map[v1.ResourceName]uint64{}
	for _, r := range kc.ReservedMemory {
		reserved[int(r.NumaNode)] = map[v1.ResourceName]uint64{}
		for name, q := range r.Limits {
			reserved[int(r.NumaNode)][name] = uint64(q.Value())
		}
	}
	policy, err := release.NewMemoryPolicy(w.Machine, reserved, store(w.Machine))
	must(err)
	state := release.NewMemoryState()
	must(policy.Start(release.Quiet, state))
	for _, raw := range w.Residents {
		pod := entry(raw).pod
		must(policy.Allocate(release.Quiet, state, pod, &pod.Spec.Containers[0]))
	}
	pod := entry(w.Pod).pod
	return func() { policy.GetTopologyHints(release.Quiet, state, pod, &pod.Spec.Containers[0]) }
}

func (w *Work) config() *kubeletconfig.KubeletConfiguration {
	kc, err := decodeConfig(w.Config)
	must(err)
	return kc
}

// node is the whole node, with its state files in memory.
func (w *Work) node() *node {
	n := &node{c: &Case{}, mi: w.Machine, kc: w.config(), dir: newDir(), rootfs: 100 << 30, res: w.Devices}
	clearPlugins()
	must(n.build(containermap.NewContainerMap(), sets.New[string]()))
	must(n.registerAll())
	n.ready.Store(true)
	for _, raw := range w.Residents {
		e := entry(raw)
		e.active = true
		n.mu.Lock()
		n.pods = append(n.pods, e)
		n.mu.Unlock()
		for i := range e.pod.Spec.Containers {
			c := &e.pod.Spec.Containers[i]
			must(n.dev.Allocate(e.pod, c))
			must(n.cpu.Allocate(e.pod, c))
			must(n.mem.Allocate(e.pod, c))
			n.startContainer(e, c)
		}
	}
	return n
}

// admitAndRemove lets the pod come and go, under another name each time.
func (n *node) admitAndRemove(template *podEntry) func() {
	serial := 0
	return func() {
		serial++
		pod := template.pod.DeepCopy()
		pod.Name = fmt.Sprint(template.pod.Name, serial)
		pod.UID = types.UID(pod.Name)
		e := &podEntry{pod: pod, ids: map[string]string{}, active: true}
		n.mu.Lock()
		n.pods = append(n.pods, e)
		n.mu.Unlock()
		if ok, reason, message := n.alloc.AddPod(n.activePods(), pod); !ok {
			panic(reason + ": " + message)
		}
		for i := range pod.Spec.Containers {
			n.startContainer(e, &pod.Spec.Containers[i])
		}
		n.mu.Lock()
		n.pods = n.pods[:len(n.pods)-1]
		n.mu.Unlock()
		for _, id := range e.ids {
			_ = n.topo.RemoveContainer(id)
		}
		n.alloc.RemovePod(pod.UID)
		n.collect()
	}
}

func entry(raw json.RawMessage) *podEntry {
	pod, err := decodePod(raw)
	must(err)
	return &podEntry{pod: pod, ids: map[string]string{}}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
