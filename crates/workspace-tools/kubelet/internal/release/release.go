// Package release holds what differs between the kubelet's releases, so that everything else is the same for all.
//
// The types and methods here are those of 1.36.3; the files of the other releases, chosen by the tags kubelet_1_34,
// kubelet_1_35, kubelet_1_37 and kubelet_1_38, make theirs look alike. This file holds what is the same in all.
package release

import (
	"context"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/allocation"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	plugin "k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/plugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/pluginmanager/cache"
)

// Quiet is a log that keeps nothing.
var Quiet = logr.Discard()

// Context is the context of every call.
var Context = klog.NewContext(context.Background(), Quiet)

type (
	// CPUManager is the CPU manager.
	CPUManager struct{ cpumanager.Manager }
	// CPUPolicy is the static policy without the manager around it.
	CPUPolicy struct{ cpumanager.Policy }
	// MemoryManager is the memory manager.
	MemoryManager struct{ memorymanager.Manager }
	// MemoryPolicy is the static policy without the manager around it.
	MemoryPolicy struct{ memorymanager.Policy }
	// DeviceManager is the device manager.
	DeviceManager struct{ *devicemanager.ManagerImpl }
	// Stub is the kubelet's own device plugin for tests.
	Stub struct{ *plugin.Stub }
	// TopologyManager is the topology manager.
	TopologyManager struct{ topologymanager.Manager }
	// Allocation admits pods.
	Allocation struct{ allocation.Manager }
	// Watcher takes the plugins that the plugin watcher finds.
	Watcher struct{ cache.PluginHandler }
)

// Provider is a hint provider of ours.
type Provider interface {
	GetTopologyHints(pod *v1.Pod, container *v1.Container) map[string][]topologymanager.TopologyHint
	GetPodTopologyHints(pod *v1.Pod) map[string][]topologymanager.TopologyHint
	AllocatePod(pod *v1.Pod) error
	Allocate(pod *v1.Pod, container *v1.Container) error
}

// Store is a store of merged hints of ours.
type Store interface {
	GetAffinity(podUID, containerName string) topologymanager.TopologyHint
	GetPolicy() topologymanager.Policy
	Name() string
}

// Checkpoint is a state file of the memory manager.
type Checkpoint interface {
	UnmarshalCheckpoint(text []byte) error
	VerifyChecksum() error
}
