//go:build !kubelet_1_37 && !kubelet_1_38

package release

// The pod resources service before 1.37.

import (
	v1 "k8s.io/api/core/v1"
	podresourcesapi "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubernetes/pkg/kubelet/apis/podresources"
)

// Provided is what a pod resources service is told. Keys are "uid/container", "uid" or, for what is allocatable, "/".
type Provided interface {
	UpdateAllocatedDevices()
	Devices(uid, container string) []*podresourcesapi.ContainerDevices
	AllocatableDevices() []*podresourcesapi.ContainerDevices
	CPUs(key string) []int64
	Memory(key string) []*podresourcesapi.ContainerMemory
	podresources.PodsProvider
}

type told struct{ Provided }

func (t told) GetDevices(uid, c string) []*podresourcesapi.ContainerDevices { return t.Devices(uid, c) }
func (t told) GetAllocatableDevices() []*podresourcesapi.ContainerDevices {
	return t.AllocatableDevices()
}
func (t told) GetCPUs(uid, c string) []int64 { return t.CPUs(uid + "/" + c) }
func (t told) GetAllocatableCPUs() []int64   { return t.CPUs("/") }
func (t told) GetMemory(uid, c string) []*podresourcesapi.ContainerMemory {
	return t.Memory(uid + "/" + c)
}
func (t told) GetAllocatableMemory() []*podresourcesapi.ContainerMemory { return t.Memory("/") }
func (t told) GetDynamicResources(*v1.Pod, *v1.Container) []*podresourcesapi.DynamicResource {
	return nil
}

// PodResources is the service.
func PodResources(p Provided) podresourcesapi.PodResourcesListerServer {
	t := told{p}
	return podresources.NewV1PodResourcesServer(Context, podresources.PodResourcesProviders{Pods: t, Devices: t, Cpus: t, Memory: t, DynamicResources: t})
}

// PodResourcesOf gives what the pod holds as a whole: before 1.37 that is not shown.
func PodResourcesOf(*podresourcesapi.PodResources, func([]int64, []*podresourcesapi.ContainerMemory)) {
}
