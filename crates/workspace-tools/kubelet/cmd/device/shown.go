package main

// How answers of the manager and of the pod resources service are written.

import (
	"encoding/json"
	"sort"

	podresourcesapi "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"

	"kubelet/internal/release"
)

func hintsOut(h map[string][]topologymanager.TopologyHint) any {
	if h == nil {
		return nil
	}
	out := map[string]any{}
	for r, l := range h {
		if l == nil {
			out[r] = nil
			continue
		}
		xs := []any{}
		for _, x := range l {
			nodes := []int{}
			if x.NUMANodeAffinity != nil {
				nodes = append(nodes, x.NUMANodeAffinity.GetBits()...)
			}
			xs = append(xs, map[string]any{"nodes": nodes, "preferred": x.Preferred})
		}
		out[r] = xs
	}
	return out
}

// optionsOut brings container options into a comparable form.
func optionsOut(o *devicemanager.DeviceRunContainerOptions, ordered bool) any {
	if o == nil {
		return nil
	}
	envs := [][2]string{}
	for _, e := range o.Envs {
		envs = append(envs, [2]string{e.Name, e.Value})
	}
	ann := [][2]string{}
	for _, a := range o.Annotations {
		ann = append(ann, [2]string{a.Name, a.Value})
	}
	devs := [][3]string{}
	for _, d := range o.Devices {
		devs = append(devs, [3]string{d.PathInContainer, d.PathOnHost, d.Permissions})
	}
	mnts := []map[string]any{}
	for _, m := range o.Mounts {
		mnts = append(mnts, map[string]any{"name": m.Name, "container_path": m.ContainerPath, "host_path": m.HostPath, "read_only": m.ReadOnly, "selinux_relabel": m.SELinuxRelabel})
	}
	cdi := []string{}
	for _, c := range o.CDIDevices {
		cdi = append(cdi, c.Name)
	}
	sort.Slice(envs, func(i, j int) bool { return envs[i][0] < envs[j][0] })
	sort.Slice(ann, func(i, j int) bool { return ann[i][0] < ann[j][0] })
	if !ordered {
		sort.SliceStable(devs, func(i, j int) bool { return devs[i][0] < devs[j][0] })
		sort.SliceStable(mnts, func(i, j int) bool { return mnts[i]["container_path"].(string) < mnts[j]["container_path"].(string) })
		sort.Strings(cdi)
	}
	return map[string]any{"envs": envs, "annotations": ann, "devices": devs, "mounts": mnts, "cdi": cdi, "list_order_fixed": ordered}
}

// contDevOut sorts the entries: their order is that of a map walk.
func contDevOut(l []*podresourcesapi.ContainerDevices) any {
	if l == nil {
		return []any{}
	}
	type e struct {
		Resource string   `json:"resource"`
		IDs      []string `json:"ids"`
		Nodes    *[]int64 `json:"nodes"`
	}
	out := []e{}
	for _, d := range l {
		x := e{Resource: d.ResourceName, IDs: d.DeviceIds}
		if d.Topology != nil {
			n := []int64{}
			for _, k := range d.Topology.Nodes {
				n = append(n, k.ID)
			}
			x.Nodes = &n
		}
		out = append(out, x)
	}
	sort.Slice(out, func(i, j int) bool {
		a, _ := json.Marshal(out[i])
		b, _ := json.Marshal(out[j])
		return string(a) < string(b)
	})
	return out
}

func memOut(l []*podresourcesapi.ContainerMemory) any {
	out := []any{}
	for _, m := range l {
		n := []int64{}
		for _, k := range m.Topology.GetNodes() {
			n = append(n, k.ID)
		}
		out = append(out, map[string]any{"type": m.MemoryType, "size": m.Size, "nodes": n})
	}
	return out
}

func podResOut(p *podresourcesapi.PodResources) any {
	cs := []any{}
	for _, c := range p.Containers {
		cs = append(cs, map[string]any{"name": c.Name, "devices": contDevOut(c.Devices), "cpu_ids": c.CpuIds, "memory": memOut(c.Memory)})
	}
	out := map[string]any{"name": p.Name, "namespace": p.Namespace, "containers": cs}
	release.PodResourcesOf(p, func(cpus []int64, memory []*podresourcesapi.ContainerMemory) {
		if cpus != nil {
			out["cpu_ids"] = cpus
		}
		if memory != nil {
			out["memory"] = memOut(memory)
		}
	})
	return out
}
