// The allocator of kube-scheduler, timed on claims that are read from stdin: one description a line, one measurement a
// line of output. It has the time that kube-scheduler gives it for a pod and a node, and what is not answered then is
// reported as over.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sort"
	"time"

	v1 "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// Work is a node with devices, and claims for them.
type Work struct {
	Name    string                    `json:"name"`
	Node    string                    `json:"node"`
	Classes []*resource.DeviceClass   `json:"classes"`
	Slices  []*resource.ResourceSlice `json:"slices"`
	Claims  []*resource.ResourceClaim `json:"claims"`
	Fits    bool                      `json:"fits"`
}

// Timed is what came of it.
type Timed struct {
	Name   string `json:"name"`
	Ns     int64  `json:"ns_per_op,omitempty"`
	OverNs int64  `json:"over_ns,omitempty"`
	Error  string `json:"error,omitempty"`
}

func main() {
	limit := flag.Duration("limit", 10*time.Second, "ends a search, as kube-scheduler does")
	each := flag.Duration("each", time.Second, "repeats for so long")
	flag.Parse()
	// What kube-scheduler 1.37.2 has without flags.
	features := structured.Features{
		AdminAccess:            true,
		ConsumableCapacity:     true,
		DeviceBindingAndStatus: true,
		DeviceTaints:           true,
		PartitionableDevices:   true,
		PrioritizedList:        true,
	}
	cache := cel.NewCache(1000, cel.Features{EnableConsumableCapacity: true})
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var work Work
			timed := Timed{}
			if err := json.Unmarshal(line, &work); err != nil {
				timed.Error = err.Error()
			} else {
				timed = measure(&work, features, cache, *limit, *each)
			}
			if err := json.NewEncoder(os.Stdout).Encode(timed); err != nil {
				fatal(err)
			}
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			fatal(err)
		}
	}
}

// The median of as many repetitions as fit in a time, at least one. Expressions are compiled before.
func measure(work *Work, features structured.Features, cache *cel.Cache, limit, each time.Duration) Timed {
	timed := Timed{Name: work.Name}
	var times []time.Duration
	for begun := time.Now(); len(times) == 0 || time.Since(begun) < each; {
		took, fits, err := once(work, features, cache, limit)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			timed.OverNs = took.Nanoseconds()
			return timed
		case err != nil:
			timed.Error = err.Error()
			return timed
		case fits != work.Fits:
			timed.Error = fmt.Sprintf("the claims fit: %t", fits)
			return timed
		}
		// The first one compiles expressions, unless it takes all the time anyway.
		if len(times) > 0 || took > each {
			times = append(times, took)
		} else {
			times = append(times, limit)
		}
	}
	if len(times) > 1 && times[0] == limit {
		times = times[1:]
	}
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	timed.Ns = times[len(times)/2].Nanoseconds()
	return timed
}

// One pod on one node: pools, claims and search, as kube-scheduler does it in its filter.
func once(work *Work, features structured.Features, cache *cel.Cache, limit time.Duration) (time.Duration, bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: work.Node}}
	classes := classes{}
	for _, class := range work.Classes {
		classes[class.Name] = class
	}
	nothing := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	started := time.Now()
	allocator, err := structured.NewAllocator(ctx, features, nothing, classes, work.Slices, cache)
	if err != nil {
		return 0, false, err
	}
	allocations, err := allocator.Allocate(ctx, node, work.Claims)
	return time.Since(started), len(allocations) > 0, err
}

// The classes by name.
type classes map[string]*resource.DeviceClass

func (c classes) List() ([]*resource.DeviceClass, error) {
	all := make([]*resource.DeviceClass, 0, len(c))
	for _, class := range c {
		all = append(all, class)
	}
	return all, nil
}

func (c classes) Get(name string) (*resource.DeviceClass, error) {
	if class, ok := c[name]; ok {
		return class, nil
	}
	return nil, fmt.Errorf("there is no class %s", name)
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "allocator:", err)
	os.Exit(1)
}
