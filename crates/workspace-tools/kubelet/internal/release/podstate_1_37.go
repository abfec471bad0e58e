//go:build kubelet_1_37

package release

import (
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/allocation/state"
)

// PodsState reads a file of what pods were admitted or run with.
func PodsState(dir, name string) (state.State, error) {
	return state.NewStateCheckpoint(klog.Background(), dir, name)
}
