package release

// Unexported parts of the kubelet's device manager and container manager, reached by their link names.

import (
	_ "unsafe" // for go:linkname

	"k8s.io/apimachinery/pkg/util/sets"
	podresourcesapi "k8s.io/kubelet/pkg/apis/podresources/v1"
	_ "k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
)

// PodResDevices is how podresources shows devices.
//
//go:linkname PodResDevices k8s.io/kubernetes/pkg/kubelet/cm.containerDevicesFromResourceDeviceInstances
func PodResDevices(devs devicemanager.ResourceDeviceInstances) []*podresourcesapi.ContainerDevices

// PodResMemory is how podresources shows memory.
//
//go:linkname PodResMemory k8s.io/kubernetes/pkg/kubelet/cm.containerMemoryFromBlock
func PodResMemory(blocks []memorystate.Block) []*podresourcesapi.ContainerMemory

type ids = sets.Set[string]
