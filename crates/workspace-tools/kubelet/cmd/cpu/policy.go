package main

// Cases of the static policy alone: which CPUs it takes, and which hints it gives.

import (
	"encoding/json"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"

	"kubelet/internal/answer"
	"kubelet/internal/gates"
	"kubelet/internal/machines"
	"kubelet/internal/pods"
	"kubelet/internal/release"
)

func execute(c *Case) any {
	gates.Set(c.Gates)
	initMetrics()
	switch c.Kind {
	case "take":
		return execTake(c)
	case "hints":
		return execHints(c)
	case "seq":
		return settled(c, 6, execSeq)
	case "start":
		return settled(c, 6, execStart)
	case "checkpoint":
		return execCheckpoint(c)
	case "construct":
		return execConstruct(c)
	case "discover":
		if len(c.MachineInfo) == 0 {
			return topoJSON(machines.CPUs(c.Machine))
		}
		var mi release.MachineInfo
		if err := json.Unmarshal(c.MachineInfo, &mi); err != nil {
			panic(err)
		}
		t, err := release.Discover(&mi)
		if err != nil {
			return errJSON(M{}, err)
		}
		return topoJSON(t)
	}
	panic(answer.Unusable("unknown kind " + c.Kind))
}

// TopoJSON is a machine as the CPU manager sees it. A row of CPUs is [cpu, core, socket, node, uncore].
type TopoJSON struct {
	NumCPUs        int     `json:"numCPUs"`
	NumCores       int     `json:"numCores"`
	NumSockets     int     `json:"numSockets"`
	NumNUMANodes   int     `json:"numNUMANodes"`
	NumUncoreCache int     `json:"numUncoreCache"`
	CPUs           [][]int `json:"cpus"`
}

func topoJSON(t *topology.CPUTopology) *TopoJSON {
	j := &TopoJSON{NumCPUs: t.NumCPUs, NumCores: t.NumCores, NumSockets: t.NumSockets, NumNUMANodes: t.NumNUMANodes, NumUncoreCache: t.NumUncoreCache}
	for _, c := range t.CPUDetails.CPUs().List() {
		i := t.CPUDetails[c]
		j.CPUs = append(j.CPUs, []int{c, i.CoreID, i.SocketID, i.NUMANodeID, i.UncoreCacheID})
	}
	return j
}

func staticPolicy(c *Case, st *store) (release.CPUPolicy, error) {
	n := 0
	rs := set(c.ReservedSet)
	if c.ReservedCount != nil {
		n = *c.ReservedCount
	} else {
		n = rs.Size()
	}
	return release.NewCPUPolicy(machines.CPUs(c.Machine), n, rs, release.AsStore(st), c.Options)
}

// freshState is the default set of a fresh static policy.
func freshState(p release.CPUPolicy) (state.State, error) {
	s := release.NewCPUState()
	return s, p.Start(release.Quiet, s)
}

func guaranteed(uid, name string, cpus int) *v1.Pod {
	q := strconv.Itoa(cpus)
	r := map[string]string{"cpu": q, "memory": "1Gi"}
	return (&pods.Pod{UID: uid, App: []pods.Container{{Name: name, Both: r}}}).Named()
}

func execTake(c *Case) any {
	st := newStore(c)
	p, err := staticPolicy(c, st)
	if err != nil {
		return errJSON(M{"stage": "construct"}, err)
	}
	s, err := freshState(p)
	if err != nil {
		return errJSON(M{"stage": "start"}, err)
	}
	all := machines.CPUs(c.Machine).CPUDetails.CPUs()
	res := all.Difference(p.GetAllocatableCPUs(s))
	s.SetDefaultCPUSet(s.GetDefaultCPUSet().Difference(set(c.Taken)))
	before := s.GetDefaultCPUSet()
	pd := guaranteed("p", "c", c.CPUs)
	if !c.NoHint {
		a := c.Affinity
		if a == nil {
			a = []int{}
		}
		st.hints["p/c"] = a
	}
	r := M{"reserved": res.String()}
	if err := p.Allocate(release.Quiet, s, pd, &pd.Spec.Containers[0]); err != nil {
		return errJSON(r, err)
	}
	got, ok := s.GetCPUSet("p", "c")
	if !ok {
		r["cpus"] = nil
		return r
	}
	r["cpus"] = got.String()
	if got.Size() != c.CPUs {
		r["size"] = got.Size()
	}
	if bad := got.Difference(before); !bad.IsEmpty() {
		r["notFree"] = bad.String() // handed out although not in the shared pool
	}
	if bad := got.Intersection(res); !bad.IsEmpty() {
		r["reservedTaken"] = bad.String()
	}
	return r
}

func execHints(c *Case) any {
	st := newStore(c)
	p, err := staticPolicy(c, st)
	if err != nil {
		return errJSON(M{"stage": "construct"}, err)
	}
	s := release.NewCPUState()
	if c.State != nil {
		fill(s, c.State)
	}
	if err := p.Start(release.Quiet, s); err != nil {
		return errJSON(M{"stage": "start"}, err)
	}
	if c.Taken != "" {
		s.SetDefaultCPUSet(s.GetDefaultCPUSet().Difference(set(c.Taken)))
	}
	pd := c.Pod.Named()
	r := M{}
	for _, pr := range c.Prior {
		if pr.Affinity != nil {
			st.hints[c.Pod.UID+"/"+pr.Container] = pr.Affinity
		}
		if err := p.Allocate(release.Quiet, s, pd, pods.Find(pd, pr.Container)); err != nil {
			return errJSON(M{"stage": "prior"}, err)
		}
	}
	if len(c.Prior) > 0 {
		r["state"] = stateJSON(s)
	}
	if c.Container != "" {
		r["hints"] = hintsJSON(p.GetTopologyHints(release.Quiet, s, pd, pods.Find(pd, c.Container)))
	} else {
		r["hints"] = hintsJSON(p.GetPodTopologyHints(release.Quiet, s, pd))
	}
	return r
}
