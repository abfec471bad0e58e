//go:build kubelet_1_37 || kubelet_1_38

package release

// The checkpoints of 1.37: the oldest form for older kubelets, and the data as text with a checksum of its own.

import (
	"strings"

	cpustate "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/utils/cpuset"
)

// CPUHashed is the text that the first checksum of cpu_manager_state is made of.
func CPUHashed(policy, free string, entries map[string]map[string]string, _ map[string]cpuset.CPUSet, _ bool) string {
	text := Dump(&cpustate.CPUManagerCheckpointV2{PolicyName: policy, DefaultCPUSet: free, Entries: entries})
	return strings.Replace(text, "CPUManagerCheckpointV2", "CPUManagerCheckpoint", 1)
}

// HasDataChecksum says whether the file has a second checksum over its data.
const HasDataChecksum = true

// WriteMemory is a memory_manager_state of a form, and what it is made of.
func WriteMemory(form int, policy string, machine memorystate.NUMANodeMap, entries memorystate.ContainerMemoryAssignments, pods PodMemory) map[string]any {
	named := func(v any, form string) string {
		return strings.Replace(Dump(v), "MemoryManagerCheckpoint"+form, "MemoryManagerCheckpoint", 1)
	}
	switch form {
	case 1:
		cp := &memorystate.MemoryManagerCheckpointV1{PolicyName: policy, MachineState: machine, Entries: entries}
		text, err := cp.MarshalCheckpoint()
		if err != nil {
			return map[string]any{"error": err.Error()}
		}
		sum := cp.Checksum
		cp.Checksum = 0
		return map[string]any{"file": string(text), "checksum": sum, "hash_input": named(cp, "V1")}
	case 2:
		cp := &memorystate.MemoryManagerCheckpointV2{PolicyName: policy, MachineState: machine, Entries: entries, PodEntries: pods}
		text, err := cp.MarshalCheckpoint()
		if err != nil {
			return map[string]any{"error": err.Error()}
		}
		sum := cp.Checksum
		cp.Checksum = 0
		return map[string]any{"file": string(text), "checksum": sum, "hash_input": named(cp, "V2")}
	}
	data := memorystate.MemoryManagerCheckpointData{PolicyName: policy, MachineState: machine, Entries: entries, PodEntries: pods}
	cp := &memorystate.MemoryManagerCheckpointV3{CheckpointData: data}
	text, err := cp.MarshalCheckpoint()
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	sum := cp.Checksum
	cp.Checksum = 0
	return map[string]any{"file": string(text), "checksum": sum, "data_checksum": cp.DataChecksum, "data_hash_input": Dump(cp.Data),
		"hash_input": named(&cp.MemoryManagerCheckpointV1, "V1")}
}

// MemoryForms are empty checkpoints by their forms.
func MemoryForms(form int) Checkpoint {
	switch form {
	case 1:
		return &memorystate.MemoryManagerCheckpointV1{Entries: memorystate.ContainerMemoryAssignments{}, MachineState: memorystate.NUMANodeMap{}}
	case 2:
		return &memorystate.MemoryManagerCheckpointV2{Entries: memorystate.ContainerMemoryAssignments{}, PodEntries: PodMemory{}, MachineState: memorystate.NUMANodeMap{}}
	}
	return &memorystate.MemoryManagerCheckpointV3{}
}

// MemoryForm is the form in which a case's state is written: one that every kubelet before reads too.
func MemoryForm(podLevel bool) int {
	if podLevel {
		return 2
	}
	return 1
}

// MemoryData is what the second part of a state file says.
func MemoryData(c Checkpoint) any {
	if cp, ok := c.(*memorystate.MemoryManagerCheckpointV3); ok {
		return cp.CheckpointData
	}
	return nil
}
