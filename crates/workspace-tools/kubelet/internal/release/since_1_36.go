//go:build !kubelet_1_34 && !kubelet_1_35

package release

// Managers that serve pods as a whole, which came with 1.36.

import (
	v1 "k8s.io/api/core/v1"
	kmetrics "k8s.io/component-base/metrics"
	cpustate "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	cmqos "k8s.io/kubernetes/pkg/kubelet/cm/qos"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/kubelet/metrics"
	"k8s.io/utils/cpuset"
	"k8s.io/utils/dump"
)

// HasPodLevel says whether the managers can serve a pod as a whole.
const HasPodLevel = true

// PodMemory is the memory of pods as a whole, as a checkpoint has it.
type PodMemory = memorystate.PodMemoryAssignments

// Isolation is what podresources makes of a container.
func (m CPUManager) Isolation(pod *v1.Pod, c *v1.Container) string {
	return string(m.GetResourceIsolationLevel(pod, c))
}

// PodCPUs are the CPUs of pods as a whole.
func PodCPUs(s cpustate.Reader) map[string]cpuset.CPUSet {
	out := map[string]cpuset.CPUSet{}
	for pod, entry := range s.GetPodCPUAssignments() {
		out[pod] = entry.CPUSet
	}
	return out
}

// SetPodCPUs sets the CPUs of pods as a whole.
func SetPodCPUs(s cpustate.State, pods map[string]cpuset.CPUSet) {
	s.SetPodCPUAssignments(podEntries(pods))
}

func podEntries(pods map[string]cpuset.CPUSet) cpustate.PodCPUAssignments {
	out := cpustate.PodCPUAssignments{}
	for pod, cpus := range pods {
		out[pod] = cpustate.PodEntry{CPUSet: cpus}
	}
	return out
}

// PodMemoryOf is the memory of pods as a whole; each list of blocks is turned by order.
func PodMemoryOf(s memorystate.Reader, order func([]memorystate.Block) []memorystate.Block) PodMemory {
	pods := s.GetPodMemoryAssignments()
	for pod, entry := range pods {
		entry.MemoryBlocks = order(entry.MemoryBlocks)
		pods[pod] = entry
	}
	return pods
}

// PodBlocks are the blocks of each pod as a whole.
func PodBlocks(s memorystate.Reader) map[string][]memorystate.Block {
	out := map[string][]memorystate.Block{}
	for pod, entry := range s.GetPodMemoryAssignments() {
		out[pod] = entry.MemoryBlocks
	}
	return out
}

// GuaranteedEquivalent says whether a container by itself would be guaranteed.
func GuaranteedEquivalent(c *v1.Container) any { return cmqos.IsContainerEquivalentQOSGuaranteed(c) }

// Dump is the text that checksums are made of.
func Dump(v any) string { return dump.ForHash(v) }

// PodLevelMetrics are the counters that came with pods as a whole.
func PodLevelMetrics() []kmetrics.Registerable {
	return []kmetrics.Registerable{metrics.ResourceManagerAllocationsTotal, metrics.ResourceManagerAllocationErrorsTotal, metrics.ResourceManagerContainerAssignments}
}

// ResetPodLevelMetrics sets them to nothing.
func ResetPodLevelMetrics() {
	metrics.ResourceManagerAllocationsTotal.Reset()
	metrics.ResourceManagerAllocationErrorsTotal.Reset()
	metrics.ResourceManagerContainerAssignments.Reset()
}

// MemoryCounters are those of memory, by the names that answers have.
func MemoryCounters() map[string]kmetrics.CounterMetric {
	out := map[string]kmetrics.CounterMetric{}
	for _, s := range []string{"node", "pod"} {
		out["allocations{"+s+"}"] = metrics.ResourceManagerAllocationsTotal.WithLabelValues("memory", s)
		out["allocation_errors{"+s+"}"] = metrics.ResourceManagerAllocationErrorsTotal.WithLabelValues("memory", s)
	}
	for _, s := range []string{"node_exclusive", "pod_shared", "pod_exclusive"} {
		out["assignments{"+s+"}"] = metrics.ResourceManagerContainerAssignments.WithLabelValues("memory", s)
	}
	return out
}

// AddAttributes are the attributes of a pod that is added.
func AddAttributes(pod *v1.Pod) *lifecycle.PodAdmitAttributes {
	return &lifecycle.PodAdmitAttributes{Pod: pod, Operation: lifecycle.AddOperation}
}

// Attributes are those of a pod that is added or resized.
func Attributes(pod *v1.Pod, operation string) *lifecycle.PodAdmitAttributes {
	attributes := AddAttributes(pod)
	if operation != "" {
		attributes.Operation = lifecycle.Operation(operation)
	}
	return attributes
}

// ScopeName is the scope of a manager.
func (m TopologyManager) ScopeName(string) string { return m.Name() }
