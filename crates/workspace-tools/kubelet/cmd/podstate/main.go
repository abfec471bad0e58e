// podstate prints what the kubelet makes of files allocated_pods_state and actuated_pods_state, one a line:
// fixtures/state/kubelet-pods-state.jsonl has the answers of every release.
package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/kubernetes/pkg/kubelet/checkpointmanager/checksum"

	"kubelet/internal/release"
)

func main() {
	wrap := func(data string) string {
		s, _ := json.Marshal(map[string]any{"data": data, "checksum": uint64(checksum.New(data))})
		return string(s)
	}
	data := `{"entries":{"00000000-0000-4000-8000-000000000001":{"ContainerResources":{"c":{"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"2","memory":"1Gi"}}},"PodLevelResources":null}}}`
	cases := []string{
		"", "{", "{}", "null", `[]`,
		`{"data":"{\"entries\":{}}","checksum":1}"}`,
		`{"data":"{\"entries\":{}}","checksum":1}`,
		`{"data":"","checksum":0}`,
		`{"data":"{}"}`,
		`{"data":1,"checksum":1}`,
		`{"data":"{}","checksum":"1"}`,
		`{"data":"{}","checksum":-1}`,
		wrap(""), wrap("{}"), wrap("null"), wrap("[]"), wrap("{"), wrap(`{"entries":null}`), wrap(`{"entries":[]}`), wrap(`{"entries":{"u":[]}}`),
		wrap(data), wrap(data)[:60],
		wrap(`{"entries":{"u":{"ContainerResources":{"c":{"requests":{"cpu":"x"}}}}}}`),
		wrap(`{"entries":{"u":{"ContainerResources":{"c":{"requests":{"cpu":2}}}}}}`),
		wrap(`{"entries":{"u":{"ContainerResources":{"c":{"requests":{"cpu":null}}}}}}`),
		wrap(`{"entries":{"u":{"ContainerResources":{"c":{"requests":{"cpu":""}}}}}}`),
		wrap(`{"entries":{"u":{"ContainerResources":{"c":{"requests":{"cpu":true}}}}}}`),
		wrap(`{"entries":{"u":{"ContainerResources":{"c":{"requests":{"cpu":{}}}}}}}`),
		wrap(`{"entries":{"u":{"ContainerResources":{"c":{"requests":"1"}}}}}`),
		wrap(`{"entries":{"u":{"ContainerResources":{"c":{"requests":{"cpu":"1Gx"}}}}}}`),
		wrap(`{"entries":{"u":{"containerresources":{"c":{"limits":{"cpu":"1"}}},"New":{"x":[1]}}},"more":1}`),
		`{"data":"{}","checksum":1234,"new":true}`,
		func() string {
			s, _ := json.Marshal(map[string]any{"data": "{}", "checksum": uint64(checksum.New("{}")), "new": 1})
			return string(s)
		}(),
		wrap(`{"entries":{"u":{"PodLevelResources":{"requests":{"cpu":"x"}}}}}`),
		wrap(`{"entries":{"u":{"EmptyDirVolumeLimits":{"v":"x"}}}}`),
	}
	enc := json.NewEncoder(os.Stdout)
	enc.SetEscapeHTML(false)
	dir, err := os.MkdirTemp("", "podstate")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for _, text := range cases {
		if err := os.WriteFile(filepath.Join(dir, "allocated_pods_state"), []byte(text), 0600); err != nil {
			panic(err)
		}
		out := map[string]any{"file": text}
		if pods, err := release.PodsState(dir, "allocated_pods_state"); err != nil {
			out["error"] = strings.ReplaceAll(err.Error(), dir, "/var/lib/kubelet")
		} else {
			out["pods"] = pods
		}
		if err := enc.Encode(out); err != nil {
			panic(err)
		}
	}
}
