//! `#cloud-config`, which writes the files of a kubelet, k3s or RKE2, and runs what starts them.

use std::error::Error as _;

use crate::configurations::{flags, read, refused};
use topology_manifest::{ConfigKind, FieldChange, Source, patch_kubelet_config};

const RKE2: &str = "#cloud-config
package_update: true
write_files:
- path: /etc/rancher/rke2/config.yaml
  permissions: '0600'
  content: |
    server: https://10.0.0.1:9345
    token: abc
    kubelet-arg:
    - max-pods=200
    - cpu-manager-policy=static
runcmd:
- curl -sfL https://get.rke2.io | INSTALL_RKE2_TYPE=agent sh -
- [systemctl, enable, --now, rke2-agent]
";

#[test]
fn options_of_rke2_that_cloud_init_writes_are_read() {
    let own = read(RKE2);
    assert_eq!(
        (own.kind, flags(&own)),
        (ConfigKind::Rke2, vec!["--max-pods=200", "--cpu-manager-policy=static"])
    );
    let more = "- path: /etc/rancher/rke2/config.yaml.d/10-more.yaml\n  encoding: b64\n  content: \
                a3ViZWxldC1hcmcrOiBbdj0yXQo=\nruncmd:";
    let both = read(&RKE2.replace("runcmd:", more));
    assert_eq!(flags(&both), ["--max-pods=200", "--cpu-manager-policy=static", "--v=2"]);
    let error = refused(&RKE2.replace("    - max-pods=200", "    - max-pods: 200"));
    assert!(error.contains("config:10:"), "{error}");
    let compressed = RKE2.replace("permissions: '0600'", "encoding: gz+b64");
    assert!(refused(&compressed).contains("its content cannot be read here"));
    let later = |command: &str| format!("{RKE2}- {command} /etc/rancher/rke2/config.yaml\n");
    assert!(refused(&later("echo kubelet-arg+=v=2 >>")).contains("may change"));
    assert_eq!(flags(&read(&later("sed -i s/HOST/$(hostname)/"))).len(), 2);
}

#[test]
fn options_of_k3s_that_its_installer_gets_are_read() {
    let text = "#cloud-config\nruncmd:\n- curl -sfL https://get.k3s.io | INSTALL_K3S_EXEC=\"agent --kubelet-arg=max-pods=200\" sh -\n";
    let own = read(text);
    assert_eq!((own.kind, flags(&own)), (ConfigKind::K3s, vec!["--max-pods=200"]));
    let file = "write_files:\n- path: /etc/rancher/k3s/config.yaml\n  content: 'kubelet-arg: [v=2]'\n";
    assert_eq!(flags(&read(&format!("{text}{file}"))), ["--v=2", "--max-pods=200"]);
}

const KUBELET: &str = "#cloud-config
write_files:
- path: /etc/kubernetes/kubelet-config.yaml
  content: |
    apiVersion: kubelet.config.k8s.io/v1beta1
    kind: KubeletConfiguration
    maxPods: 50
- path: /etc/default/kubelet
  content: KUBELET_EXTRA_ARGS=\"--cpu-manager-policy=static\"
- path: /etc/motd
  content: hello
";

#[test]
fn files_of_a_kubelet_that_cloud_init_writes_are_read() {
    let own = read(KUBELET);
    assert_eq!((own.kind, own.config.max_pods), (ConfigKind::Kubelet, Some(50)));
    assert_eq!(flags(&own), ["--cpu-manager-policy=static"]);
    let two = KUBELET.replace("- path: /etc/motd\n  content: hello\n", "- path: /etc/b.yaml\n  content: |\n    apiVersion: kubelet.config.k8s.io/v1beta1\n    kind: KubeletConfiguration\n");
    assert!(refused(&two).contains("expected one configuration"));
    let script =
        KUBELET.replace("/etc/motd\n  content: hello", "/opt/a.sh\n  content: systemctl edit kubelet");
    assert!(refused(&script).contains("may change"));
}

#[test]
fn flags_alone_lie_over_what_is_not_known() {
    let own = read(
        "#cloud-config\nwrite_files:\n- {path: /etc/default/kubelet, content: KUBELET_EXTRA_ARGS=--max-pods=9}\n",
    );
    assert_eq!((own.kind, flags(&own)), (ConfigKind::Part("cloud-init"), vec!["--max-pods=9"]));
}

#[test]
fn a_configuration_that_k3s_names_lies_beneath_its_flags() {
    let text = "#cloud-config
write_files:
- path: /etc/rancher/k3s/kubelet.yaml
  content: |
    apiVersion: kubelet.config.k8s.io/v1beta1
    kind: KubeletConfiguration
    maxPods: 50
- path: /etc/rancher/k3s/config.yaml
  content: |
    kubelet-arg: [config=/etc/rancher/k3s/kubelet.yaml, cpu-manager-policy=static]
";
    let own = read(text);
    assert_eq!(
        (own.kind, own.config.max_pods, flags(&own)),
        (ConfigKind::K3s, Some(50), vec!["--cpu-manager-policy=static"])
    );
    let other = text.replace("config=/etc", "config=/opt");
    assert!(refused(&other).contains("no flag of k3s names"), "{}", refused(&other));
}

#[test]
fn a_cloud_config_is_not_changed_in_place() {
    let change = FieldChange { field: "maxPods".to_owned(), value: Some(9.into()) };
    let patched = patch_kubelet_config(&Source { name: "config", text: KUBELET }, &[change]);
    let error = patched
        .map_err(|error| format!("{error} {}", error.source().map(ToString::to_string).unwrap_or_default()));
    assert!(error.as_ref().is_err_and(|error| error.contains("a #cloud-config")), "{error:?}");
}

#[test]
fn a_cloud_config_without_a_kubelet_sets_nothing() {
    let own = read("#cloud-config\npackages: [htop]\nruncmd:\n- ls\n");
    assert_eq!((own.kind, own.sets_nothing), (ConfigKind::Part("cloud-init"), true));
    assert!(refused("#cloud-config\nruncmd: [systemctl edit kubelet]\n").contains("may change"));
}
