//go:build kubelet_1_34 || kubelet_1_35

package release

// Kubelets before 1.36, whose managers serve no pods as a whole.

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/dump"
	kmetrics "k8s.io/component-base/metrics"
	cpustate "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/utils/cpuset"
)

// HasPodLevel says whether the managers can serve a pod as a whole.
const HasPodLevel = false

// PodMemory is the memory of pods as a whole: a case has none.
type PodMemory = map[string]any

// AllocatePod is never called by these kubelets.
func (m CPUManager) AllocatePod(*v1.Pod) error { panic("this release serves no pods as a whole") }

// AllocatePod is never called by these kubelets.
func (m MemoryManager) AllocatePod(*v1.Pod) error { panic("this release serves no pods as a whole") }

// Isolation is not known before 1.36.
func (m CPUManager) Isolation(*v1.Pod, *v1.Container) string { return "" }

// PodCPUs are the CPUs of pods as a whole: none.
func PodCPUs(cpustate.Reader) map[string]cpuset.CPUSet { return nil }

// SetPodCPUs does nothing: there is no place for them.
func SetPodCPUs(cpustate.State, map[string]cpuset.CPUSet) {}

// PodMemoryOf is the memory of pods as a whole: none.
func PodMemoryOf(memorystate.Reader, func([]memorystate.Block) []memorystate.Block) PodMemory {
	return nil
}

// PodBlocks are the blocks of each pod as a whole: none.
func PodBlocks(memorystate.Reader) map[string][]memorystate.Block { return nil }

// GuaranteedEquivalent is not asked by these kubelets.
func GuaranteedEquivalent(*v1.Container) any { return nil }

// Dump is the text that checksums are made of.
func Dump(v any) string { return dump.ForHash(v) }

// PodLevelMetrics are the counters that came with pods as a whole: none.
func PodLevelMetrics() []kmetrics.Registerable { return nil }

// ResetPodLevelMetrics does nothing.
func ResetPodLevelMetrics() {}

// MemoryCounters are none.
func MemoryCounters() map[string]kmetrics.CounterMetric { return nil }

// AddAttributes are the attributes of a pod that is added.
func AddAttributes(pod *v1.Pod) *lifecycle.PodAdmitAttributes {
	return &lifecycle.PodAdmitAttributes{Pod: pod}
}

// Attributes are those of a pod that is added or resized, which these kubelets do not tell apart.
func Attributes(pod *v1.Pod, _ string) *lifecycle.PodAdmitAttributes { return AddAttributes(pod) }

// ScopeName is the scope of a manager. These do not tell: it is "none" with the policy "none", else the one that was
// asked for.
func (m TopologyManager) ScopeName(asked string) string {
	if policy := m.GetPolicy().Name(); policy == topologymanager.PolicyNone {
		return policy
	}
	return asked
}
