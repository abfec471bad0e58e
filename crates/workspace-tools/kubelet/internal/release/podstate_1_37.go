//go:build kubelet_1_37

package release

import (
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/allocation/state"
)

// PodsState reads a file of what pods were admitted or run with, and counts its pods.
func PodsState(dir, name string) (int, error) {
	pods, err := state.NewStateCheckpoint(klog.Background(), dir, name)
	if err != nil {
		return 0, err
	}
	return len(pods.GetPodResourceInfoMap()), nil
}
