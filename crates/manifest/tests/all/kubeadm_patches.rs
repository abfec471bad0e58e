//! Patches of the kubelet's configuration that objects of Cluster API have nodes write for kubeadm.

use crate::configurations::{flags, read, refused};
use topology_manifest::ConfigKind;

const TEMPLATE: &str = "apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfigTemplate
metadata: {name: workers}
spec:
  template:
    spec:
      files:
      - path: /etc/kubernetes/patches/kubeletconfiguration1+merge.yaml
        content: |
          maxPods: 60
      - path: /etc/kubernetes/patches/kubeletconfiguration0+strategic.yaml
        owner: root:root
        permissions: '0644'
        content: |
          apiVersion: kubelet.config.k8s.io/v1beta1
          kind: KubeletConfiguration
          cpuManagerPolicy: static
          kubeReserved: {cpu: '1'}
          maxPods: 50
      joinConfiguration:
        patches: {directory: /etc/kubernetes/patches}
        nodeRegistration: {kubeletExtraArgs: {v: '2'}}
";

#[test]
fn patches_are_laid_over_each_other_by_their_names() {
    let own = read(TEMPLATE);
    assert_eq!((own.kind, flags(&own)), (ConfigKind::Part("Cluster API"), vec!["--v=2"]));
    assert_eq!((own.config.cpu_policy(), own.config.max_pods), ("static", Some(60)));
    let control_plane = TEMPLATE
        .replace("bootstrap.cluster", "controlplane.cluster")
        .replace("kind: KubeadmConfigTemplate", "kind: KubeadmControlPlane")
        .replace("  template:\n    spec:", "  kubeadmConfigSpec:")
        .replace("joinConfiguration", "initConfiguration");
    assert_eq!(read(&control_plane).config.max_pods, Some(60), "{control_plane}");
}

#[test]
fn a_mistake_in_a_patch_is_at_its_file() {
    let error = refused(&TEMPLATE.replace("maxPods: 60", "maxPods: many"));
    assert!(error.contains("maxPods: failed to decode") && error.contains("config:9:"), "{error}");
}

#[test]
fn what_kubeadm_does_not_apply_so_is_refused() {
    for (from, to) in [
        ("1+merge.yaml", "1+json.json"),
        ("maxPods: 60", "\"$patch\": replace"),
        ("        patches: {directory: /etc/kubernetes/patches}\n", ""),
        ("directory: /etc/kubernetes/patches", "directory: /opt"),
        ("        content: |\n          maxPods: 60", "        contentFrom: {secret: {name: a, key: b}}"),
        (
            "joinConfiguration",
            "initConfiguration: {nodeRegistration: {kubeletExtraArgs: {v: '2'}}}\n      joinConfiguration",
        ),
    ] {
        let text = TEMPLATE.replace(from, to);
        assert_ne!(text, TEMPLATE, "{from}");
        assert!(refused(&text).contains("configz"), "{text}");
    }
}
