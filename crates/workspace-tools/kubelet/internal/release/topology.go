//go:build !kubelet_1_37 && !kubelet_1_38

package release

// The topology manager and who answers it, before 1.37 handed a log and the operation to every call.

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	plugin "k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/plugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/nodestatus"
)

// NewTopologyManager makes a topology manager.
func NewTopologyManager(nodes []Node, policy, scope string, options map[string]string) (TopologyManager, error) {
	m, err := topologymanager.NewManager(nodes, policy, scope, options)
	return TopologyManager{m}, err
}

// AsStore is the kubelet's form of a store of ours.
func AsStore(s Store) topologymanager.Store { return s }

// NewDeviceManager makes a device manager at the kubelet's own socket.
func NewDeviceManager(nodes []Node, store topologymanager.Store) (DeviceManager, error) {
	m, err := devicemanager.NewManagerImpl(nodes, store)
	return DeviceManager{m}, err
}

// MachineSetter writes capacity and allocatable into a node.
func MachineSetter(maxPods, podsPerCore int, machine *MachineInfo, capacity func() v1.ResourceList, devices func() (v1.ResourceList, v1.ResourceList, []string), reservation func() v1.ResourceList) nodestatus.Setter {
	return nodestatus.MachineInfo("node-1", maxPods, podsPerCore,
		func() (*MachineInfo, error) { return machine, nil },
		func(bool) v1.ResourceList { return capacity() },
		devices, reservation, func(_, _, _ string) {}, true)
}

// Disconnect tells the device manager that the plugin of a resource is gone.
func (m DeviceManager) Disconnect(resource, _ string) { m.PluginDisconnected(Quiet, resource) }

// ClientSocket is "" before 1.37: a resource has one client, whatever its socket.
func ClientSocket(plugin.Client) string { return "" }
