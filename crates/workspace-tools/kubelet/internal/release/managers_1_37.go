//go:build kubelet_1_37 || kubelet_1_38

package release

// The methods of 1.37's managers, which take a log or a context and the operation. All here is done for pods that are
// added; a resize comes in through Admit.

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	cpustate "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	plugin "k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/plugin/v1beta1"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

const add = lifecycle.AddOperation

type hintsByResource = map[string][]topologymanager.TopologyHint

func (m CPUManager) Allocate(pod *v1.Pod, c *v1.Container) error {
	return m.Manager.Allocate(Context, pod, c, add)
}
func (m CPUManager) AllocatePod(pod *v1.Pod) error { return m.Manager.AllocatePod(Quiet, pod, add) }
func (m CPUManager) GetTopologyHints(pod *v1.Pod, c *v1.Container) hintsByResource {
	return m.Manager.GetTopologyHints(Quiet, pod, c, add)
}
func (m CPUManager) GetPodTopologyHints(pod *v1.Pod) hintsByResource {
	return m.Manager.GetPodTopologyHints(Quiet, pod, add)
}

func (p CPUPolicy) Allocate(_ klog.Logger, s cpustate.State, pod *v1.Pod, c *v1.Container) error {
	return p.Policy.Allocate(Quiet, s, pod, c, add)
}
func (p CPUPolicy) GetTopologyHints(_ klog.Logger, s cpustate.State, pod *v1.Pod, c *v1.Container) hintsByResource {
	return p.Policy.GetTopologyHints(Quiet, s, pod, c, add)
}
func (p CPUPolicy) GetPodTopologyHints(_ klog.Logger, s cpustate.State, pod *v1.Pod) hintsByResource {
	return p.Policy.GetPodTopologyHints(Quiet, s, pod, add)
}

func (m MemoryManager) Allocate(pod *v1.Pod, c *v1.Container) error {
	return m.Manager.Allocate(Context, pod, c, add)
}
func (m MemoryManager) AllocatePod(pod *v1.Pod) error { return m.Manager.AllocatePod(Quiet, pod, add) }
func (m MemoryManager) GetTopologyHints(pod *v1.Pod, c *v1.Container) hintsByResource {
	return m.Manager.GetTopologyHints(Quiet, pod, c, add)
}
func (m MemoryManager) GetPodTopologyHints(pod *v1.Pod) hintsByResource {
	return m.Manager.GetPodTopologyHints(Quiet, pod, add)
}
func (m MemoryManager) GetAllocatableMemory() []memorystate.Block {
	return m.Manager.GetAllocatableMemory(Quiet)
}
func (m MemoryManager) GetMemory(uid, name string) []memorystate.Block {
	return m.Manager.GetMemory(Quiet, uid, name)
}

func (p MemoryPolicy) Allocate(_ klog.Logger, s memorystate.State, pod *v1.Pod, c *v1.Container) error {
	return p.Policy.Allocate(Context, s, pod, c, add)
}
func (p MemoryPolicy) GetTopologyHints(_ klog.Logger, s memorystate.State, pod *v1.Pod, c *v1.Container) hintsByResource {
	return p.Policy.GetTopologyHints(Quiet, s, pod, c, add)
}

func (m DeviceManager) Allocate(pod *v1.Pod, c *v1.Container) error {
	return m.ManagerImpl.Allocate(Context, pod, c, add)
}
func (m DeviceManager) GetTopologyHints(pod *v1.Pod, c *v1.Container) hintsByResource {
	return m.ManagerImpl.GetTopologyHints(Quiet, pod, c, add)
}
func (m DeviceManager) GetPodTopologyHints(pod *v1.Pod) hintsByResource {
	return m.ManagerImpl.GetPodTopologyHints(Quiet, pod, add)
}
func (m DeviceManager) GetCapacity() (v1.ResourceList, v1.ResourceList, []string) {
	return m.ManagerImpl.GetCapacity(Quiet)
}
func (m DeviceManager) UpdateAllocatedDevices() { m.ManagerImpl.UpdateAllocatedDevices(Quiet) }
func (m DeviceManager) GetAllocatableDevices() devicemanager.ResourceDeviceInstances {
	return m.ManagerImpl.GetAllocatableDevices(Quiet)
}
func (m DeviceManager) UpdateAllocatedResourcesStatus(pod *v1.Pod, status *v1.PodStatus) {
	m.ManagerImpl.UpdateAllocatedResourcesStatus(Quiet, pod, status)
}

// Disconnect tells the device manager that a plugin of a resource is gone.
func (m DeviceManager) Disconnect(resource, socket string) {
	m.PluginDisconnected(Quiet, resource, socket)
}

// ClientSocket is the socket of a client.
func ClientSocket(c plugin.Client) string { return c.SocketPath() }

func (w Watcher) ValidatePlugin(name, socket string, versions []string) error {
	return w.PluginHandler.ValidatePlugin(Context, name, socket, versions)
}
func (w Watcher) RegisterPlugin(name, socket string, versions []string, timeout *time.Duration) error {
	return w.PluginHandler.RegisterPlugin(Context, name, socket, versions, timeout)
}
func (w Watcher) DeRegisterPlugin(name, socket string) {
	w.PluginHandler.DeRegisterPlugin(Context, name, socket)
}

// NewTopologyManager makes a topology manager.
func NewTopologyManager(nodes []Node, policy, scope string, options map[string]string) (TopologyManager, error) {
	m, err := topologymanager.NewManager(Quiet, nodes, policy, scope, options)
	return TopologyManager{m}, err
}

func (m TopologyManager) GetAffinity(uid, name string) topologymanager.TopologyHint {
	return m.Manager.GetAffinity(Quiet, uid, name)
}
func (m TopologyManager) AddContainer(pod *v1.Pod, c *v1.Container, id string) {
	m.Manager.AddContainer(Quiet, pod, c, id)
}
func (m TopologyManager) RemoveContainer(id string) error {
	return m.Manager.RemoveContainer(Quiet, id)
}
func (m TopologyManager) Admit(attributes *lifecycle.PodAdmitAttributes) lifecycle.PodAdmitResult {
	return m.Manager.Admit(Context, attributes)
}

// NewDeviceManager makes a device manager at the kubelet's own socket.
func NewDeviceManager(nodes []Node, store topologymanager.Store) (DeviceManager, error) {
	m, err := devicemanager.NewManagerImpl(Quiet, nodes, store)
	return DeviceManager{m}, err
}

type quietStore struct{ Store }

func (s quietStore) GetAffinity(_ klog.Logger, uid, name string) topologymanager.TopologyHint {
	return s.Store.GetAffinity(uid, name)
}

// AsStore is the kubelet's form of a store of ours.
func AsStore(s Store) topologymanager.Store { return quietStore{s} }

type quietProvider struct{ Provider }

func (p quietProvider) GetTopologyHints(_ klog.Logger, pod *v1.Pod, c *v1.Container, _ lifecycle.Operation) hintsByResource {
	return p.Provider.GetTopologyHints(pod, c)
}
func (p quietProvider) GetPodTopologyHints(_ klog.Logger, pod *v1.Pod, _ lifecycle.Operation) hintsByResource {
	return p.Provider.GetPodTopologyHints(pod)
}
func (p quietProvider) AllocatePod(_ klog.Logger, pod *v1.Pod, _ lifecycle.Operation) error {
	return p.Provider.AllocatePod(pod)
}
func (p quietProvider) Allocate(_ context.Context, pod *v1.Pod, c *v1.Container, _ lifecycle.Operation) error {
	return p.Provider.Allocate(pod, c)
}

// AsProvider is the kubelet's form of a provider of ours.
func AsProvider(p Provider) topologymanager.HintProvider { return quietProvider{p} }
