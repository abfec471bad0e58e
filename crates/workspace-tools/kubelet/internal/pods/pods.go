// Package pods holds the pods that cases name, and makes the kubelet's pods of them.
package pods

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"kubelet/internal/answer"
)

// Amounts are quantities by resource.
type Amounts = map[string]string

// Resources are what a container or a pod asks for.
type Resources struct {
	Requests Amounts `json:"requests,omitempty"`
	Limits   Amounts `json:"limits,omitempty"`
}

// Container is one container. The domains spell some fields each its own way; a case has one of the spellings.
type Container struct {
	Name string `json:"name"`
	Resources
	Both         Amounts `json:"res,omitempty"`     // requests and limits, in place of them
	Sidecar      bool    `json:"sidecar,omitempty"` // an init container that goes on running
	Restart      string  `json:"restartPolicy,omitempty"`
	RestartSnake string  `json:"restart_policy,omitempty"`
}

// Pod is one pod. The domains spell some fields each its own way; a case has one of the spellings.
type Pod struct {
	UID        string      `json:"uid"`
	Name       string      `json:"name,omitempty"`
	Namespace  string      `json:"namespace,omitempty"`
	Status     string      `json:"statusQOSClass,omitempty"` // status.qosClass
	QOS        string      `json:"qos,omitempty"`            // the same
	Resources  *Resources  `json:"resources,omitempty"`      // of the pod as a whole
	PodLimits  Amounts     `json:"pod_limits,omitempty"`     // the same, requests and limits
	Init       []Container `json:"init,omitempty"`
	App        []Container `json:"app,omitempty"`
	Containers []Container `json:"containers,omitempty"` // the same
	Ephemeral  []string    `json:"ephemeral,omitempty"`
	Claims     []Claim     `json:"dra,omitempty"`
}

// Claim is an extended resource of a container that a claim serves.
type Claim struct {
	Container string `json:"container"`
	Resource  string `json:"resource"`
}

// List makes a resource list; nothing stays nothing.
func List(amounts Amounts) v1.ResourceList {
	if amounts == nil {
		return nil
	}
	list := v1.ResourceList{}
	for name, text := range amounts {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			answer.Unusablef("quantity %q: %v", text, err)
		}
		list[v1.ResourceName(name)] = quantity
	}
	return list
}

func (c Container) build(init bool) v1.Container {
	out := v1.Container{Name: c.Name}
	requests, limits := c.Requests, c.Limits
	if c.Both != nil {
		requests, limits = c.Both, c.Both
	}
	out.Resources.Requests, out.Resources.Limits = List(requests), List(limits)
	policy := v1.ContainerRestartPolicy(c.Restart + c.RestartSnake)
	if init && c.Sidecar {
		policy = v1.ContainerRestartPolicyAlways
	}
	if policy != "" {
		out.RestartPolicy = &policy
	}
	return out
}

// Build makes the kubelet's pod, with the names as they are.
func (p *Pod) Build() *v1.Pod {
	out := &v1.Pod{}
	out.UID, out.Name, out.Namespace = types.UID(p.UID), p.Name, p.Namespace
	out.Status.QOSClass = v1.PodQOSClass(p.Status + p.QOS)
	if p.Resources != nil {
		out.Spec.Resources = &v1.ResourceRequirements{Requests: List(p.Resources.Requests), Limits: List(p.Resources.Limits)}
	} else if p.PodLimits != nil {
		out.Spec.Resources = &v1.ResourceRequirements{Requests: List(p.PodLimits), Limits: List(p.PodLimits)}
	}
	for _, c := range p.Init {
		out.Spec.InitContainers = append(out.Spec.InitContainers, c.build(true))
	}
	for _, c := range append(append([]Container{}, p.App...), p.Containers...) {
		out.Spec.Containers = append(out.Spec.Containers, c.build(false))
	}
	for _, name := range p.Ephemeral {
		out.Spec.EphemeralContainers = append(out.Spec.EphemeralContainers,
			v1.EphemeralContainer{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: name}})
	}
	return out
}

// Named makes the kubelet's pod with its UID as its name, in the namespace "ns".
func (p *Pod) Named() *v1.Pod {
	out := p.Build()
	out.Name, out.Namespace = p.UID, "ns"
	return out
}

// Containers are the init containers and then the others.
func Containers(pod *v1.Pod) []v1.Container {
	return append(append([]v1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...)
}

// IsInit says whether a container is an init container.
func IsInit(pod *v1.Pod, name string) bool {
	for i := range pod.Spec.InitContainers {
		if pod.Spec.InitContainers[i].Name == name {
			return true
		}
	}
	return false
}

// Find gives a container of the pod itself, not a copy.
func Find(pod *v1.Pod, name string) *v1.Container {
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	answer.Unusablef("no container %s", name)
	return nil
}
