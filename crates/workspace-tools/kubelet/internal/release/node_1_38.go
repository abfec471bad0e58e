//go:build kubelet_1_38

package release

// The parts of 1.38 around the managers.

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/allocation"
	"k8s.io/kubernetes/pkg/kubelet/config"
	"k8s.io/kubernetes/pkg/kubelet/nodestatus"
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

// MachineSetter writes capacity and allocatable into a node.
func MachineSetter(maxPods, podsPerCore int, machine *MachineInfo, capacity func() v1.ResourceList, devices func() (v1.ResourceList, v1.ResourceList, []string), reservation func() v1.ResourceList) nodestatus.Setter {
	return nodestatus.MachineInfo("node-1", maxPods, podsPerCore,
		func() (*MachineInfo, error) { return machine, nil },
		func(klog.Logger, bool) v1.ResourceList { return capacity() },
		func(klog.Logger) (v1.ResourceList, v1.ResourceList, []string) { return devices() },
		reservation, func(_, _, _ string) {}, func() *bool { return nil }, true)
}

// Default fills in what a pod does not say. The API server fills in the resources of the pod as a whole after all other
// defaults.
func Default(pod *v1.Pod) error {
	corev1defaults.SetObjectDefaults_Pod(pod)
	in := &core.Pod{}
	if err := corev1defaults.Convert_v1_PodSpec_To_core_PodSpec(pod.Spec.DeepCopy(), &in.Spec, nil); err != nil {
		return err
	}
	podutil.DefaultPodLevelResources(in)
	out := &v1.PodSpec{}
	if err := corev1defaults.Convert_core_PodSpec_To_v1_PodSpec(&in.Spec, out, nil); err != nil {
		return err
	}
	pod.Spec.Resources = out.Resources
	return nil
}
