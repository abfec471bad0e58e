package main

// What a case holds, and how its configuration and its pods are read.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	kubeletscheme "k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	"k8s.io/kubernetes/pkg/kubelet/kubeletconfig/util/codec"

	"kubelet/internal/machines"
	"kubelet/internal/release"
)

// Case is one input line. Kind decides which fields count.
type Case struct {
	Kind    string               `json:"kind"`
	Machine string               `json:"machine,omitempty"`
	Pages   []machines.HugePages `json:"hugepages,omitempty"` // replaces the huge pages of the machine
	RootFS  string               `json:"rootfs,omitempty"`    // ephemeral storage capacity, default 100Gi
	Config  json.RawMessage      `json:"config,omitempty"`    // KubeletConfiguration as JSON
	YAML    string               `json:"yaml,omitempty"`      // KubeletConfiguration as YAML text (kind config)
	DropIn  string               `json:"dropIn,omitempty"`    // a file of the drop-in folder beside it (kind config)
	Devices []ResourceDevs       `json:"devices,omitempty"`
	Steps   []Step               `json:"steps,omitempty"`
	Pod     json.RawMessage      `json:"pod,omitempty"` // kind effective
	Note    string               `json:"note,omitempty"`
}

// Line is a case with its answer.
type Line struct {
	ID       any            `json:"id"`
	Case     *Case          `json:"case,omitempty"`
	Result   any            `json:"result,omitempty"`
	Unstable map[string]any `json:"unstable,omitempty"`
	Panic    string         `json:"panic,omitempty"`
	Error    string         `json:"error,omitempty"`
}

// Step is one thing that happens.
type Step struct {
	Op        string          `json:"op"` // add, remove, restartContainer, restart, devices, unplug
	Pod       json.RawMessage `json:"pod,omitempty"`
	Name      string          `json:"name,omitempty"`      // remove, restartContainer: pod name
	Container string          `json:"container,omitempty"` // restartContainer
	Lazy      bool            `json:"lazy,omitempty"`      // remove: show the state before anything is collected
	Running   bool            `json:"running,omitempty"`   // restart: the containers kept running
	Plugins   string          `json:"plugins,omitempty"`   // restart: before, after (default), never
	Config    json.RawMessage `json:"config,omitempty"`    // restart: new configuration
	Resource  string          `json:"resource,omitempty"`  // devices, unplug
	Devices   []Device        `json:"devices,omitempty"`   // devices: new device list
}

// decodeConfigText decodes and defaults a KubeletConfiguration as the kubelet does with its file.
func decodeConfigText(data []byte) (*kubeletconfig.KubeletConfiguration, error) {
	_, codecs, err := kubeletscheme.NewSchemeAndCodecs()
	if err != nil {
		return nil, err
	}
	kc, err := codec.DecodeKubeletConfiguration(context.Background(), codecs, data)
	if err != nil {
		return nil, err
	}
	settle(kc)
	return kc, nil
}

// settle does what the kubelet does with a configuration once all of it is there.
func settle(kc *kubeletconfig.KubeletConfiguration) {
	if kc.EvictionHard == nil {
		kc.EvictionHard = copyMap(eviction.DefaultEvictionHard)
	} else if kc.MergeDefaultEvictionSettings {
		for k, v := range eviction.DefaultEvictionHard {
			if _, ok := kc.EvictionHard[k]; !ok {
				kc.EvictionHard[k] = v
			}
		}
	}
	// The machine this runs on does not matter.
	kc.FailCgroupV1 = false
}

func decodeConfig(raw json.RawMessage) (*kubeletconfig.KubeletConfiguration, error) {
	m := map[string]any{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, err
		}
	}
	m["apiVersion"], m["kind"] = "kubelet.config.k8s.io/v1beta1", "KubeletConfiguration"
	b, _ := json.Marshal(m)
	return decodeConfigText(b)
}

func copyMap(m map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

func decodePod(raw json.RawMessage) (*v1.Pod, error) {
	pod := &v1.Pod{}
	if err := json.Unmarshal(raw, pod); err != nil {
		return nil, err
	}
	if pod.Namespace == "" {
		pod.Namespace = "default"
	}
	if pod.UID == "" {
		pod.UID = types.UID(pod.Name)
	}
	return pod, release.Default(pod)
}

func loadMachine(name string, pages []machines.HugePages) (*release.MachineInfo, error) {
	machine, err := machines.Read(name)
	if err == nil {
		machines.SetHugePages(machine, pages)
	}
	return machine, err
}

var dirSerial int

func newDir() string {
	dirSerial++
	d := fmt.Sprintf("/var/lib/kubelet/oracle-%d-%d", os.Getpid(), dirSerial)
	_ = os.MkdirAll(d, 0o755)
	return d
}
