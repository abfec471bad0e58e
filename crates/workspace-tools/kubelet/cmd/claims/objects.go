package main

// What kube-scheduler's allocator and the API server make of the objects of a manifest. Each fault of claims has one in
// fixtures/claim-faults, which the program reads from the root of the workspace.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"sigs.k8s.io/yaml"

	"kubelet/internal/answer"
)

// filterTimeout is how long kube-scheduler lets the allocator search, for each pod and node.
const filterTimeout = 10 * time.Second

// documents are the YAML documents of a fault's manifest.
func documents(name string) [][]byte {
	text := answer.Must(os.ReadFile("fixtures/claim-faults/" + name + ".yaml"))
	return bytes.Split(text, []byte("\n---\n"))
}

// objects are those of a manifest: claims with an allocation are what the node has allocated, the others are a pod's.
type objects struct {
	classes           []*resource.DeviceClass
	slices            []*resource.ResourceSlice
	allocated, wanted []*resource.ResourceClaim
}

func manifest(name string) *objects {
	found := &objects{}
	for _, document := range documents(name) {
		var kind metav1.TypeMeta
		must(yaml.Unmarshal(document, &kind))
		switch kind.Kind {
		case "DeviceClass":
			found.classes = append(found.classes, read[resource.DeviceClass](document))
		case "ResourceSlice":
			found.slices = append(found.slices, read[resource.ResourceSlice](document))
		case "ResourceClaim":
			claim := read[resource.ResourceClaim](document)
			if claim.Status.Allocation == nil {
				found.wanted = append(found.wanted, claim)
			} else {
				found.allocated = append(found.allocated, claim)
			}
		default:
			answer.Unusablef("%s: kind %q", name, kind.Kind)
		}
	}
	return found
}

func read[T any](document []byte) *T {
	object := new(T)
	must(yaml.UnmarshalStrict(document, object))
	return object
}

func must(err error) { answer.Must(0, err) }

// requests are the requests of the pod's first claim.
func (o *objects) requests() []resource.DeviceRequest { return o.wanted[0].Spec.Devices.Requests }

// decision is what the allocator decides for a pod on node-a.
type decision struct {
	end  decided
	seen string
}

type decided int

const (
	fits decided = iota
	doesNotFit
	stopsNode // an error: the pod cannot run on this node
	stopsPod  // an error: no other node is tried
	timedOut
)

// features are those that a kube-scheduler of 1.37 has by default and that the allocators of all releases know.
var features = structured.Features{
	AdminAccess:          true,
	ConsumableCapacity:   true,
	DeviceTaints:         true,
	PartitionableDevices: true,
	PrioritizedList:      true,
}

// decide asks the allocator that kube-scheduler has for these features.
func (o *objects) decide(features structured.Features) decision {
	ctx, cancel := context.WithTimeout(context.Background(), filterTimeout)
	defer cancel()
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: noneShared(),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, claim := range o.allocated {
		for _, result := range claim.Status.Allocation.Devices.Results {
			state.AllocatedDevices.Insert(structured.MakeDeviceID(result.Driver, result.Pool, result.Device))
		}
	}
	cache := cel.NewCache(100, cel.Features{EnableConsumableCapacity: features.ConsumableCapacity})
	allocator := answer.Must(structured.NewAllocator(ctx, features, state, classes(o.classes), asTaken(arranged(o.slices)), cache))
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}}
	allocations, err := allocator.Allocate(ctx, node, o.wanted)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return decision{timedOut, fmt.Sprint("no answer after ", filterTimeout)}
	case stopsNodeOnly(err):
		return decision{stopsNode, "an error on this node: " + err.Error()}
	case err != nil:
		return decision{stopsPod, "an error that stops the pod on all nodes: " + err.Error()}
	case len(allocations) == 0:
		return decision{doesNotFit, "not allocated"}
	}
	var devices []string
	for _, allocation := range allocations {
		for _, result := range allocation.Devices.Results {
			devices = append(devices, result.Device)
		}
	}
	return decision{fits, "allocated: " + strings.Join(devices, ", ")}
}

// classes finds classes by name.
type classes []*resource.DeviceClass

func (c classes) List() ([]*resource.DeviceClass, error) { return c, nil }

func (c classes) Get(name string) (*resource.DeviceClass, error) {
	for _, class := range c {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, fmt.Errorf("there is no class %s", name)
}
