package main

// Cases of admissions: scripted providers and what the manager asks and stores.

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	compmetrics "k8s.io/component-base/metrics"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	kubeletmetrics "k8s.io/kubernetes/pkg/kubelet/metrics"

	"kubelet/internal/answer"
	"kubelet/internal/counters"
	"kubelet/internal/hints"
	"kubelet/internal/release"
)

// typedErr is an error with the type that an admission reports.
type typedErr struct{ msg, typ string }

func (e *typedErr) Error() string { return e.msg }
func (e *typedErr) Type() string  { return e.typ }

func makeErr(s *ErrSpec) error {
	if s == nil {
		return nil
	}
	var err error
	if s.Type != "" {
		err = &typedErr{s.Text, s.Type}
	} else {
		err = errors.New(s.Text)
	}
	if s.Wrap != "" {
		err = fmt.Errorf("%s%w", s.Wrap, err)
	}
	if s.Join != "" {
		err = errors.Join(errors.New(s.Join), err)
	}
	return err
}

type world struct {
	mgr     release.TopologyManager
	calls   []Call
	scripts []Script
}

// scripted is a provider that answers as the case says and writes down what it is asked.
type scripted struct {
	idx int
	w   *world
}

func podContainers(pod *v1.Pod) []string {
	var names []string
	for i := range pod.Spec.InitContainers {
		names = append(names, pod.Spec.InitContainers[i].Name)
	}
	for i := range pod.Spec.Containers {
		names = append(names, pod.Spec.Containers[i].Name)
	}
	for i := range pod.Spec.EphemeralContainers {
		names = append(names, pod.Spec.EphemeralContainers[i].Name)
	}
	return names
}

func (p *scripted) note(call string, pod *v1.Pod, container string) {
	st := map[string]Hint{}
	for _, n := range podContainers(pod) {
		h := p.w.mgr.GetAffinity(string(pod.UID), n)
		if hints.IsStored(h) {
			st[n] = fromHint(h)
		}
	}
	p.w.calls = append(p.w.calls, Call{Provider: p.idx, Call: call, Container: container, Stored: st})
}

func (p *scripted) script() Script {
	if p.idx < len(p.w.scripts) {
		return p.w.scripts[p.idx]
	}
	return Script{}
}

func (p *scripted) GetTopologyHints(pod *v1.Pod, c *v1.Container) map[string][]topologymanager.TopologyHint {
	p.note("GetTopologyHints", pod, c.Name)
	return toProvider(p.script().Containers[c.Name].Hints)
}
func (p *scripted) GetPodTopologyHints(pod *v1.Pod) map[string][]topologymanager.TopologyHint {
	p.note("GetPodTopologyHints", pod, "")
	return toProvider(p.script().PodHints)
}
func (p *scripted) AllocatePod(pod *v1.Pod) error {
	p.note("AllocatePod", pod, "")
	return makeErr(p.script().PodError)
}
func (p *scripted) Allocate(pod *v1.Pod, c *v1.Container) error {
	p.note("Allocate", pod, c.Name)
	return makeErr(p.script().Containers[c.Name].Error)
}

var registry = func() compmetrics.KubeRegistry {
	r := compmetrics.NewKubeRegistry()
	r.MustRegister(kubeletmetrics.TopologyManagerAdmissionRequestsTotal, kubeletmetrics.TopologyManagerAdmissionErrorsTotal,
		kubeletmetrics.TopologyManagerAdmissionDuration, kubeletmetrics.ContainerAlignedComputeResources,
		kubeletmetrics.ContainerAlignedComputeResourcesFailure)
	return r
}()

func counts() map[string]float64 {
	return counters.Read(registry, func(string) bool { return true })
}

func runAdmit(c *Case) any {
	w := &world{}
	start := func() error {
		mgr, err := release.NewTopologyManager(cadvisorNodes(c.Nodes), c.Policy, scopeOr(c.Scope), c.Options)
		if err != nil {
			return err
		}
		w.mgr = mgr
		for i := 0; i < c.ProviderCount; i++ {
			mgr.AddHintProvider(release.Quiet, release.AsProvider(&scripted{i, w}))
		}
		return nil
	}
	if err := start(); err != nil {
		return map[string]string{"error": err.Error()}
	}
	known := map[string]map[string]bool{} // pod uid -> container names seen so far
	see := func(uid, name string) {
		if known[uid] == nil {
			known[uid] = map[string]bool{}
		}
		known[uid][name] = true
	}
	var results []StepResult
	for i := range c.Steps {
		st := &c.Steps[i]
		r := StepResult{}
		before := counts()
		w.calls, w.scripts = nil, st.Script
		switch st.Op {
		case "admit":
			pod := st.Pod.Build()
			for _, n := range podContainers(pod) {
				see(st.Pod.UID, n)
			}
			res := w.mgr.Admit(release.Attributes(pod, st.Operation))
			r.Admit, r.Reason, r.Message = &res.Admit, res.Reason, res.Message
		case "add_container":
			see(st.PodUID, st.Container)
			w.mgr.AddContainer(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(st.PodUID)}}, &v1.Container{Name: st.Container}, st.ID)
		case "remove_container":
			if err := w.mgr.RemoveContainer(st.ID); err != nil {
				r.Error = err.Error()
			}
		case "restart":
			if err := start(); err != nil {
				r.Error = err.Error()
			}
		default:
			panic(answer.Unusable("unknown op " + st.Op))
		}
		r.Calls = w.calls
		r.Stored = map[string]map[string]Hint{}
		for uid, names := range known {
			for n := range names {
				h := w.mgr.GetAffinity(uid, n)
				if !hints.IsStored(h) {
					continue // nothing stored
				}
				if r.Stored[uid] == nil {
					r.Stored[uid] = map[string]Hint{}
				}
				r.Stored[uid][n] = fromHint(h)
			}
		}
		r.Metrics = counters.Changes(before, counts())
		results = append(results, r)
	}
	return map[string]any{"policy": w.mgr.GetPolicy().Name(), "scope": w.mgr.ScopeName(scopeOr(c.Scope)), "steps": results}
}
