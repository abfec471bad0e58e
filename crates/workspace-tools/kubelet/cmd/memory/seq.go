package main

// Cases of a whole manager, step by step.

import (
	"sort"

	dto "github.com/prometheus/client_model/go"
	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/kubelet/cm/admission"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/kubelet/metrics"

	"kubelet/internal/answer"
	"kubelet/internal/counters"
	"kubelet/internal/pods"
	"kubelet/internal/release"
)

func counter(m any) float64 {
	w, ok := m.(interface{ Write(*dto.Metric) error })
	if !ok {
		return 0
	}
	var d dto.Metric
	if err := w.Write(&d); err != nil {
		return 0
	}
	return d.GetCounter().GetValue()
}

func metricsNow(podLevel bool) map[string]float64 {
	out := map[string]float64{
		"pinning_requests": counter(metrics.MemoryManagerPinningRequestTotal.CounterMetric),
		"pinning_errors":   counter(metrics.MemoryManagerPinningErrorsTotal.CounterMetric),
	}
	if podLevel {
		for name, metric := range release.MemoryCounters() {
			out[name] = counter(metric)
		}
	}
	return out
}

func admitOut(r lifecycle.PodAdmitResult) map[string]any {
	m := map[string]any{"admit": r.Admit}
	if !r.Admit {
		m["reason"] = r.Reason
		m["message"] = r.Message
	}
	return m
}

// admitFixed does what the topology manager does, with affinities from the case instead of merged hints.
func (w *world) admitFixed(st *Step, p *v1.Pod) lifecycle.PodAdmitResult {
	uid := string(p.UID)
	w.store.m[uid] = map[string]topologymanager.TopologyHint{}
	for _, k := range pods.Containers(p) {
		w.store.m[uid][k.Name] = toHint(st.Affinity[k.Name])
	}
	if st.Scope == "pod" {
		if !w.c.NoHints {
			w.rec.GetPodTopologyHints(p)
		}
		if podLevel() && resourcehelper.IsPodLevelResourcesSet(p) {
			return admission.GetPodAdmitResult(w.rec.AllocatePod(p))
		}
	}
	for _, k := range pods.Containers(p) {
		if st.Scope != "pod" && st.Scope != "none" && !w.c.NoHints {
			w.rec.GetTopologyHints(p, &k)
		}
		if err := w.rec.Allocate(p, &k); err != nil {
			return admission.GetPodAdmitResult(err)
		}
	}
	return admission.GetPodAdmitResult(nil)
}

func (w *world) admit(st *Step, p *v1.Pod) map[string]any {
	uid := string(p.UID)
	if w.active[uid] == nil {
		w.order = append(w.order, uid)
	}
	w.active[uid] = p
	w.known[uid] = p
	w.rec.calls = nil
	var res map[string]any
	if w.topo != nil {
		res = admitOut(w.topo.Admit(release.AddAttributes(p)))
	} else {
		res = admitOut(w.admitFixed(st, p))
	}
	res["calls"] = w.rec.calls
	if res["admit"] == false {
		w.forget(uid) // a rejected pod is not an active pod
	}
	return res
}

func (w *world) forget(uid string) {
	delete(w.active, uid)
	for i, u := range w.order {
		if u == uid {
			w.order = append(w.order[:i:i], w.order[i+1:]...)
			break
		}
	}
}

func (w *world) step(st *Step) (res map[string]any) {
	defer func() {
		if r := recover(); r != nil {
			res = map[string]any{"panic": answer.Fault(r)}
		}
	}()
	if !w.started && st.Op != "restart" {
		return map[string]any{"skipped": "the manager is not running"}
	}
	switch st.Op {
	case "admit":
		return w.admit(st, st.Pod.Named())
	case "readmit": // the same pod again, as after a kubelet restart
		p := w.known[st.UID]
		if p == nil {
			return map[string]any{"skipped": "unknown pod"}
		}
		return w.admit(st, p)
	case "add_container":
		p := w.known[st.UID]
		for _, k := range pods.Containers(p) {
			if k.Name == st.Container {
				w.mgr.AddContainer(release.Quiet, p, &k, st.CID)
				w.running[st.CID] = [2]string{st.UID, st.Container}
			}
		}
		return map[string]any{}
	case "remove_container":
		if err := w.mgr.RemoveContainer(release.Quiet, st.CID); err != nil {
			return map[string]any{"error": err.Error()}
		}
		delete(w.running, st.CID)
		return map[string]any{}
	case "pod_gone": // the pod ended: it leaves the list of active pods; state is collected by a later call
		w.forget(st.UID)
		return map[string]any{}
	case "sources":
		w.ready.ok = st.Ready
		return map[string]any{}
	case "numa_nodes":
		p := w.known[st.UID]
		out := map[string]any{}
		for _, k := range pods.Containers(p) {
			if k.Name == st.Container {
				s := w.mgr.GetMemoryNUMANodes(release.Quiet, p, &k)
				if s == nil {
					out["nodes"] = nil
				} else {
					l := s.UnsortedList()
					sort.Ints(l)
					out["nodes"] = l
				}
				out["memory"] = blocksOut(w.mgr.GetMemory(st.UID, st.Container))
			}
		}
		return out
	case "restart":
		nodes, rs, pol := w.c.Nodes, w.c.Reserv, policyOr(w.c.Policy)
		if st.Nodes != nil {
			nodes = st.Nodes
		}
		if st.Reserved != nil {
			rs = st.Reserved
		}
		if st.Policy != "" {
			pol = st.Policy
		}
		var cm containermap.ContainerMap
		if st.Map {
			cm = containermap.NewContainerMap()
			for id, r := range w.running {
				cm.Add(r[0], r[1], id)
			}
		}
		if err := w.boot(pol, nodes, rs, cm); err != nil {
			return map[string]any{"error": hideDir(err, w.dir)}
		}
		return map[string]any{"ok": true}
	}
	panic(answer.Unusable("unknown op " + st.Op))
}

func runSeq(c *Case) any {
	w := newWorld(c)
	defer w.close()
	if err := w.boot(policyOr(c.Policy), c.Nodes, c.Reserv, nil); err != nil {
		return map[string]any{"error": hideDir(err, w.dir)}
	}
	steps := []any{}
	first := w.state()
	last := string(answer.Encode(first))
	for i := range c.Steps {
		before := metricsNow(podLevel())
		r := w.step(&c.Steps[i])
		r["metrics"] = counters.Changes(before, metricsNow(podLevel()))
		s := w.state()
		if js := string(answer.Encode(s)); js != last {
			r["state"] = s
			last = js
		}
		steps = append(steps, r)
		if r["panic"] != nil {
			break // locks may be held
		}
	}
	return map[string]any{"start_state": first, "steps": steps}
}
