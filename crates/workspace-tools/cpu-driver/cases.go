package main

import (
	"encoding/json"
	"math/rand/v2"

	"github.com/kubernetes-sigs/dra-driver-cpu/pkg/cpuinfo"
	"k8s.io/utils/cpuset"
)

// Line is a case with its answer.
type Line struct {
	Id     string  `json:"id"`
	Case   Case    `json:"case"`
	Result *Result `json:"result,omitempty"`
}

// Case is a driver on a machine, and what it is asked in order.
type Case struct {
	// Shape: sockets, NUMA nodes a socket, cores a node, threads a core, cores a last-level cache.
	Shape [5]int `json:"shape"`
	// Numbering of CPUs: "far", all first threads before all second ones; "near", the threads of a core side by side; "turns", as
	// "far" with the sockets taking turns.
	Numbering string `json:"numbering"`
	// Cores are numbered "socket", in each socket anew; "machine", once; "gaps", in each socket anew with gaps.
	Cores string `json:"cores"`
	// CPUs that are offline, and those that are reserved.
	Offline  string `json:"offline,omitempty"`
	Reserved string `json:"reserved,omitempty"`
	// Mode: "numanode" and "socket" in groups, or "individual".
	Mode  string `json:"mode"`
	Steps []Step `json:"steps"`
}

// Step is a claim that is prepared, or the number of an earlier step whose claim is unprepared.
type Step struct {
	Take []Taken `json:"take,omitempty"`
	End  *int    `json:"end,omitempty"`
}

// Taken is a device, named without `cpudev`, and how many CPUs are taken of it, as a list of the two; 0 for a device that is a CPU.
type Taken struct {
	Device string
	Cpus   int64
}

// MarshalJSON writes the list.
func (t Taken) MarshalJSON() ([]byte, error) { return json.Marshal([]any{t.Device, t.Cpus}) }

// UnmarshalJSON reads it.
func (t *Taken) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&t.Device, &t.Cpus})
}

// Result is what the driver publishes and gives.
type Result struct {
	// Published in groups: name, socket, NUMA node or -1, CPUs.
	Groups [][4]any `json:"groups,omitempty"`
	// Published CPU by CPU: the CPUs in the order of devices.
	Order string `json:"order,omitempty"`
	// Sums over these devices, each with its place: socket, NUMA node, core and cache, so that each value is compared.
	Sums *[4]int64 `json:"sums,omitempty"`
	// Smt is what each device says.
	Smt bool `json:"smt"`
	// Steps: the CPUs that a claim gets, or the error; nothing where a claim is unprepared.
	Steps []string `json:"steps"`
}

// The CPUs of a case that are online, by id.
func (c Case) infos() []cpuinfo.CPUInfo {
	sockets, nodes, cores, threads, perCache := c.Shape[0], c.Shape[1], c.Shape[2], c.Shape[3], c.Shape[4]
	perSocket := nodes * cores
	all := sockets * perSocket
	offline, err := cpuset.Parse(c.Offline)
	if err != nil {
		fatal(err)
	}
	caches := (cores + perCache - 1) / perCache
	var infos []cpuinfo.CPUInfo
	for thread := range threads {
		for core := range all {
			socket, inSocket := core/perSocket, core%perSocket
			cpu := thread*all + core
			switch c.Numbering {
			case "near":
				cpu = core*threads + thread
			case "turns":
				cpu = thread*all + inSocket*sockets + socket
			}
			if offline.Contains(cpu) {
				continue
			}
			node := socket*nodes + inSocket/cores
			id := inSocket
			switch c.Cores {
			case "machine":
				id = core
			case "gaps":
				id = inSocket + inSocket/3*5
			}
			infos = append(infos, cpuinfo.CPUInfo{
				CpuID:         cpu,
				CoreID:        id,
				SocketID:      socket,
				ClusterID:     -1,
				NUMANodeID:    node,
				SiblingCPUID:  -1,
				CoreType:      cpuinfo.CoreTypeStandard,
				UncoreCacheID: node*caches + inSocket%cores/perCache,
			})
		}
	}
	return infos
}

// A case of a family, drawn by its number.
func draw(seed uint64, number int) Case {
	r := rand.New(rand.NewPCG(seed, uint64(number)))
	pick := func(of ...int) int { return of[r.IntN(len(of))] }
	word := func(of ...string) string { return of[r.IntN(len(of))] }
	drawn := Case{
		Shape:     [5]int{pick(1, 2, 2, 2, 4), pick(1, 1, 2, 4), pick(2, 3, 4, 6, 8), pick(1, 2, 2), 0},
		Numbering: word("far", "near", "turns"),
		Cores:     word("socket", "socket", "machine", "gaps"),
		Mode:      []string{"numanode", "socket", "individual"}[number%3],
	}
	if drawn.Mode == "individual" {
		// The order of all CPUs is recorded.
		drawn.Shape[0], drawn.Shape[1] = min(drawn.Shape[0], 2), min(drawn.Shape[1], 2)
	}
	drawn.Shape[4] = pick(1, 2, 4, drawn.Shape[2], drawn.Shape[2])
	cpus := len(drawn.infos())
	some := func(most int) string {
		var set []int
		for range r.IntN(most + 1) {
			set = append(set, r.IntN(cpus))
		}
		return cpuset.New(set...).String()
	}
	if r.IntN(4) == 0 {
		drawn.Offline = some(3)
	}
	if r.IntN(2) == 0 {
		drawn.Reserved = some(4)
	}
	drawn.Steps = steps(r, drawn)
	return drawn
}

// Claims for devices that the driver publishes, as kube-scheduler would allocate them; now and then more than there is.
func steps(r *rand.Rand, drawn Case) []Step {
	driver := newDriver(drawn)
	var left []Taken
	for _, device := range driver.published() {
		left = append(left, Taken{Device: short(device.Name), Cpus: capacity(device)})
	}
	steps := []Step{}
	var open []int
	for range 3 + r.IntN(8) {
		if len(open) > 0 && r.IntN(4) == 0 {
			at := r.IntN(len(open))
			ended := open[at]
			open = append(open[:at], open[at+1:]...)
			for _, back := range steps[ended].Take {
				for place := range left {
					if left[place].Device == back.Device {
						left[place].Cpus += max(back.Cpus, 1)
					}
				}
			}
			steps = append(steps, Step{End: &ended})
			continue
		}
		var claim Step
		wanted := 1 + r.IntN(3)
		if drawn.Mode == "individual" {
			wanted = 1 + r.IntN(8)
		}
		for place := range left {
			own := &left[place]
			if wanted == 0 || own.Cpus <= 0 || r.IntN(3) == 0 {
				continue
			}
			wanted--
			if drawn.Mode == "individual" {
				own.Cpus = 0
				claim.Take = append(claim.Take, Taken{Device: own.Device})
				continue
			}
			count := 1 + r.Int64N(own.Cpus)
			if r.IntN(3) > 0 {
				count = min(count, 1+r.Int64N(4))
			}
			own.Cpus -= count
			// kube-scheduler counts on what is published alone.
			if r.IntN(20) == 0 {
				count += 2
			}
			claim.Take = append(claim.Take, Taken{Device: own.Device, Cpus: count})
		}
		if len(claim.Take) > 0 {
			open = append(open, len(steps))
			steps = append(steps, claim)
		}
	}
	return steps
}
