//go:build kubelet_1_38

package release

// The parts of 1.38 around the managers.

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/pkg/kubelet/allocation"
	"k8s.io/kubernetes/pkg/kubelet/config"
)

// Version is the release.
const Version = "1.38.0-beta.0"

// podsOf is what the allocation manager asks the kubelet.
type podsOf struct{ active func() []*v1.Pod }

func (p podsOf) GetActivePods() []*v1.Pod              { return p.active() }
func (podsOf) GetPodByUID(types.UID) (*v1.Pod, bool)   { return nil, false }
func (podsOf) IsPodTerminatingOrTerminal(*v1.Pod) bool { return false }
func (podsOf) SyncPodNow(context.Context, *v1.Pod)     {}

// NewAllocation makes what admits pods.
func NewAllocation(active func() []*v1.Pod, sources config.SourcesReady) Allocation {
	return Allocation{allocation.NewInMemoryManager(Quiet, nil, podsOf{active}, sources, record.NewFakeRecorder(100))}
}

func (a Allocation) AddPod(active []*v1.Pod, pod *v1.Pod) (bool, string, string) {
	return a.Manager.AddPod(Context, active, pod)
}
func (a Allocation) RemovePod(uid types.UID) { a.Manager.RemovePod(Quiet, uid) }
