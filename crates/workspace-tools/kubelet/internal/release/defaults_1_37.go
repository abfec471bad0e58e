//go:build kubelet_1_37 || kubelet_1_38

package release

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/nodestatus"
)

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
