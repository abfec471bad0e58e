//go:build kubelet_1_34

package release

// How managers are made in 1.34, and its methods, which take no log or a context in its place.

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	cpustate "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	plugin "k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/plugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/config"
	"k8s.io/kubernetes/pkg/kubelet/status"
	"k8s.io/utils/cpuset"
)

type runtimeService interface {
	UpdateContainerResources(ctx context.Context, id string, resources *runtimeapi.ContainerResources) error
}

type hintsByResource = map[string][]topologymanager.TopologyHint

// Discover is a machine as the CPU manager sees it.
func Discover(machine *MachineInfo) (*topology.CPUTopology, error) { return topology.Discover(machine) }

// NewCPUManager makes a CPU manager.
func NewCPUManager(policy string, options map[string]string, period time.Duration, machine *MachineInfo, reserved cpuset.CPUSet, reservation v1.ResourceList, dir string, store topologymanager.Store) (CPUManager, error) {
	m, err := cpumanager.NewManager(policy, options, period, machine, reserved, reservation, dir, store)
	return CPUManager{m}, err
}

func (m CPUManager) Start(_ context.Context, active cpumanager.ActivePodsFunc, sources config.SourcesReady, statuses status.PodStatusProvider, runtime runtimeService, containers containermap.ContainerMap) error {
	return m.Manager.Start(active, sources, statuses, runtime, containers)
}
func (m CPUManager) AddContainer(_ klog.Logger, pod *v1.Pod, c *v1.Container, id string) {
	m.Manager.AddContainer(pod, c, id)
}
func (m CPUManager) RemoveContainer(_ klog.Logger, id string) error {
	return m.Manager.RemoveContainer(id)
}

// NewCPUPolicy makes the static policy of the CPU manager.
func NewCPUPolicy(topo *topology.CPUTopology, count int, reserved cpuset.CPUSet, store topologymanager.Store, options map[string]string) (CPUPolicy, error) {
	p, err := cpumanager.NewStaticPolicy(topo, count, reserved, store, options)
	return CPUPolicy{p}, err
}

func (p CPUPolicy) Start(_ klog.Logger, s cpustate.State) error { return p.Policy.Start(s) }
func (p CPUPolicy) Allocate(_ klog.Logger, s cpustate.State, pod *v1.Pod, c *v1.Container) error {
	return p.Policy.Allocate(s, pod, c)
}
func (p CPUPolicy) RemoveContainer(_ klog.Logger, s cpustate.State, uid, name string) error {
	return p.Policy.RemoveContainer(s, uid, name)
}
func (p CPUPolicy) GetTopologyHints(_ klog.Logger, s cpustate.State, pod *v1.Pod, c *v1.Container) hintsByResource {
	return p.Policy.GetTopologyHints(s, pod, c)
}
func (p CPUPolicy) GetPodTopologyHints(_ klog.Logger, s cpustate.State, pod *v1.Pod) hintsByResource {
	return p.Policy.GetPodTopologyHints(s, pod)
}

// NewCPUState is an empty state without a file.
func NewCPUState() cpustate.State { return cpustate.NewMemoryState() }

// OpenCPUState is the state of a file.
func OpenCPUState(dir, name, policy string) (cpustate.State, error) {
	return cpustate.NewCheckpointState(dir, name, policy, containermap.NewContainerMap())
}

// NewMemoryManager makes a memory manager.
func NewMemoryManager(policy string, machine *MachineInfo, reservation v1.ResourceList, reserved []kubeletconfig.MemoryReservation, dir string, store topologymanager.Store) (MemoryManager, error) {
	m, err := memorymanager.NewManager(Context, policy, machine, reservation, reserved, dir, store)
	return MemoryManager{m}, err
}

func (m MemoryManager) AddContainer(_ klog.Logger, pod *v1.Pod, c *v1.Container, id string) {
	m.Manager.AddContainer(Context, pod, c, id)
}
func (m MemoryManager) RemoveContainer(_ klog.Logger, id string) error {
	return m.Manager.RemoveContainer(Context, id)
}
func (m MemoryManager) GetMemoryNUMANodes(_ klog.Logger, pod *v1.Pod, c *v1.Container) sets.Set[int] {
	return m.Manager.GetMemoryNUMANodes(Context, pod, c)
}
func (m MemoryManager) GetAllocatableMemory() []memorystate.Block {
	return m.Manager.GetAllocatableMemory(Context)
}
func (m MemoryManager) GetMemory(uid, name string) []memorystate.Block {
	return m.Manager.GetMemory(Context, uid, name)
}

// NewMemoryPolicy makes the static policy of the memory manager.
func NewMemoryPolicy(machine *MachineInfo, reserved map[int]map[v1.ResourceName]uint64, store topologymanager.Store) (MemoryPolicy, error) {
	p, err := memorymanager.NewPolicyStatic(Context, machine, reserved, store)
	return MemoryPolicy{p}, err
}

func (p MemoryPolicy) Start(_ klog.Logger, s memorystate.State) error {
	return p.Policy.Start(Context, s)
}
func (p MemoryPolicy) Allocate(_ klog.Logger, s memorystate.State, pod *v1.Pod, c *v1.Container) error {
	return p.Policy.Allocate(Context, s, pod, c)
}
func (p MemoryPolicy) GetTopologyHints(_ klog.Logger, s memorystate.State, pod *v1.Pod, c *v1.Container) hintsByResource {
	return p.Policy.GetTopologyHints(Context, s, pod, c)
}

// NewMemoryState is an empty state without a file.
func NewMemoryState() memorystate.State { return memorystate.NewMemoryState(Quiet) }

// NewStub makes the kubelet's own device plugin for tests.
func NewStub(devices []*pluginapi.Device, socket, resource string, preferred bool) Stub {
	return Stub{plugin.NewDevicePluginStub(devices, socket, resource, false, preferred)}
}

func (s Stub) Start(context.Context) error { return s.Stub.Start() }
func (s Stub) Stop(klog.Logger) error      { return s.Stub.Stop() }
func (s Stub) Register(_ context.Context, endpoint, resource, dir string) error {
	return s.Stub.Register(endpoint, resource, dir)
}

func (m DeviceManager) Start(_ klog.Logger, active devicemanager.ActivePodsFunc, sources config.SourcesReady, containers containermap.ContainerMap, running sets.Set[string]) error {
	return m.ManagerImpl.Start(active, sources, containers, running)
}
func (m DeviceManager) Stop(klog.Logger) error { return m.ManagerImpl.Stop() }
func (m DeviceManager) PluginConnected(_ context.Context, resource string, p plugin.DevicePlugin) error {
	return m.ManagerImpl.PluginConnected(resource, p)
}
func (m DeviceManager) PluginDisconnected(_ klog.Logger, resource string) {
	m.ManagerImpl.PluginDisconnected(resource)
}
func (m DeviceManager) PluginListAndWatchReceiver(_ klog.Logger, resource string, r *pluginapi.ListAndWatchResponse) {
	m.ManagerImpl.PluginListAndWatchReceiver(resource, r)
}
func (m DeviceManager) GetDeviceRunContainerOptions(_ context.Context, pod *v1.Pod, c *v1.Container) (*devicemanager.DeviceRunContainerOptions, error) {
	return m.ManagerImpl.GetDeviceRunContainerOptions(pod, c)
}

func (m TopologyManager) AddHintProvider(_ klog.Logger, p topologymanager.HintProvider) {
	m.Manager.AddHintProvider(p)
}

// Merge merges hints.
func Merge(policy topologymanager.Policy, hints []hintsByResource) (topologymanager.TopologyHint, bool) {
	return policy.Merge(hints)
}

// NodeGetter gives predicates the node.
func NodeGetter(get func(context.Context, bool) (*v1.Node, error)) func() (*v1.Node, error) {
	return func() (*v1.Node, error) { return get(Context, true) }
}
