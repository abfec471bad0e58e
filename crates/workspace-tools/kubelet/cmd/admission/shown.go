package main

// How a node is written: what a container was given, what the managers remember, what was counted.

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-base/metrics/legacyregistry"
	memstate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"

	"kubelet/internal/counters"
	"kubelet/internal/hints"
	"kubelet/internal/pods"
	"kubelet/internal/release"
)

// containerResult is what the runtime is told when a container is created.
func (n *node) containerResult(pod *v1.Pod, c *v1.Container) map[string]any {
	logger := release.Quiet
	r := map[string]any{"name": c.Name}
	if pods.IsInit(pod, c.Name) {
		r["init"] = true
	}
	if s := n.cpu.GetCPUAffinity(string(pod.UID), c.Name); !s.IsEmpty() {
		r["cpuset"] = s.String()
	}
	if s := n.cpu.GetExclusiveCPUs(string(pod.UID), c.Name); !s.IsEmpty() {
		r["exclusive"] = s.String()
	}
	if nn := n.mem.GetMemoryNUMANodes(logger, pod, c); nn.Len() > 0 {
		var a []string
		for _, x := range sets.List(nn) {
			a = append(a, strconv.Itoa(x))
		}
		r["mems"] = strings.Join(a, ",")
	}
	if b := n.mem.GetMemory(string(pod.UID), c.Name); len(b) > 0 {
		r["memory"] = blocks(b)
	}
	if d := n.devices(string(pod.UID), c.Name); len(d) > 0 {
		r["devices"] = d
		if nn := n.devNodes(d); len(nn) > 0 {
			r["deviceNodes"] = nn
		}
	}
	h := n.topo.GetAffinity(string(pod.UID), c.Name)
	if h.NUMANodeAffinity != nil {
		r["hint"] = map[string]any{"nodes": h.NUMANodeAffinity.GetBits(), "preferred": h.Preferred}
	} else if h.Preferred {
		r["hint"] = map[string]any{"nodes": nil, "preferred": true}
	}
	return r
}

func (n *node) devices(uid, c string) map[string][]string {
	out := map[string][]string{}
	for res, inst := range n.dev.GetDevices(uid, c) {
		for id := range inst {
			out[res] = append(out[res], id)
		}
		sort.Strings(out[res])
	}
	return out
}

// devNodes counts the chosen devices by NUMA node ("-" for none, "0,1" for several).
func (n *node) devNodes(d map[string][]string) map[string]map[string]int {
	out := map[string]map[string]int{}
	for _, r := range n.res {
		for _, id := range d[r.Resource] {
			for _, dv := range r.Devices {
				if dv.ID == id {
					k := "-"
					if len(dv.NUMA) > 0 {
						var p []string
						for _, x := range dv.NUMA {
							p = append(p, strconv.Itoa(x))
						}
						k = strings.Join(p, ",")
					}
					if out[r.Resource] == nil {
						out[r.Resource] = map[string]int{}
					}
					out[r.Resource][k]++
				}
			}
		}
	}
	return out
}

func blocks(b []memstate.Block) []map[string]any {
	var out []map[string]any
	for _, x := range b {
		out = append(out, map[string]any{"type": string(x.Type), "size": x.Size, "nodes": x.NUMAAffinity})
	}
	sort.Slice(out, func(i, j int) bool { return out[i]["type"].(string) < out[j]["type"].(string) })
	return out
}

func (n *node) podName(uid string) string {
	for _, p := range n.pods {
		if string(p.pod.UID) == uid {
			return p.pod.Name
		}
	}
	return uid
}

func (n *node) state() map[string]any {
	s := map[string]any{}
	cpu := map[string]any{}
	st := n.cpu.State()
	if d := st.GetDefaultCPUSet(); !d.IsEmpty() {
		cpu["default"] = d.String()
	}
	as := map[string]string{}
	for uid, m := range st.GetCPUAssignments() {
		for c, set := range m {
			as[n.podName(uid)+"/"+c] = set.String()
		}
	}
	if len(as) > 0 {
		cpu["assigned"] = as
	}
	pa := map[string]string{}
	for uid, cpus := range release.PodCPUs(st) {
		pa[n.podName(uid)] = cpus.String()
	}
	if len(pa) > 0 {
		cpu["podAssigned"] = pa
	}
	if len(cpu) > 0 {
		s["cpu"] = cpu
	}
	mem := map[string]any{}
	ms := n.mem.State()
	nodes := map[string]any{}
	for id, ns := range ms.GetMachineState() {
		e := map[string]any{"cells": ns.Cells, "n": ns.NumberOfAssignments}
		for t, tab := range ns.MemoryMap {
			e[string(t)] = []uint64{tab.Reserved, tab.Free}
		}
		nodes[strconv.Itoa(id)] = e
	}
	if len(nodes) > 0 {
		mem["nodes"] = nodes
	}
	ma := map[string]any{}
	for uid, m := range ms.GetMemoryAssignments() {
		for c, b := range m {
			ma[n.podName(uid)+"/"+c] = blocks(b)
		}
	}
	if len(ma) > 0 {
		mem["assigned"] = ma
	}
	pm := map[string]any{}
	for uid, b := range release.PodBlocks(ms) {
		pm[n.podName(uid)] = blocks(b)
	}
	if len(pm) > 0 {
		mem["podAssigned"] = pm
	}
	if len(mem) > 0 {
		s["memory"] = mem
	}
	devs := map[string]map[string][]string{}
	stale := []string{}
	for _, p := range n.pods {
		for _, c := range pods.Containers(p.pod) {
			key := p.pod.Name + "/" + c.Name
			for res, ids := range n.devices(string(p.pod.UID), c.Name) {
				if devs[res] == nil {
					devs[res] = map[string][]string{}
				}
				devs[res][key] = ids
			}
			h := n.topo.GetAffinity(string(p.pod.UID), c.Name)
			if !p.active && hints.IsStored(h) {
				stale = append(stale, key)
			}
		}
	}
	if len(devs) > 0 {
		s["devices"] = devs
	}
	if len(stale) > 0 {
		sort.Strings(stale)
		s["staleHints"] = stale
	}
	return s
}

func (n *node) startInfo(err error) map[string]any {
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	nd, _ := n.getNode(context.Background(), true)
	r := map[string]any{
		"capacity": quantities(nd.Status.Capacity), "allocatable": quantities(nd.Status.Allocatable),
		"state": n.state(),
	}
	if a := n.cpu.GetAllocatableCPUs(); !a.IsEmpty() {
		r["allocatableCPUs"] = a.String()
	}
	if b := n.mem.GetAllocatableMemory(); len(b) > 0 {
		l := blocks(b)
		sort.SliceStable(l, func(i, j int) bool {
			return fmt.Sprint(l[i]["nodes"], l[i]["type"]) < fmt.Sprint(l[j]["nodes"], l[j]["type"])
		})
		r["allocatableMemory"] = l
	}
	return r
}

var counted = []string{
	"kubelet_topology_manager_admission_requests_total", "kubelet_topology_manager_admission_errors_total",
	"kubelet_container_aligned_compute_resources_count", "kubelet_container_aligned_compute_resources_failure_count",
	"kubelet_cpu_manager_pinning_requests_total", "kubelet_cpu_manager_pinning_errors_total",
	"kubelet_memory_manager_pinning_requests_total", "kubelet_memory_manager_pinning_errors_total",
	"kubelet_resource_manager_allocations_total", "kubelet_resource_manager_allocation_errors_total",
}

var wantMetric = func() map[string]bool {
	m := map[string]bool{}
	for _, k := range counted {
		m[k] = true
	}
	return m
}()

func counts() map[string]float64 {
	out := map[string]float64{}
	for name, value := range counters.Read(legacyregistry.DefaultGatherer, func(name string) bool { return wantMetric[name] }) {
		out[strings.TrimPrefix(name, "kubelet_")] = value
	}
	return out
}
