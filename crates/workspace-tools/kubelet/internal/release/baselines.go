//go:build !kubelet_1_37 && !kubelet_1_38

package release

// Baselines of exclusive CPUs, which came with 1.37.

import (
	cpustate "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/utils/cpuset"
)

// Baselines are none before 1.37.
func Baselines(cpustate.Reader) map[string]map[string]cpuset.CPUSet { return nil }

// SetBaselines does nothing before 1.37.
func SetBaselines(cpustate.State, map[string]map[string]cpuset.CPUSet) {}
