//go:build kubelet_1_34 || kubelet_1_35

package release

// The checkpoints before 1.36: one form each, without pods as a whole.

import (
	cpustate "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/utils/cpuset"
)

// CPUHashed is the text that the checksum of cpu_manager_state is made of.
func CPUHashed(policy, free string, entries map[string]map[string]string, _ map[string]cpuset.CPUSet, _ bool) string {
	return Dump(&cpustate.CPUManagerCheckpoint{PolicyName: policy, DefaultCPUSet: free, Entries: entries})
}

// HasDataChecksum says whether the file has a second checksum over its data.
const HasDataChecksum = false

// WriteMemory is a memory_manager_state, and what it is made of; the second form is not known.
func WriteMemory(form int, policy string, machine memorystate.NUMANodeMap, entries memorystate.ContainerMemoryAssignments, _ PodMemory) map[string]any {
	if form != 1 {
		return nil
	}
	cp := &memorystate.MemoryManagerCheckpoint{PolicyName: policy, MachineState: machine, Entries: entries}
	text, err := cp.MarshalCheckpoint()
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	sum := cp.Checksum
	cp.Checksum = 0
	return map[string]any{"file": string(text), "checksum": sum, "hash_input": Dump(cp)}
}

// MemoryForms are empty checkpoints by their forms; nil: not known.
func MemoryForms(form int) Checkpoint {
	if form != 1 {
		return nil
	}
	return &memorystate.MemoryManagerCheckpoint{Entries: memorystate.ContainerMemoryAssignments{}, MachineState: memorystate.NUMANodeMap{}}
}

// MemoryForm is the form that this release writes.
func MemoryForm(bool) int { return 1 }

// MemoryData is what the second part of a state file says; there is none.
func MemoryData(Checkpoint) any { return nil }
