package main

// What a case holds, and the pods of a case.

import (
	v1 "k8s.io/api/core/v1"

	"kubelet/internal/pods"
)

// Running is a container that the runtime knows at a start.
type Running struct {
	Pod       string `json:"pod"`
	Container string `json:"container"`
	ID        string `json:"id"`
	Running   bool   `json:"running"`
}

// MemBlock is memory that the memory manager would report.
type MemBlock struct {
	Nodes []int  `json:"nodes"`
	Type  string `json:"type"`
	Size  uint64 `json:"size"`
}

// Step is one thing that happens.
type Step struct {
	Op        string              `json:"op"`
	Plugin    string              `json:"plugin,omitempty"`
	Resource  string              `json:"resource,omitempty"`
	Via       string              `json:"via,omitempty"` // register: "" the Registration service, "watcher" the plugin watcher
	Version   *string             `json:"version,omitempty"`
	Versions  []string            `json:"versions,omitempty"`
	Endpoint  string              `json:"endpoint,omitempty"`
	Options   *Options            `json:"options,omitempty"`
	RegOpts   *Options            `json:"register_options,omitempty"`
	OptsErr   *RPCError           `json:"options_error,omitempty"`
	Devices   []Dev               `json:"devices,omitempty"`
	Silent    bool                `json:"silent,omitempty"` // the plugin sends no first list
	Again     bool                `json:"again,omitempty"`  // register: the running plugin registers once more, its process does not end
	Preferred *Pref               `json:"preferred,omitempty"`
	Alloc     *Alloc              `json:"allocate,omitempty"`
	PreErr    *RPCError           `json:"pre_start_error,omitempty"`
	Pod       string              `json:"pod,omitempty"`
	Container string              `json:"container,omitempty"`
	Nodes     *[]int              `json:"nodes,omitempty"` // affinity
	Value     *bool               `json:"value,omitempty"`
	Seconds   int                 `json:"seconds,omitempty"`
	Choose    map[string][]string `json:"choose,omitempty"`
	Running   []Running           `json:"running,omitempty"`
	Raw       *string             `json:"checkpoint,omitempty"`
	Delete    bool                `json:"delete_checkpoint,omitempty"`
	Limits    map[string]string   `json:"limits,omitempty"`
	NodeAlloc map[string]int64    `json:"node_allocatable,omitempty"`
	CPUs      string              `json:"cpus,omitempty"`
	Memory    []MemBlock          `json:"memory,omitempty"`
	Name      string              `json:"name,omitempty"`
	Namespace string              `json:"namespace,omitempty"`
}

// Case is one case of any kind; unused fields are left out.
type Case struct {
	ID         string     `json:"id"`
	Kind       string     `json:"kind"`
	Machine    string     `json:"machine,omitempty"`
	Nodes      []int      `json:"nodes"`
	UseActive  *bool      `json:"use_active_pods,omitempty"`
	NoSampling bool       `json:"no_sampling,omitempty"`
	PodLevel   bool       `json:"pod_level_managers,omitempty"` // gate PodLevelResourceManagers
	Pods       []pods.Pod `json:"pods,omitempty"`
	Steps      []Step     `json:"steps,omitempty"`
	Data       any        `json:"data,omitempty"` // golden kinds
}

// limits are what a container asks for: nothing is an empty list here.
func limits(amounts pods.Amounts) v1.ResourceList {
	if amounts == nil {
		return v1.ResourceList{}
	}
	return pods.List(amounts)
}

// build makes the kubelet's pod, whose containers request what they limit.
func build(p pods.Pod) *v1.Pod {
	out := p.Build()
	if out.Name == "" {
		out.Name = "pod-" + p.UID
	}
	if out.Namespace == "" {
		out.Namespace = "default"
	}
	for _, list := range [][]v1.Container{out.Spec.InitContainers, out.Spec.Containers} {
		for i := range list {
			if list[i].Resources.Limits == nil {
				list[i].Resources.Limits = v1.ResourceList{}
			}
			list[i].Resources.Requests = list[i].Resources.Limits.DeepCopy()
		}
	}
	for i := range out.Spec.Containers {
		out.Status.ContainerStatuses = append(out.Status.ContainerStatuses, v1.ContainerStatus{Name: out.Spec.Containers[i].Name})
	}
	if p.Claims != nil {
		claims := &v1.PodExtendedResourceClaimStatus{ResourceClaimName: "claim"}
		for _, c := range p.Claims {
			claims.RequestMappings = append(claims.RequestMappings, v1.ContainerExtendedResourceRequest{ContainerName: c.Container, ResourceName: c.Resource, RequestName: "r"})
		}
		out.Status.ExtendedResourceClaimStatus = claims
	}
	return out
}
