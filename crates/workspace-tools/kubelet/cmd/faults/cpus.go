package main

// Faults of the CPU manager.

import (
	"os"
	"strings"

	cpustate "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/utils/cpuset"

	"kubelet/internal/answer"
	"kubelet/internal/gates"
	"kubelet/internal/pods"
	"kubelet/internal/release"
	"kubelet/internal/reproduction"
	"kubelet/internal/scratch"
)

// folder is a kubelet's root folder.
func folder() (dir string, remove func()) {
	dir = scratch.Folder("faults-")
	return dir, func() { _ = os.RemoveAll(dir) }
}

// shortened is an error without the folder and without what the kubelet advises.
func shortened(err error, dir string) string {
	text, _, _ := strings.Cut(scratch.Hide(err.Error(), dir, "DIR"), ", please drain")
	return text
}

// distributeHang asks for 22 of 28 free CPUs on four NUMA nodes, each with three free cores and half a core.
func distributeHang() reproduction.Verdict {
	options := map[string]string{"distribute-cpus-across-numa": "true", "full-pcpus-only": "true"}
	info := machine(pairs(0, 4), pairs(8, 4), pairs(16, 4), pairs(24, 4))
	var got cpuset.CPUSet
	for _, cpus := range []int{24, 22} {
		dir, remove := folder()
		defer remove()
		m := freshCPUs(info, options, "0,8,16,24", dir)
		pod := guaranteed("pod", cpus)
		must(allocate(m, pod))
		got = held(m, pod)
		reproduction.Note("%d CPUs: %s", cpus, got)
	}
	return reproduction.Sound("22 CPUs: %s", got)
}

// killed is a state whose process is killed before one of its writes.
type killed struct {
	cpustate.State
	atDefault bool
}

type kill struct{}

func (k killed) SetDefaultCPUSet(cpus cpuset.CPUSet) {
	if k.atDefault {
		panic(kill{})
	}
	k.State.SetDefaultCPUSet(cpus)
}

func (k killed) SetCPUSet(uid, name string, cpus cpuset.CPUSet) {
	if !k.atDefault {
		panic(kill{})
	}
	k.State.SetCPUSet(uid, name, cpus)
}

// untilKilled runs f until the state ends it, and says whether it did.
func untilKilled(f func()) (ended bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(kill); !ok {
				panic(r)
			}
			ended = true
		}
	}()
	f()
	return false
}

// killedBetweenWrites kills a kubelet between the two writes of an allocation, and of a release, and starts it again.
func killedBetweenWrites() reproduction.Verdict {
	info := machine(pairs(0, 4))
	topo := answer.Must(release.Discover(info))
	policy := answer.Must(release.NewCPUPolicy(topo, 1, cpuset.New(0), release.AsStore(store{}), nil))
	pod := guaranteed("pod", 2)
	var seen []string
	for _, what := range []string{"allocates", "releases"} {
		dir, remove := folder()
		defer remove()
		state := answer.Must(release.OpenCPUState(dir, "cpu_manager_state", "static"))
		must(policy.Start(release.Quiet, state))
		atRelease := what == "releases"
		if atRelease {
			must(policy.Allocate(release.Quiet, state, pod, &pod.Spec.Containers[0]))
		}
		ended := untilKilled(func() {
			if atRelease {
				must(policy.RemoveContainer(release.Quiet, killed{state, true}, "pod", "app"))
			} else {
				must(policy.Allocate(release.Quiet, killed{state, false}, pod, &pod.Spec.Containers[0]))
			}
		})
		if !ended {
			answer.Unusablef("the kubelet %s CPUs without a second write", what)
		}
		if _, err := startCPUs(info, nil, "0", dir); err != nil {
			seen = append(seen, "killed while it "+what+": "+shortened(err, dir))
		}
	}
	if len(seen) > 0 {
		return reproduction.Fault("%s", strings.Join(seen, "; "))
	}
	return reproduction.Sound("the kubelet starts after both kills")
}

// fullNode restarts a kubelet whose pods hold every CPU that is not reserved.
func fullNode() reproduction.Verdict {
	dir, remove := folder()
	defer remove()
	options := map[string]string{"strict-cpu-reservation": "true"}
	info := machine(pairs(0, 4))
	m := freshCPUs(info, options, "0-1", dir)
	pod := guaranteed("pod", 6)
	must(allocate(m, pod))
	cpus := held(m, pod)
	if _, err := startCPUs(info, options, "0-1", dir); err != nil {
		return reproduction.Fault("a pod holds %s; the restart: %s", cpus, shortened(err, dir))
	}
	return reproduction.Sound("a pod holds %s; the kubelet restarts", cpus)
}

// smtAfterRestart restarts a kubelet and admits the pod that has run throughout.
func smtAfterRestart() reproduction.Verdict {
	dir, remove := folder()
	defer remove()
	options := map[string]string{"full-pcpus-only": "true"}
	info := machine(pairs(0, 4))
	pod := guaranteed("pod", 4)
	m := freshCPUs(info, options, "0-1", dir)
	must(allocate(m, pod))
	cpus := held(m, pod)
	m = answer.Must(startCPUs(info, options, "0-1", dir))
	if err := allocate(m, pod); err != nil {
		return reproduction.Fault("a running pod holds %s; admitted again after the restart: %v", cpus, err)
	}
	return reproduction.Sound("a running pod keeps %s after the restart", cpus)
}

// podCPUsLost admits a pod with pod-level CPUs again after a restart, and restarts once more.
func podCPUsLost() reproduction.Verdict {
	if !release.HasPodLevel {
		return reproduction.Absent("no gate %s", gates.PodLevelManagers)
	}
	gates.Set(map[string]bool{gates.PodLevelManagers: true})
	dir, remove := folder()
	defer remove()
	info := machine(pairs(0, 8))
	both := pods.Amounts{"cpu": "4", "memory": "2Gi"}
	one := pods.Amounts{"cpu": "2", "memory": "1Gi"}
	pod := (&pods.Pod{UID: "pod", Resources: &pods.Resources{Requests: both, Limits: both},
		App: []pods.Container{{Name: "app", Both: one}, {Name: "helper"}}}).Named()
	var took []string
	for range 2 {
		m, err := startCPUs(info, nil, "0", dir)
		must(err)
		must(m.AllocatePod(pod))
		took = append(took, release.PodCPUs(m.State())["pod"].String())
	}
	if _, err := startCPUs(info, nil, "0", dir); err != nil {
		return reproduction.Fault("the pod has CPUs %s, after a restart %s; the next restart: %s", took[0], took[1], shortened(err, dir))
	}
	if took[0] != took[1] {
		return reproduction.Fault("the pod has CPUs %s, after a restart %s", took[0], took[1])
	}
	return reproduction.Sound("the pod keeps CPUs %s", took[0])
}

// busySibling allocates on a machine with one core of two CPUs, of which one is reserved, and cores of one CPU.
func busySibling() reproduction.Verdict {
	dir, remove := folder()
	defer remove()
	m := freshCPUs(machine([][]int{{0, 1}, {2}, {3}, {4}}), nil, "0", dir)
	pod := guaranteed("pod", 2)
	must(allocate(m, pod))
	if cpus := held(m, pod); cpus.Contains(0) {
		return reproduction.Fault("CPU 0 is reserved, 1-4 are free; a pod that asks for 2 CPUs gets %s exclusively", cpus)
	} else {
		return reproduction.Sound("a pod that asks for 2 CPUs gets %s", cpus)
	}
}
