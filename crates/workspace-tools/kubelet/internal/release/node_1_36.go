//go:build !kubelet_1_34 && !kubelet_1_35 && !kubelet_1_37 && !kubelet_1_38

package release

// The parts of 1.36 around the managers.

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	corev1defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/allocation"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/config"
)

// Version is the release.
const Version = "1.36.3"

// AsProvider is the kubelet's form of a provider of ours.
func AsProvider(p Provider) topologymanager.HintProvider { return p }

// NewAllocation makes what admits pods.
func NewAllocation(active func() []*v1.Pod, sources config.SourcesReady) Allocation {
	unknown := func(types.UID) (*v1.Pod, bool) { return nil, false }
	return Allocation{allocation.NewInMemoryManager(nil, func(*v1.Pod) {}, active, unknown, sources, record.NewFakeRecorder(100))}
}

// Default fills in what a pod does not say.
func Default(pod *v1.Pod) error {
	corev1defaults.SetObjectDefaults_Pod(pod)
	return nil
}
