//go:build kubelet_1_37 || kubelet_1_38

package release

// The unexported functions of 1.37.

import (
	_ "unsafe" // for go:linkname

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
)

//go:linkname newManagerImpl k8s.io/kubernetes/pkg/kubelet/cm/devicemanager.newManagerImpl
func newManagerImpl(logger klog.Logger, socket string, nodes []Node, store topologymanager.Store) (*devicemanager.ManagerImpl, error)

//go:linkname filterByAffinity k8s.io/kubernetes/pkg/kubelet/cm/devicemanager.(*ManagerImpl).filterByAffinity
func filterByAffinity(m *devicemanager.ManagerImpl, logger klog.Logger, uid, container, resource string, available ids) (ids, ids, ids)

//go:linkname writeCheckpoint k8s.io/kubernetes/pkg/kubelet/cm/devicemanager.(*ManagerImpl).writeCheckpoint
func writeCheckpoint(m *devicemanager.ManagerImpl, logger klog.Logger) error

// NewDeviceManagerAt makes a device manager at this socket.
func NewDeviceManagerAt(socket string, nodes []Node, store topologymanager.Store) (DeviceManager, error) {
	m, err := newManagerImpl(Quiet, socket, nodes, store)
	return DeviceManager{m}, err
}

// FilterByAffinity sorts devices by whether they are on the nodes of the container, elsewhere, or nowhere.
func FilterByAffinity(m DeviceManager, uid, container, resource string, available ids) (ids, ids, ids) {
	return filterByAffinity(m.ManagerImpl, Quiet, uid, container, resource, available)
}

// WriteCheckpoint writes the checkpoint now.
func WriteCheckpoint(m DeviceManager) error { return writeCheckpoint(m.ManagerImpl, Quiet) }
