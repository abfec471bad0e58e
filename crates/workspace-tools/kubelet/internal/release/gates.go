//go:build !kubelet_1_34

package release

// Gates that build on others.

import utilfeature "k8s.io/apiserver/pkg/util/feature"

// GateDependencies are the gates that each gate builds on.
func GateDependencies() map[string][]string {
	out := map[string][]string{}
	for gate, needs := range utilfeature.DefaultMutableFeatureGate.Dependencies() {
		for _, needed := range needs {
			out[string(gate)] = append(out[string(gate)], string(needed))
		}
	}
	return out
}
