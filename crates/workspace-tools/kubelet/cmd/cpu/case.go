package main

// What a case holds, and how the state of the CPU manager is written.

import (
	"encoding/json"
	"errors"

	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/utils/cpuset"

	"kubelet/internal/answer"
	"kubelet/internal/pods"
	"kubelet/internal/release"
)

// Case is one case of any kind; unused fields are left out.
type Case struct {
	ID            any               `json:"id,omitempty"`
	Kind          string            `json:"kind"`
	Machine       string            `json:"machine,omitempty"`
	Gates         map[string]bool   `json:"gates,omitempty"`
	Policy        string            `json:"policy,omitempty"`
	Options       map[string]string `json:"options,omitempty"`
	TMPolicy      string            `json:"topologyManagerPolicy,omitempty"`
	ReservedCount *int              `json:"reservedCount,omitempty"`
	ReservedSet   string            `json:"reservedSet,omitempty"`
	ReservedCPU   *string           `json:"reservedCPU,omitempty"` // quantity, for the manager constructor

	// take, hints
	Taken       string            `json:"taken,omitempty"`
	Affinity    []int             `json:"affinity,omitempty"`
	NoHint      bool              `json:"noAffinity,omitempty"`
	CPUs        int               `json:"cpus,omitempty"`
	Container   string            `json:"container,omitempty"`
	Pod         *pods.Pod         `json:"pod,omitempty"`
	Prior       []PriorJSON       `json:"prior,omitempty"`
	State       *StateJSON        `json:"state,omitempty"`
	Steps       []Step            `json:"steps,omitempty"`
	File        *string           `json:"file,omitempty"`
	MachineInfo json.RawMessage   `json:"machineInfo,omitempty"` // discover only: cAdvisor machine info in place of a name
	Map         []ContainerIDJSON `json:"containerMap,omitempty"`
}

// PriorJSON is an allocation made before hints are asked for, so that its CPUs may be reused.
type PriorJSON struct {
	Container string `json:"container"`
	Affinity  []int  `json:"affinity,omitempty"`
}

// ContainerIDJSON is a container that ran before the start.
type ContainerIDJSON struct {
	ID        string `json:"id"`
	Pod       string `json:"pod"`
	Container string `json:"container"`
}

// StateJSON is what the manager remembers.
type StateJSON struct {
	Default     string                       `json:"default"`
	Assignments map[string]map[string]string `json:"assignments,omitempty"`
	Pods        map[string]string            `json:"podAssignments,omitempty"`
	Baselines   map[string]map[string]string `json:"baselines,omitempty"` // since 1.37
}

// Step is one thing that happens.
type Step struct {
	Op        string                           `json:"op"`
	Pod       *pods.Pod                        `json:"pod,omitempty"`
	UID       string                           `json:"uid,omitempty"`
	Container string                           `json:"container,omitempty"`
	CID       string                           `json:"containerID,omitempty"`
	Affinity  map[string][]int                 `json:"affinity,omitempty"`
	Keep      bool                             `json:"keepOnError,omitempty"`
	Statuses  map[string]map[string]StatusJSON `json:"statuses,omitempty"`
	FailIDs   []string                         `json:"failUpdates,omitempty"`
	Ready     *bool                            `json:"ready,omitempty"`
	// restart: what changes
	Machine string             `json:"machine,omitempty"`
	Policy  string             `json:"policy,omitempty"`
	Options *map[string]string `json:"options,omitempty"`
	Gates   *map[string]bool   `json:"gates,omitempty"`
	Map     []ContainerIDJSON  `json:"containerMap,omitempty"`
}

// StatusJSON is how a container is.
type StatusJSON struct {
	ID    string `json:"id"`
	State string `json:"state"`
}

// HintJSON is one hint.
type HintJSON struct {
	Nodes     []int `json:"nodes"`
	Preferred bool  `json:"preferred"`
}

// M is a result; encoding/json sorts its keys.
type M = map[string]any

func set(s string) cpuset.CPUSet {
	return answer.Must(cpuset.Parse(s))
}

func stateJSON(s state.Reader) *StateJSON {
	j := &StateJSON{Default: s.GetDefaultCPUSet().String()}
	for p, cs := range s.GetCPUAssignments() {
		if j.Assignments == nil {
			j.Assignments = map[string]map[string]string{}
		}
		j.Assignments[p] = map[string]string{}
		for c, x := range cs {
			j.Assignments[p][c] = x.String()
		}
	}
	for p, x := range release.PodCPUs(s) {
		if j.Pods == nil {
			j.Pods = map[string]string{}
		}
		j.Pods[p] = x.String()
	}
	for p, cs := range release.Baselines(s) {
		if j.Baselines == nil {
			j.Baselines = map[string]map[string]string{}
		}
		j.Baselines[p] = map[string]string{}
		for c, x := range cs {
			j.Baselines[p][c] = x.String()
		}
	}
	return j
}

func fill(s state.State, j *StateJSON) {
	s.SetCPUAssignments(sets(j.Assignments))
	s.SetDefaultCPUSet(set(j.Default))
	if j.Pods != nil {
		release.SetPodCPUs(s, podSets(j.Pods))
	}
	if j.Baselines != nil {
		release.SetBaselines(s, sets(j.Baselines))
	}
}

func podSets(pods map[string]string) map[string]cpuset.CPUSet {
	r := map[string]cpuset.CPUSet{}
	for p, x := range pods {
		r[p] = set(x)
	}
	return r
}

func sets(all map[string]map[string]string) map[string]map[string]cpuset.CPUSet {
	r := map[string]map[string]cpuset.CPUSet{}
	for p, cs := range all {
		r[p] = podSets(cs)
	}
	return r
}

// hints: nil means the provider gave no answer at all (no preference), [] that nothing fits.
func hintsJSON(h map[string][]topologymanager.TopologyHint) any {
	if h == nil {
		return nil
	}
	if len(h) != 1 {
		panic("hints for more than one resource")
	}
	l, ok := h["cpu"]
	if !ok {
		panic("no hints for cpu")
	}
	r := []HintJSON{}
	for _, x := range l {
		r = append(r, HintJSON{x.NUMANodeAffinity.GetBits(), x.Preferred})
	}
	return r
}

func errJSON(r M, err error) M {
	r["error"] = err.Error()
	var t interface{ Type() string }
	if errors.As(err, &t) {
		r["errorType"] = t.Type()
	}
	return r
}
