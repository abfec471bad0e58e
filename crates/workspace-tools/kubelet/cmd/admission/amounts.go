package main

// Cases of amounts: what a node keeps and has, and what a pod asks for.

import (
	"context"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	v1qos "k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"

	"kubelet/internal/gates"
	"kubelet/internal/pods"
	"kubelet/internal/release"
)

func runReserved(c *Case) (any, error) {
	n, restore, err := newNode(c)
	defer restore()
	if err != nil {
		return nil, err
	}
	mi, kc := n.mi, n.kc
	nac, err := newNodeAllocatable(kc, mi)
	if err != nil {
		return map[string]any{"error": err.Error()}, nil
	}
	r := map[string]any{"managerReservation": quantities(nac.reservation())}
	nac.addEphemeral(n.rootfs)
	r["reservation"] = quantities(nac.reservation())
	if err := nac.validate(); err != nil {
		r["startError"] = err.Error()
	}
	nd := &v1.Node{}
	set := release.MachineSetter(int(kc.MaxPods), int(kc.PodsPerCore), mi, func() v1.ResourceList { return nac.capacity },
		func() (v1.ResourceList, v1.ResourceList, []string) { return nil, nil, nil }, nac.reservation)
	if err := set(context.Background(), nd); err != nil {
		return nil, err
	}
	r["capacity"], r["allocatable"] = quantities(nd.Status.Capacity), quantities(nd.Status.Allocatable)
	// The CPU manager with this reservation: its reserved set is what the default set keeps for ever.
	if kc.CPUManagerPolicy == "static" {
		nac3, _ := newNodeAllocatable(kc, mi)
		tm, err := release.NewTopologyManager(mi.Topology, "none", "container", nil)
		if err != nil {
			return nil, err
		}
		cm, err := release.NewCPUManager("static", kc.CPUManagerPolicyOptions, 100000*1e9*3600, mi, nac3.reservedCPUs, nac3.reservation(), n.dir, tm.Manager)
		if err != nil {
			r["cpuManagerError"] = err.Error()
			return r, nil
		}
		first := make(chan struct{})
		n.firstGet = first
		if err := cm.Start(context.Background(), n.activePods, n, n, nil, nil); err != nil {
			r["cpuManagerError"] = err.Error()
			return r, nil
		}
		<-first
		r["defaultCPUSet"] = cm.State().GetDefaultCPUSet().String()
		alloc := cm.GetAllocatableCPUs()
		r["allocatableCPUs"] = alloc.String()
		r["reservedCPUs"] = cm.GetAllCPUs().Difference(alloc).String()
	}
	return r, nil
}

func runEffective(c *Case) (any, error) {
	var named map[string]bool
	if len(c.Config) > 0 {
		kc, err := decodeConfig(c.Config)
		if err != nil {
			return nil, err
		}
		named = kc.FeatureGates
	}
	restore, err := gates.SetExactly(named)
	defer restore()
	if err != nil {
		return nil, err
	}
	pod, err := decodePod(c.Pod)
	if err != nil {
		return map[string]any{"decodeError": err.Error()}, nil
	}
	r := map[string]any{
		"qos":                  string(v1qos.GetPodQOS(pod)),
		"requests":             quantities(resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})),
		"requestsNoOverhead":   quantities(resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{ExcludeOverhead: true})),
		"limits":               quantities(resourcehelper.PodLimits(pod, resourcehelper.PodResourcesOptions{})),
		"limitsNoOverhead":     quantities(resourcehelper.PodLimits(pod, resourcehelper.PodResourcesOptions{ExcludeOverhead: true})),
		"containerRequests":    quantities(resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{SkipPodLevelResources: true})),
		"podLevelResourcesSet": resourcehelper.IsPodLevelResourcesSet(pod),
	}
	if pod.Spec.Resources != nil {
		r["podResources"] = map[string]any{"requests": quantities(pod.Spec.Resources.Requests), "limits": quantities(pod.Spec.Resources.Limits)}
	}
	var cs []any
	for _, ct := range pods.Containers(pod) {
		one := map[string]any{"name": ct.Name, "requests": quantities(ct.Resources.Requests), "limits": quantities(ct.Resources.Limits)}
		if guaranteed := release.GuaranteedEquivalent(&ct); guaranteed != nil {
			one["guaranteedEquivalent"] = guaranteed
		}
		cs = append(cs, one)
	}
	r["containers"] = cs
	return r, nil
}
