//go:build kubelet_1_37

package release

// The parts of 1.37 around the managers.

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/pkg/kubelet/allocation"
	"k8s.io/kubernetes/pkg/kubelet/config"
)

// Version is the release.
const Version = "1.37.1"

// NewAllocation makes what admits pods.
func NewAllocation(active func() []*v1.Pod, sources config.SourcesReady) Allocation {
	unknown := func(types.UID) (*v1.Pod, bool) { return nil, false }
	return Allocation{allocation.NewInMemoryManager(Quiet, nil, func(context.Context, *v1.Pod) {}, active, unknown, sources, record.NewFakeRecorder(100))}
}

func (a Allocation) AddPod(active []*v1.Pod, pod *v1.Pod) (bool, string, string) {
	return a.Manager.AddPod(Context, active, pod)
}
func (a Allocation) RemovePod(uid types.UID) { a.Manager.RemovePod(Quiet, uid) }
