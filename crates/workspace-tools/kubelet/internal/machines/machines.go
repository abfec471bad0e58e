// Package machines gives the machines that cases name, as cAdvisor reports them.
//
// This file finds a machine by its name. The files of captured ones lie in the
// folder that ADMISSION_MACHINES names, or below the one that a program runs in.
package machines

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"
	"k8s.io/utils/cpuset"

	"kubelet/internal/answer"
	"kubelet/internal/release"
)

var (
	folders = []string{os.Getenv("ADMISSION_MACHINES"), "machineinfo", "admission-machines"}
	texts   = map[string][]byte{}
	infos   = map[string]*release.MachineInfo{}
	topos   = map[string]*topology.CPUTopology{}
)

// Read gives a captured machine, a new value each time.
func Read(name string) (*release.MachineInfo, error) {
	text, ok := texts[name]
	for _, folder := range folders {
		if ok {
			break
		}
		read, err := os.ReadFile(filepath.Join(folder, name+".json"))
		if ok = err == nil; ok {
			text, texts[name] = read, read
		}
	}
	if !ok {
		return nil, fmt.Errorf("no machine %q", name)
	}
	machine := &release.MachineInfo{}
	if err := json.Unmarshal(text, machine); err != nil {
		return nil, fmt.Errorf("machine %q: %w", name, err)
	}
	return machine, nil
}

// Named gives a captured machine, a small one, or one of them with CPUs offline: name~off=0-3.
func Named(name string) *release.MachineInfo {
	if machine, ok := infos[name]; ok {
		return machine
	}
	var machine *release.MachineInfo
	if base, off, ok := strings.Cut(name, "~off="); ok {
		machine = without(Named(base), answer.Must(cpuset.Parse(off)))
	} else if strings.HasPrefix(name, "mini-") {
		machine = mini(name)
	} else {
		machine = answer.Must(Read(name))
	}
	infos[name] = machine
	return machine
}

// CPUs gives a machine as the CPU manager sees it.
func CPUs(name string) *topology.CPUTopology {
	if topo, ok := topos[name]; ok {
		return topo
	}
	topo, err := release.Discover(Named(name))
	if err != nil {
		answer.Unusablef("discover %s: %v", name, err)
	}
	topos[name] = topo
	return topo
}

// HugePages are the pages of one size on one node.
type HugePages struct {
	Node   int    `json:"node"`
	SizeKi uint64 `json:"sizeKi"`
	Pages  uint64 `json:"pages"`
}

// SetHugePages replaces the huge pages of a machine; nil leaves them.
func SetHugePages(machine *release.MachineInfo, pages []HugePages) {
	if pages == nil {
		return
	}
	total := map[uint64]uint64{}
	for i := range machine.Topology {
		node := &machine.Topology[i]
		node.HugePages = nil
		for _, p := range pages {
			if p.Node == node.Id {
				node.HugePages = append(node.HugePages, release.HugePagesInfo{PageSize: p.SizeKi, NumPages: p.Pages})
				total[p.SizeKi] += p.Pages
			}
		}
	}
	machine.HugePages = nil
	var sizes []uint64
	for size := range total {
		sizes = append(sizes, size)
	}
	sort.Slice(sizes, func(i, j int) bool { return sizes[i] < sizes[j] })
	for _, size := range sizes {
		machine.HugePages = append(machine.HugePages, release.HugePagesInfo{PageSize: size, NumPages: total[size]})
	}
}
