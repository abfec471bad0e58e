package main

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unsafe"

	"github.com/go-logr/logr"
	"github.com/kubernetes-sigs/dra-driver-cpu/pkg/cpuinfo"
	"github.com/kubernetes-sigs/dra-driver-cpu/pkg/driver"
	"github.com/kubernetes-sigs/dra-driver-cpu/pkg/store"
	resource "k8s.io/api/resource/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
	"k8s.io/utils/cpuset"
)

const (
	name = "dra.cpu"
	node = "machine"
	// What the name of each device begins with.
	prefix = "cpudev"
)

//go:linkname populateCpuSiblings github.com/kubernetes-sigs/dra-driver-cpu/pkg/cpuinfo.populateCpuSiblings
func populateCpuSiblings(infos []cpuinfo.CPUInfo)

//go:linkname initializeDeviceLookupMaps github.com/kubernetes-sigs/dra-driver-cpu/pkg/driver.(*CPUDriver).initializeDeviceLookupMaps
func initializeDeviceLookupMaps(own *driver.CPUDriver)

// A driver without sockets: what it publishes is kept, and files for the container runtime are not written.
type running struct {
	own   *driver.CPUDriver
	store *store.CPUAllocation
	kept  *plugin
}

type plugin struct {
	resources *resourceslice.DriverResources
}

func (p *plugin) PublishResources(_ context.Context, resources resourceslice.DriverResources) error {
	p.resources = &resources
	return nil
}

func (p *plugin) Stop() {}

type files struct{}

func (files) AddDevice(logr.Logger, string, string) error { return nil }
func (files) RemoveDevice(logr.Logger, string) error      { return nil }

// What `driver.Start` makes of its configuration and of the machine.
func newDriver(of Case) *running {
	infos := of.infos()
	populateCpuSiblings(infos)
	provider := cpuinfo.MockCPUInfoProvider{CPUInfos: infos}
	topology, err := provider.GetCPUTopology(logr.Discard())
	if err != nil {
		fatal(err)
	}
	// As on a machine whose /sys does not say whether threads are on.
	topology.SMTEnabled = topology.NumCPUs > topology.NumCores
	reserved, err := cpuset.Parse(of.Reserved)
	if err != nil {
		fatal(err)
	}
	mode, group := driver.CPU_DEVICE_MODE_GROUPED, of.Mode
	if of.Mode == driver.CPU_DEVICE_MODE_INDIVIDUAL {
		mode, group = of.Mode, driver.GROUP_BY_NUMA_NODE
	}
	own := &driver.CPUDriver{}
	kept := &plugin{}
	allocations := store.NewCPUAllocation(topology, reserved)
	for field, value := range map[string]any{
		"driverName":              name,
		"nodeName":                node,
		"draPlugin":               kept,
		"cdiMgr":                  files{},
		"cpuAllocationStore":      allocations,
		"cpuTopology":             topology,
		"reservedCPUs":            reserved,
		"onlineCPUs":              topology.CPUDetails.CPUs(),
		"cpuDeviceMode":           mode,
		"cpuDeviceGroupBy":        group,
		"pcieRootMapper":          store.NewPCIeRootMapper(),
		"devicesPerResourceSlice": resource.ResourceSliceMaxDevices,
	} {
		set(own, field, value)
	}
	initializeDeviceLookupMaps(own)
	return &running{own: own, store: allocations, kept: kept}
}

func set(own *driver.CPUDriver, field string, value any) {
	place := reflect.ValueOf(own).Elem().FieldByName(field)
	reflect.NewAt(place.Type(), unsafe.Pointer(place.UnsafeAddr())).Elem().Set(reflect.ValueOf(value))
}

// The devices that it publishes, in order.
func (d *running) published() []resource.Device {
	d.own.PublishResources(context.Background())
	if d.kept.resources == nil {
		return nil
	}
	var devices []resource.Device
	for _, slice := range d.kept.resources.Pools[node].Slices {
		devices = append(devices, slice.Devices...)
	}
	return devices
}

func short(device string) string { return strings.TrimPrefix(device, prefix) }

func capacity(device resource.Device) int64 {
	if own, ok := device.Capacity["dra.cpu/cpu"]; ok {
		return own.Value.Value()
	}
	return 1
}

func answer(of Case) Result {
	d := newDriver(of)
	result := Result{Steps: []string{}}
	for number, device := range d.published() {
		whole := func(attribute string) int64 {
			if value := device.Attributes[resource.QualifiedName("dra.cpu/"+attribute)].IntValue; value != nil {
				return *value
			}
			return -1
		}
		result.Smt = *device.Attributes["dra.cpu/smtEnabled"].BoolValue
		near := device.Attributes["dra.net/numaNode"].IntValue
		if numa := whole("numaNodeID"); (near == nil) != (numa < 0) || (near != nil && *near != numa) {
			fatal(fmt.Errorf("%s says two NUMA nodes", device.Name))
		}
		if of.Mode != driver.CPU_DEVICE_MODE_INDIVIDUAL {
			if whole("numCPUs") != capacity(device) || device.AllowMultipleAllocations == nil || !*device.AllowMultipleAllocations {
				fatal(fmt.Errorf("%s is no group", device.Name))
			}
			group := [4]any{short(device.Name), whole("socketID"), whole("numaNodeID"), capacity(device)}
			result.Groups = append(result.Groups, group)
			continue
		}
		if device.Name != fmt.Sprintf("cpudev%03d", number) {
			fatal(fmt.Errorf("device %d is %s", number, device.Name))
		}
		if number > 0 {
			result.Order += ","
		} else {
			result.Sums = &[4]int64{}
		}
		result.Order += strconv.FormatInt(whole("cpuID"), 10)
		for place, attribute := range []string{"socketID", "numaNodeID", "coreID", "cacheL3ID"} {
			result.Sums[place] += int64(number+1) * whole(attribute)
		}
	}
	for number, step := range of.Steps {
		result.Steps = append(result.Steps, d.step(number, step))
	}
	return result
}

// The CPUs of a claim, or why it has none.
func (d *running) step(number int, step Step) string {
	uid := func(number int) types.UID { return types.UID(strconv.Itoa(number)) }
	if step.End != nil {
		claim := kubeletplugin.NamespacedObject{UID: uid(*step.End)}
		if _, err := d.own.UnprepareResourceClaims(context.Background(), []kubeletplugin.NamespacedObject{claim}); err != nil {
			fatal(err)
		}
		return ""
	}
	claim := &resource.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim", Namespace: "default", UID: uid(number)}}
	claim.Status.Allocation = &resource.AllocationResult{}
	for _, taken := range step.Take {
		given := resource.DeviceRequestAllocationResult{Request: "cpus", Driver: name, Pool: node, Device: prefix + taken.Device}
		if taken.Cpus > 0 {
			amount := *quantity.NewQuantity(taken.Cpus, quantity.DecimalSI)
			given.ConsumedCapacity = map[resource.QualifiedName]quantity.Quantity{"dra.cpu/cpu": amount}
		}
		claim.Status.Allocation.Devices.Results = append(claim.Status.Allocation.Devices.Results, given)
	}
	results, err := d.own.PrepareResourceClaims(context.Background(), []*resource.ResourceClaim{claim})
	if err != nil {
		fatal(err)
	}
	if err := results[claim.UID].Err; err != nil {
		return "error: " + strings.TrimPrefix(err.Error(), "claim default/claim has ")
	}
	cpus, _ := d.store.GetResourceClaimAllocation(claim.UID)
	return cpus.String()
}
