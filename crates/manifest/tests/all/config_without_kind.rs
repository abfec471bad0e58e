//! Configurations without a kind, which are known by their options.

use crate::configurations::{read, refused};
use topology_manifest::ConfigKind;

#[test]
fn files_with_nothing_but_options_are_known_by_them() {
    for (text, kind) in [
        ("disable+:\n- traefik\n", ConfigKind::K3s),
        ("selinux: true\nnode-ip: 10.0.0.1\n", ConfigKind::K3s),
        ("selinux: true\ncni: cilium\n", ConfigKind::Rke2),
        ("network: {multus: {status: Enabled}}\n", ConfigKind::Part("MicroShift")),
    ] {
        let own = read(text);
        assert_eq!((own.kind, own.sets_nothing), (kind, true), "{text}");
    }
    for (text, kind) in [
        ("profile: cis\n", ConfigKind::Rke2),
        ("server: https://10.0.0.1:9345\ntoken: a\n", ConfigKind::Rke2),
        ("server: https://10.0.0.1:6443\ntoken: a\n", ConfigKind::K3s),
        ("disable: rke2-ingress-nginx\n", ConfigKind::Rke2),
        ("tls-san: [a]\ncni: cilium\n", ConfigKind::Rke2),
        ("ingress: {status: Managed}\n", ConfigKind::Part("MicroShift")),
        (
            "dns: {baseDomain: a}\nnode: {nodeIP: a}\netcd: {memoryLimitMB: 0}\nnewer: {}\n",
            ConfigKind::Part("MicroShift"),
        ),
    ] {
        assert_eq!(read(text).kind, kind, "{text}");
    }
    for text in [
        "selinux: true\ncolour: red\n",
        "network: tcp\n",
        "{}\n",
        "dns: {baseDomain: a}\nnewer: {}\n",
        "server: {port: 8080}\n",
        "network: {version: 2, ethernets: {eth0: {dhcp4: true}}}\n",
        "ingress: {enabled: true}\nstorage: {size: 1Gi}\n",
        "log: {level: debug}\n",
        "debug: true\n",
        "kubelet: {enabled: true, serviceMonitor: {https: true}}\n",
        "name: CI\ndisable: true\n",
        "profile: production\n",
        "machine: {cpus: 4}\n",
        "machine: box\n",
        "kubeletConfig: {enabled: true}\n",
        "featureGates: {A: true}\nreplicas: 2\n",
        "cni: {binDir: /opt}\n",
    ] {
        assert!(refused(text).contains("kind is missing"), "{text}");
    }
}

#[test]
fn a_patch_without_what_it_changes_is_named_with_what_lays_it() {
    for (text, what, step) in [
        (
            "- op: add\n  path: /machine/kubelet/extraConfig\n  value:\n    maxPods: 99\n",
            "a JSON patch of a machine configuration of Talos",
            "`talosctl machineconfig patch FILE --patch @PATCH",
        ),
        (
            "[{\"op\": \"replace\", \"path\": \"/spec/kubeletConfig/maxPods\", \"value\": 400}]",
            "a JSON patch of an object",
            "`kubectl kustomize FOLDER",
        ),
        (
            "- op: replace\n  path: /cpuManagerPolicy\n  value: static\n",
            "a JSON patch of a kubelet's configuration",
            "/proxy/configz",
        ),
        (
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n",
            "a file of kustomize",
            "`kubectl kustomize FOLDER",
        ),
        (
            "resources: [a.yaml]\npatches: [{path: b.yaml}]\n",
            "a file of kustomize",
            "`kubectl kustomize FOLDER",
        ),
    ] {
        let error = refused(text);
        assert!(error.contains(what) && error.contains(step), "{text}: {error}");
    }
    let list = refused("- a\n- b\n");
    assert!(list.contains("found a list"), "{list}");
}
