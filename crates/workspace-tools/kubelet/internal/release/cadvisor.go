//go:build !kubelet_1_37 && !kubelet_1_38

package release

// cAdvisor's machine, before its packages moved.

import (
	cadvisorapi "github.com/google/cadvisor/info/v1"
	cadvisorapi2 "github.com/google/cadvisor/info/v2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
)

type (
	MachineInfo   = cadvisorapi.MachineInfo
	Node          = cadvisorapi.Node
	Core          = cadvisorapi.Core
	Cache         = cadvisorapi.Cache
	HugePagesInfo = cadvisorapi.HugePagesInfo
)

// EphemeralStorage is the capacity of a root file system of this size.
func EphemeralStorage(bytes uint64) v1.ResourceList {
	return cadvisor.EphemeralStorageCapacityFromFsInfo(cadvisorapi2.FsInfo{Capacity: bytes})
}
