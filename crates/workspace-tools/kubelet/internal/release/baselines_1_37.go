//go:build kubelet_1_37 || kubelet_1_38

package release

// Baselines of exclusive CPUs, which came with 1.37.

import (
	cpustate "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/utils/cpuset"
)

// Baselines are the CPUs that containers were first given.
func Baselines(s cpustate.Reader) map[string]map[string]cpuset.CPUSet {
	out := map[string]map[string]cpuset.CPUSet{}
	for pod, containers := range s.GetCPUBaselines() {
		out[pod] = map[string]cpuset.CPUSet{}
		for name, entry := range containers {
			out[pod][name] = entry.Baseline
		}
	}
	return out
}

// SetBaselines sets them.
func SetBaselines(s cpustate.State, baselines map[string]map[string]cpuset.CPUSet) {
	all := cpustate.ContainerCPUBaselines{}
	for pod, containers := range baselines {
		all[pod] = map[string]cpustate.ContainerCPUBaseline{}
		for name, cpus := range containers {
			all[pod][name] = cpustate.ContainerCPUBaseline{Baseline: cpus}
		}
	}
	s.SetCPUBaselines(all)
}
