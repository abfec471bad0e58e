package main

// Files of the drop-in folder.

import (
	"encoding/json"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/kubelet/config/v1beta1"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	kubeletscheme "k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	conversion "k8s.io/kubernetes/pkg/kubelet/apis/config/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/kubeletconfig/util/codec"
)

// mergeDropIn merges a file of the drop-in folder into a configuration, step by step as the kubelet's
// mergeKubeletConfigurations does, which is not exported.
func mergeDropIn(kc *kubeletconfig.KubeletConfiguration, text string) error {
	_, codecs, err := kubeletscheme.NewSchemeAndCodecs()
	if err != nil {
		return err
	}
	versioned := &v1beta1.KubeletConfiguration{}
	if err := conversion.Convert_config_KubeletConfiguration_To_v1beta1_KubeletConfiguration(kc, versioned, nil); err != nil {
		return err
	}
	base, err := json.Marshal(versioned)
	if err != nil {
		return err
	}
	dropIn, _, err := codec.DecodeKubeletConfigurationIntoJSON(codecs, []byte(text))
	if err != nil {
		return err
	}
	merged, err := jsonpatch.MergePatch(base, dropIn)
	if err != nil {
		return err
	}
	versioned = &v1beta1.KubeletConfiguration{}
	if err := json.Unmarshal(merged, versioned); err != nil {
		return err
	}
	conversion.SetDefaults_KubeletConfiguration(versioned)
	return conversion.Convert_v1beta1_KubeletConfiguration_To_config_KubeletConfiguration(versioned, kc, nil)
}
