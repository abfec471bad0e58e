package main

// Faults of the device manager, with the kubelet's own device plugin for tests.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"

	"kubelet/internal/answer"
	"kubelet/internal/pods"
	"kubelet/internal/release"
	"kubelet/internal/reproduction"
)

const gpu = "example.com/gpu"

// active are the pods of the node.
type active struct{ pods []*v1.Pod }

func (a *active) all() []*v1.Pod { return a.pods }

// ready is a kubelet that knows all its pods.
type ready struct{}

func (ready) AddSource(string) {}
func (ready) AllReady() bool   { return true }

// devicesOf is a device manager in a folder.
func devicesOf(dir string, node *active) release.DeviceManager {
	m := answer.Must(release.NewDeviceManagerAt(filepath.Join(dir, "kubelet.sock"), []release.Node{{Id: 0}}, release.AsStore(store{})))
	must(m.Start(release.Quiet, node.all, ready{}, containermap.NewContainerMap(), sets.New[string]()))
	return m
}

// plugin is a running plugin with so many healthy devices, not yet registered.
func plugin(dir, name string, count int) release.Stub {
	var devices []*pluginapi.Device
	for id := range count {
		devices = append(devices, &pluginapi.Device{ID: fmt.Sprintf("gpu-%d", id), Health: pluginapi.Healthy})
	}
	stub := release.NewStub(devices, filepath.Join(dir, name+".sock"), gpu, false)
	must(stub.Start(release.Context))
	return stub
}

// allocatable waits until the manager has this many devices, for at most three seconds, and gives how many it has.
func allocatable(m release.DeviceManager, want int64) int64 {
	for end := time.Now().Add(3 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		_, devices, _ := m.GetCapacity()
		amount := devices[gpu]
		if amount.Value() == want || time.Now().After(end) {
			return amount.Value()
		}
	}
}

func register(stub release.Stub, dir string) error {
	return stub.Register(release.Context, filepath.Join(dir, "kubelet.sock"), gpu, dir)
}

func withGPU(name string) *v1.Pod {
	return (&pods.Pod{UID: name, App: []pods.Container{{Name: "app", Both: pods.Amounts{gpu: "1"}}}}).Named()
}

// blockedDevices lets a plugin answer one allocation without a response for the container, and then asks for another pod.
func blockedDevices() reproduction.Verdict {
	dir, remove := folder()
	defer remove()
	node := &active{}
	m := devicesOf(dir, node)
	stub := plugin(dir, "gpu", 1)
	broken := true
	stub.SetAllocFunc(func(_ *pluginapi.AllocateRequest, _ map[string]*pluginapi.Device) (*pluginapi.AllocateResponse, error) {
		if broken {
			return &pluginapi.AllocateResponse{}, nil
		}
		return &pluginapi.AllocateResponse{ContainerResponses: []*pluginapi.ContainerAllocateResponse{{}}}, nil
	})
	must(register(stub, dir))
	if count := allocatable(m, 1); count != 1 {
		answer.Unusablef("%d devices", count)
	}
	first, second := withGPU("first"), withGPU("second")
	node.pods = []*v1.Pod{first}
	refused := allocate(m, first)
	if refused == nil {
		answer.Unusablef("a pod was served without a response")
	}
	broken = false
	node.pods = []*v1.Pod{second} // the first pod has failed and is gone
	if err := allocate(m, second); err != nil {
		return reproduction.Fault("the first pod is refused (%s) and gone; the next: %v", strings.TrimSpace(refused.Error()), err)
	}
	return reproduction.Sound("the first pod is refused, the next gets the device")
}

// replacedPlugin lets a newer plugin register for a resource on another socket, and ends the older one.
func replacedPlugin() reproduction.Verdict {
	dir, remove := folder()
	defer remove()
	m := devicesOf(dir, &active{})
	older, newer := plugin(dir, "older", 1), plugin(dir, "newer", 2)
	must(register(older, dir))
	if count := allocatable(m, 1); count != 1 {
		answer.Unusablef("%d devices of the older plugin", count)
	}
	must(register(newer, dir))
	if count := allocatable(m, 2); count != 2 {
		answer.Unusablef("%d devices of the newer plugin", count)
	}
	must(older.Stop(release.Quiet))
	if count := allocatable(m, 0); count != 2 {
		return reproduction.Fault("the newer plugin serves; after the older one ends, %d of its 2 devices are allocatable", count)
	}
	return reproduction.Sound("the devices of the newer plugin stay allocatable after the older one ends")
}

// openFiles counts the open file descriptors of this process.
func openFiles() int { return len(answer.Must(os.ReadDir("/proc/self/fd"))) }

// settled counts them once their number has stayed the same for a second, or after ten seconds.
func settled() int {
	count, since := openFiles(), time.Now()
	for end := since.Add(10 * time.Second); time.Since(since) < time.Second && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		if now := openFiles(); now != count {
			count, since = now, time.Now()
		}
	}
	return count
}

// openConnections registers one running plugin twenty times more.
func openConnections() reproduction.Verdict {
	dir, remove := folder()
	defer remove()
	m := devicesOf(dir, &active{})
	stub := plugin(dir, "gpu", 1)
	must(register(stub, dir))
	if count := allocatable(m, 1); count != 1 {
		answer.Unusablef("%d devices", count)
	}
	before := settled()
	for range 20 {
		if err := register(stub, dir); err != nil { // the plugin has stopped its server
			return reproduction.Sound("a plugin registers again; the kubelet refuses: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	// Both ends of a connection are in this process.
	if grown := (settled() - before) / 2; grown > 0 {
		return reproduction.Fault("a plugin registers 20 times more; %d connections more are open", grown)
	}
	return reproduction.Sound("a plugin registers 20 times more; no connection more is open")
}
