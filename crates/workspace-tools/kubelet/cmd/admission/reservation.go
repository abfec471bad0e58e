package main

// What a node keeps from pods, as the container manager works it out.

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	evictionapi "k8s.io/kubernetes/pkg/kubelet/eviction/api"
	"k8s.io/utils/cpuset"

	"kubelet/internal/release"
)

type evictionThreshold = evictionapi.Threshold

// nodeAllocatable mirrors what the kubelet hands to its managers; as its container manager computes it.
type nodeAllocatable struct {
	reservedCPUs cpuset.CPUSet
	kube, system v1.ResourceList
	eviction     []evictionThreshold
	capacity     v1.ResourceList
}

func newNodeAllocatable(kc *kubeletconfig.KubeletConfiguration, mi *release.MachineInfo) (*nodeAllocatable, error) {
	n := &nodeAllocatable{capacity: cadvisor.CapacityFromMachineInfo(mi)}
	var err error
	if n.reservedCPUs, err = getReservedCPUs(mi, kc.ReservedSystemCPUs); err != nil {
		return nil, err
	}
	kube, system := copyMap(kc.KubeReserved), copyMap(kc.SystemReserved)
	if n.reservedCPUs.Size() > 0 {
		delete(kube, "cpu")
		system["cpu"] = strconv.Itoa(n.reservedCPUs.Size())
	}
	if n.kube, err = parseResourceList(kube); err != nil {
		return nil, fmt.Errorf("--kube-reserved value failed to parse: %w", err)
	}
	if n.system, err = parseResourceList(system); err != nil {
		return nil, fmt.Errorf("--system-reserved value failed to parse: %w", err)
	}
	if n.eviction, err = parseEviction(kc.EvictionHard); err != nil {
		return nil, err
	}
	return n, nil
}

func (n *nodeAllocatable) addEphemeral(rootfs uint64) {
	for k, v := range release.EphemeralStorage(rootfs) {
		n.capacity[k] = v
	}
}

func getReservedCPUs(mi *release.MachineInfo, cpus string) (cpuset.CPUSet, error) {
	if cpus == "" {
		return cpuset.New(), nil
	}
	topo, err := release.Discover(mi)
	if err != nil {
		return cpuset.New(), fmt.Errorf("unable to discover CPU topology info: %s", err)
	}
	set, err := cpuset.Parse(cpus)
	if err != nil {
		return cpuset.New(), fmt.Errorf("unable to parse reserved-cpus list: %s", err)
	}
	all := topo.CPUDetails.CPUs()
	if !set.IsSubsetOf(all) {
		return cpuset.New(), fmt.Errorf("reserved-cpus: %s is not a subset of online-cpus: %s", cpus, all.String())
	}
	return set, nil
}

func parseResourceList(m map[string]string) (v1.ResourceList, error) {
	if len(m) == 0 {
		return nil, nil
	}
	rl := v1.ResourceList{}
	for k, v := range m {
		switch k {
		case "cpu", "memory", "ephemeral-storage", "pid":
			q, err := resource.ParseQuantity(v)
			if err != nil {
				return nil, fmt.Errorf("failed to parse quantity %q for %q resource: %w", v, k, err)
			}
			if q.Sign() == -1 {
				return nil, fmt.Errorf("resource quantity for %q cannot be negative: %v", k, v)
			}
			rl[v1.ResourceName(k)] = q
		default:
			return nil, fmt.Errorf("cannot reserve %q resource", k)
		}
	}
	return rl, nil
}

func parseEviction(m map[string]string) ([]evictionThreshold, error) {
	return eviction.ParseThresholdConfig([]string{}, m, nil, nil, nil)
}

// reservation is what is kept from pods: system + kube reserved + hard eviction, for resources of the capacity.
func (n *nodeAllocatable) reservation() v1.ResourceList {
	ev := v1.ResourceList{}
	for _, t := range n.eviction {
		if t.Operator != evictionapi.OpLessThan {
			continue
		}
		switch t.Signal {
		case evictionapi.SignalMemoryAvailable:
			c := n.capacity[v1.ResourceMemory]
			ev[v1.ResourceMemory] = *evictionapi.GetThresholdQuantity(t.Value, &c)
		case evictionapi.SignalNodeFsAvailable:
			c := n.capacity[v1.ResourceEphemeralStorage]
			ev[v1.ResourceEphemeralStorage] = *evictionapi.GetThresholdQuantity(t.Value, &c)
		}
	}
	out := v1.ResourceList{}
	for k := range n.capacity {
		q := resource.NewQuantity(0, resource.DecimalSI)
		q.Add(n.system[k])
		q.Add(n.kube[k])
		q.Add(ev[k])
		if !q.IsZero() {
			out[k] = *q
		}
	}
	return out
}

func (n *nodeAllocatable) validate() error {
	var errs []string
	for k, v := range n.reservation() {
		c := n.capacity[k]
		q := c.DeepCopy()
		q.Sub(v)
		if q.Sign() < 0 {
			errs = append(errs, fmt.Sprintf("Resource %q has a reservation of %v but capacity of %v. Expected capacity >= reservation.", k, v, n.capacity[k]))
		}
	}
	if len(errs) > 0 {
		sort.Strings(errs)
		return fmt.Errorf("invalid Node Allocatable configuration. %s", strings.Join(errs, " "))
	}
	return nil
}

func quantities(l v1.ResourceList) map[string]string {
	out := map[string]string{}
	for k, v := range l {
		out[string(k)] = v.String()
	}
	return out
}
