//go:build !kubelet_1_34

package release

// How managers are made since 1.35, which hands a log to each.

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	cpustate "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"
	plugin "k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/plugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/utils/cpuset"
)

// Discover is a machine as the CPU manager sees it.
func Discover(machine *MachineInfo) (*topology.CPUTopology, error) {
	return topology.Discover(Quiet, machine)
}

// NewCPUManager makes a CPU manager.
func NewCPUManager(policy string, options map[string]string, period time.Duration, machine *MachineInfo, reserved cpuset.CPUSet, reservation v1.ResourceList, dir string, store topologymanager.Store) (CPUManager, error) {
	m, err := cpumanager.NewManager(Quiet, policy, options, period, machine, reserved, reservation, dir, store)
	return CPUManager{m}, err
}

// NewCPUPolicy makes the static policy of the CPU manager.
func NewCPUPolicy(topo *topology.CPUTopology, count int, reserved cpuset.CPUSet, store topologymanager.Store, options map[string]string) (CPUPolicy, error) {
	p, err := cpumanager.NewStaticPolicy(Quiet, topo, count, reserved, store, options)
	return CPUPolicy{p}, err
}

// NewCPUState is an empty state without a file.
func NewCPUState() cpustate.State { return cpustate.NewMemoryState(Quiet) }

// OpenCPUState is the state of a file.
func OpenCPUState(dir, name, policy string) (cpustate.State, error) {
	return cpustate.NewCheckpointState(Quiet, dir, name, policy, containermap.NewContainerMap())
}

// NewMemoryManager makes a memory manager.
func NewMemoryManager(policy string, machine *MachineInfo, reservation v1.ResourceList, reserved []kubeletconfig.MemoryReservation, dir string, store topologymanager.Store) (MemoryManager, error) {
	m, err := memorymanager.NewManager(Quiet, policy, machine, reservation, reserved, dir, store)
	return MemoryManager{m}, err
}

// NewMemoryPolicy makes the static policy of the memory manager.
func NewMemoryPolicy(machine *MachineInfo, reserved map[int]map[v1.ResourceName]uint64, store topologymanager.Store) (MemoryPolicy, error) {
	p, err := memorymanager.NewPolicyStatic(Quiet, machine, reserved, store)
	return MemoryPolicy{p}, err
}

// NewMemoryState is an empty state without a file.
func NewMemoryState() memorystate.State { return memorystate.NewMemoryState(Quiet) }

// NewStub makes the kubelet's own device plugin for tests.
func NewStub(devices []*pluginapi.Device, socket, resource string, preferred bool) Stub {
	return Stub{plugin.NewDevicePluginStub(Quiet, devices, socket, resource, false, preferred)}
}

// Merge merges hints.
func Merge(policy topologymanager.Policy, hints []map[string][]topologymanager.TopologyHint) (topologymanager.TopologyHint, bool) {
	return policy.Merge(Quiet, hints)
}

// NodeGetter gives predicates the node.
func NodeGetter(get func(context.Context, bool) (*v1.Node, error)) func(context.Context, bool) (*v1.Node, error) {
	return get
}
