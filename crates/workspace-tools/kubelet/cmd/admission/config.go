package main

// Cases of configurations: what its validation says, and whether managers can be made with it.

import (
	"sort"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // the kubelet knows this format of logs
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/validation"
	kubeletmetrics "k8s.io/kubernetes/pkg/kubelet/metrics"
	"sigs.k8s.io/yaml"

	"kubelet/internal/gates"
	"kubelet/internal/release"
)

func init() {
	kubeletmetrics.Register()
	// As the kubelet's own program does.
	if err := logsapi.AddFeatureGates(utilfeature.DefaultMutableFeatureGate); err != nil {
		panic(err)
	}
}

// runConfig: YAML -> validation errors, and what building the managers on a machine says.
func runConfig(c *Case) (any, error) {
	text := c.YAML
	if text == "" {
		b, err := yaml.JSONToYAML(c.Config)
		if err != nil {
			return nil, err
		}
		text = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n" + string(b)
	}
	kc, err := decodeConfigText([]byte(text))
	if err != nil {
		return map[string]any{"decodeError": err.Error()}, nil
	}
	if c.DropIn != "" {
		if err := mergeDropIn(kc, c.DropIn); err != nil {
			return map[string]any{"decodeError": err.Error()}, nil
		}
		settle(kc)
	}
	r := map[string]any{}
	// Some checks walk maps: several tries tell whether the order is fixed.
	var orders []string
	var list []string
	for i := 0; i < 8; i++ {
		err := validation.ValidateKubeletConfiguration(kc, utilfeature.DefaultFeatureGate)
		if err == nil {
			break
		}
		agg, ok := err.(utilerrors.Aggregate)
		if !ok {
			r["fatal"], r["ok"] = err.Error(), false
			return r, nil
		}
		list = nil
		for _, e := range agg.Errors() {
			list = append(list, e.Error())
		}
		orders = append(orders, strings.Join(list, "\n"))
	}
	if len(orders) > 0 {
		vary := false
		for _, o := range orders {
			vary = vary || o != orders[0]
		}
		for _, m := range kc.ReservedMemory {
			vary = vary || len(m.Limits) > 1
		}
		if vary && len(list) > 1 {
			sort.Strings(list)
			r["errorsSorted"] = true
		}
		r["errors"], r["ok"] = list, false
		return r, nil
	}
	r["ok"] = true
	r["effective"] = effectiveConfig(kc)
	if c.Machine == "" {
		return r, nil
	}
	mi, err := loadMachine(c.Machine, c.Pages)
	if err != nil {
		return nil, err
	}
	restore, err := gates.SetExactly(kc.FeatureGates)
	defer restore()
	if err != nil {
		r["start"] = err.Error()
		return r, nil
	}
	seen := map[string]bool{}
	for i := 0; i < 12; i++ {
		if err := tryManagers(kc, mi); err != nil {
			seen[err.Error()] = true
		} else {
			seen["ok"] = true
		}
	}
	var l []string
	for k := range seen {
		l = append(l, k)
	}
	sort.Strings(l)
	if len(l) == 1 {
		r["start"] = l[0]
	} else {
		r["startOneOf"] = l
	}
	return r, nil
}

func effectiveConfig(kc *kubeletconfig.KubeletConfiguration) map[string]any {
	return map[string]any{
		"cpuManagerPolicy": kc.CPUManagerPolicy, "cpuManagerPolicyOptions": kc.CPUManagerPolicyOptions,
		"cpuManagerReconcilePeriod": kc.CPUManagerReconcilePeriod.Duration.String(),
		"memoryManagerPolicy":       kc.MemoryManagerPolicy, "topologyManagerPolicy": kc.TopologyManagerPolicy,
		"topologyManagerScope": kc.TopologyManagerScope, "topologyManagerPolicyOptions": kc.TopologyManagerPolicyOptions,
		"reservedSystemCPUs": kc.ReservedSystemCPUs, "enforceNodeAllocatable": kc.EnforceNodeAllocatable,
		"evictionHard": kc.EvictionHard, "maxPods": kc.MaxPods, "podsPerCore": kc.PodsPerCore,
		"cgroupsPerQOS": kc.CgroupsPerQOS, "kubeReserved": kc.KubeReserved, "systemReserved": kc.SystemReserved,
	}
}

// tryManagers is the part of the container manager's creation and start that a configuration can fail.
func tryManagers(kc *kubeletconfig.KubeletConfiguration, mi *release.MachineInfo) error {
	nac, err := newNodeAllocatable(kc, mi)
	if err != nil {
		return err
	}
	tm, err := release.NewTopologyManager(mi.Topology, kc.TopologyManagerPolicy, kc.TopologyManagerScope, kc.TopologyManagerPolicyOptions)
	if err != nil {
		return err
	}
	dir := newDir()
	if _, err := release.NewCPUManager(kc.CPUManagerPolicy, kc.CPUManagerPolicyOptions, 0, mi, nac.reservedCPUs, nac.reservation(), dir, tm.Manager); err != nil {
		return err
	}
	if _, err := release.NewMemoryManager(kc.MemoryManagerPolicy, mi, nac.reservation(), kc.ReservedMemory, dir, tm.Manager); err != nil {
		return err
	}
	nac.addEphemeral(100 << 30)
	return nac.validate()
}
