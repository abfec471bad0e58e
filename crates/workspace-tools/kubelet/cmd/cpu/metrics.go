package main

// The metrics of the CPU manager.

import (
	"strings"

	kmetrics "k8s.io/component-base/metrics"
	"k8s.io/kubernetes/pkg/kubelet/metrics"

	"kubelet/internal/counters"
	"kubelet/internal/gates"
	"kubelet/internal/release"
)

var registry kmetrics.KubeRegistry
var base = map[string]float64{}

func initMetrics() {
	if registry != nil {
		return
	}
	registry = kmetrics.NewKubeRegistry()
	registry.MustRegister(metrics.CPUManagerPinningRequestsTotal, metrics.CPUManagerPinningErrorsTotal, metrics.CPUManagerSharedPoolSizeMilliCores,
		metrics.CPUManagerExclusiveCPUsAllocationCount, metrics.CPUManagerAllocationPerNUMA, metrics.ContainerAlignedComputeResources,
		metrics.ContainerAlignedComputeResourcesFailure)
	registry.MustRegister(release.PodLevelMetrics()...)
}

func gather() map[string]float64 {
	podLevel := gates.On(gates.PodLevelManagers)
	return counters.Read(registry, func(name string) bool {
		return podLevel || !strings.HasPrefix(strings.TrimPrefix(name, "kubelet_"), "resource_manager_")
	})
}

// resetMetrics makes the process look freshly started.
func resetMetrics() {
	initMetrics()
	metrics.CPUManagerSharedPoolSizeMilliCores.Set(0)
	metrics.CPUManagerExclusiveCPUsAllocationCount.Set(0)
	metrics.CPUManagerAllocationPerNUMA.Reset()
	metrics.ContainerAlignedComputeResources.Reset()
	metrics.ContainerAlignedComputeResourcesFailure.Reset()
	release.ResetPodLevelMetrics()
	base = map[string]float64{}
	for k, v := range gather() {
		if strings.HasPrefix(k, "kubelet_cpu_manager_pinning_") {
			base[k] = v
		}
	}
}

func metricsNow() map[string]float64 {
	r := gather()
	for k, b := range base {
		if v, ok := r[k]; ok {
			r[k] = v - b
		}
	}
	return r
}
