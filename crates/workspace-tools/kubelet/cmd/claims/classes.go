//go:build !kubelet_1_34

package main

// Faults of the table of device classes by extended resource, which kube-scheduler fills from events of its informer.

import (
	v1 "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	"k8s.io/klog/v2"

	"kubelet/internal/reproduction"
)

// The names of an extended resource by which a pod gets a device of gpu-2025, and of either class.
const (
	byClass = v1.ResourceName(resource.ResourceDeviceClassPrefix + "gpu-2025")
	byName  = v1.ResourceName("example.com/gpu")
)

// droppedClass has an older class observed after a newer one for the same extended resource, and before it.
func droppedClass() reproduction.Verdict {
	classes := manifest("class-migration").classes
	newerFirst := extendedresourcecache.NewExtendedResourceCache(klog.Background())
	olderFirst := extendedresourcecache.NewExtendedResourceCache(klog.Background())
	for at := range classes {
		newerFirst.OnAdd(classes[at], true)
		olderFirst.OnAdd(classes[len(classes)-1-at], true)
	}
	after, before := newerFirst.GetDeviceClass(byClass), olderFirst.GetDeviceClass(byClass)
	if after == nil && before != nil {
		return reproduction.Fault("%s has no class if gpu-2025 is observed after gpu-2026, and has it if before", byClass)
	}
	return reproduction.Sound("%s has its class in both orders: %t, %t", byClass, after != nil, before != nil)
}

// deletedClass deletes the older of two classes for the same extended resource.
func deletedClass() reproduction.Verdict {
	classes := manifest("class-migration").classes
	cache := extendedresourcecache.NewExtendedResourceCache(klog.Background())
	newer, older := classes[0], classes[1]
	cache.OnAdd(older, true)
	cache.OnAdd(newer, true)
	if found := cache.GetDeviceClass(byName); found != newer {
		return reproduction.Sound("%s does not go to the newer class", byName)
	}
	cache.OnDelete(older)
	if cache.GetDeviceClass(byName) == nil {
		return reproduction.Fault("%s goes to gpu-2026; after gpu-2025 is deleted it has no class", byName)
	}
	return reproduction.Sound("%s goes to gpu-2026, also after gpu-2025 is deleted", byName)
}
