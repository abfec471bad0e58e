//go:build !kubelet_1_34 && !kubelet_1_35 && !kubelet_1_37 && !kubelet_1_38

package release

// The checkpoints of 1.36: two forms each, the second with pods as a whole.

import (
	"strings"

	cpustate "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/utils/cpuset"
)

// CPUHashed is the text that the checksum of cpu_manager_state is made of.
func CPUHashed(policy, free string, entries map[string]map[string]string, pods map[string]cpuset.CPUSet, podLevel bool) string {
	if podLevel {
		return Dump(&cpustate.CPUManagerCheckpointV3{PolicyName: policy, DefaultCPUSet: free, Entries: entries, PodEntries: podEntries(pods)})
	}
	text := Dump(&cpustate.CPUManagerCheckpointV2{PolicyName: policy, DefaultCPUSet: free, Entries: entries})
	return strings.Replace(text, "CPUManagerCheckpointV2", "CPUManagerCheckpoint", 1)
}

// HasDataChecksum says whether the file has a second checksum over its data.
const HasDataChecksum = false

func memoryV1(policy string, machine memorystate.NUMANodeMap, entries memorystate.ContainerMemoryAssignments) *memorystate.MemoryManagerCheckpointV1 {
	return &memorystate.MemoryManagerCheckpointV1{PolicyName: policy, MachineState: machine, Entries: entries}
}

func memoryV2(policy string, machine memorystate.NUMANodeMap, entries memorystate.ContainerMemoryAssignments, pods PodMemory) *memorystate.MemoryManagerCheckpointV2 {
	return &memorystate.MemoryManagerCheckpointV2{PolicyName: policy, MachineState: machine, Entries: entries, PodEntries: pods}
}

// WriteMemory is a memory_manager_state of a form, and what it is made of.
func WriteMemory(form int, policy string, machine memorystate.NUMANodeMap, entries memorystate.ContainerMemoryAssignments, pods PodMemory) map[string]any {
	if form == 1 {
		cp := memoryV1(policy, machine, entries)
		text, err := cp.MarshalCheckpoint()
		if err != nil {
			return map[string]any{"error": err.Error()}
		}
		sum := cp.Checksum
		cp.Checksum = 0
		return map[string]any{"file": string(text), "checksum": sum, "hash_input": strings.Replace(Dump(cp), "MemoryManagerCheckpointV1", "MemoryManagerCheckpoint", 1)}
	}
	cp := memoryV2(policy, machine, entries, pods)
	text, err := cp.MarshalCheckpoint()
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	sum := cp.Checksum
	cp.Checksum = 0
	return map[string]any{"file": string(text), "checksum": sum, "hash_input": Dump(cp)}
}

// MemoryForms are empty checkpoints by their forms.
func MemoryForms(form int) Checkpoint {
	if form == 1 {
		return &memorystate.MemoryManagerCheckpointV1{Entries: memorystate.ContainerMemoryAssignments{}, MachineState: memorystate.NUMANodeMap{}}
	}
	return &memorystate.MemoryManagerCheckpointV2{Entries: memorystate.ContainerMemoryAssignments{}, PodEntries: PodMemory{}, MachineState: memorystate.NUMANodeMap{}}
}

// MemoryForm is the form that this release writes.
func MemoryForm(podLevel bool) int {
	if podLevel {
		return 2
	}
	return 1
}

// MemoryData is what the second part of a state file says; there is none.
func MemoryData(Checkpoint) any { return nil }
