//! Forms without a kind: k3s and RKE2, `MicroShift`, Talos, and fields of a kubelet alone. What decides are options that no other
//! program has; names such as `server`, `log` or `ingress` are those of many.

use super::kind::{AKS, ConfigKind, GKE_KIND, GKE_POOL, MICROSHIFT, RKE, WHOLE, WITHOUT_KIND, names};
use crate::kubelet_fields::{IGNORED, READ};
use crate::node::{Field, Node, Value};

/// Options of k3s, which RKE2 has too, but for those of [`RKE2`]; with `+` behind them a drop-in adds to a list (docs.k3s.io, "k3s
/// server" and "k3s agent").
const K3S: &[&str] = &[
    "advertise-address",
    "advertise-port",
    "agent-token",
    "agent-token-file",
    "airgap-extra-registry",
    "alsologtostderr",
    "bind-address",
    "cluster-cidr",
    "cluster-dns",
    "cluster-domain",
    "cluster-init",
    "cluster-reset",
    "cluster-reset-restore-path",
    "config",
    "container-runtime-endpoint",
    "data-dir",
    "datastore-cafile",
    "datastore-certfile",
    "datastore-endpoint",
    "datastore-keyfile",
    "debug",
    "default-local-storage-path",
    "default-runtime",
    "disable",
    "disable-agent",
    "disable-apiserver",
    "disable-apiserver-lb",
    "disable-cloud-controller",
    "disable-controller-manager",
    "disable-default-registry-endpoint",
    "disable-etcd",
    "disable-helm-controller",
    "disable-kube-proxy",
    "disable-network-policy",
    "disable-scheduler",
    "docker",
    "egress-selector-mode",
    "embedded-registry",
    "enable-pprof",
    "etcd-arg",
    "etcd-disable-snapshots",
    "etcd-expose-metrics",
    "etcd-proxy",
    "etcd-s3",
    "etcd-s3-access-key",
    "etcd-s3-bucket",
    "etcd-s3-bucket-lookup-type",
    "etcd-s3-config-secret",
    "etcd-s3-endpoint",
    "etcd-s3-endpoint-ca",
    "etcd-s3-folder",
    "etcd-s3-insecure",
    "etcd-s3-proxy",
    "etcd-s3-region",
    "etcd-s3-retention",
    "etcd-s3-secret-key",
    "etcd-s3-session-token",
    "etcd-s3-skip-ssl-verify",
    "etcd-s3-timeout",
    "etcd-snapshot-compress",
    "etcd-snapshot-dir",
    "etcd-snapshot-name",
    "etcd-snapshot-reconcile-interval",
    "etcd-snapshot-retention",
    "etcd-snapshot-schedule-cron",
    "flannel-backend",
    "flannel-conf",
    "flannel-cni-conf",
    "flannel-external-ip",
    "flannel-iface",
    "flannel-ipv6-masq",
    "helm-job-image",
    "https-listen-port",
    "image-credential-provider-bin-dir",
    "image-credential-provider-config",
    "image-service-endpoint",
    "kine-tls",
    "kube-apiserver-arg",
    "kube-cloud-controller-manager-arg",
    "kube-controller-manager-arg",
    "kube-proxy-arg",
    "kube-scheduler-arg",
    "kubelet-arg",
    "lb-server-port",
    "log",
    "multi-cluster-cidr",
    "node-external-dns",
    "node-external-ip",
    "node-internal-dns",
    "node-ip",
    "node-label",
    "node-name",
    "node-taint",
    "nonroot-devices",
    "pause-image",
    "prefer-bundled-bin",
    "private-registry",
    "protect-kernel-defaults",
    "resolv-conf",
    "rootless",
    "secrets-encryption",
    "secrets-encryption-provider",
    "selinux",
    "server",
    "service-cidr",
    "service-node-port-range",
    "servicelb-namespace",
    "snapshotter",
    "supervisor-metrics",
    "system-default-registry",
    "tls-san",
    "tls-san-security",
    "token",
    "token-file",
    "v",
    "vmodule",
    "vpn-auth",
    "vpn-auth-file",
    "with-node-id",
    "write-kubeconfig",
    "write-kubeconfig-group",
    "write-kubeconfig-mode",
];

/// Options of RKE2 alone (docs.rke2.io, "Server Configuration Reference").
const RKE2: &[&str] = &[
    "audit-policy-file",
    "cloud-controller-manager-extra-env",
    "cloud-controller-manager-extra-mount",
    "cloud-controller-manager-image",
    "cloud-provider-config",
    "cloud-provider-name",
    "cni",
    "control-plane-probe-configuration",
    "control-plane-resource-limits",
    "control-plane-resource-requests",
    "enable-servicelb",
    "etcd-extra-env",
    "etcd-extra-mount",
    "etcd-image",
    "ingress-controller",
    "kube-apiserver-extra-env",
    "kube-apiserver-extra-mount",
    "kube-apiserver-image",
    "kube-controller-manager-extra-env",
    "kube-controller-manager-extra-mount",
    "kube-controller-manager-image",
    "kube-proxy-extra-env",
    "kube-proxy-extra-mount",
    "kube-proxy-image",
    "kube-scheduler-extra-env",
    "kube-scheduler-extra-mount",
    "kube-scheduler-image",
    "kubelet-path",
    "pod-security-admission-config-file",
    "profile",
    "runtime-image",
];

/// Options of these that other programs have, too: alone they tell nothing.
const COMMON: [&str; 17] = [
    "alsologtostderr",
    "bind-address",
    "cni",
    "config",
    "data-dir",
    "debug",
    "disable",
    "docker",
    "log",
    "profile",
    "rootless",
    "selinux",
    "server",
    "token",
    "token-file",
    "v",
    "vmodule",
];

/// Options of these that tell the form beside options that are misspelt or newer.
const TELLING: [&str; 12] = [
    "audit-policy-file",
    "cluster-init",
    "control-plane-resource-limits",
    "control-plane-resource-requests",
    "flannel-backend",
    "kubelet-arg",
    "kubelet-path",
    "node-label",
    "node-taint",
    "pod-security-admission-config-file",
    "tls-san",
    "write-kubeconfig-mode",
];

/// Parts of k3s that `disable` leaves out (docs.k3s.io, "Managing Packaged Components"); those of RKE2 begin with its name.
const PACKAGED: [&str; 6] =
    ["coredns", "local-storage", "metrics-server", "runtimes", "servicelb", "traefik"];

/// Networks that `cni` of RKE2 names (docs.rke2.io, "Networking").
const NETWORKS: [&str; 6] = ["calico", "canal", "cilium", "flannel", "multus", "none"];

/// The port at which a server of RKE2 lets nodes join; k3s has 6443 (docs.rke2.io, "Requirements").
const RKE2_PORT: &str = ":9345";

/// The parts of a configuration of `MicroShift`, each with its fields (`packaging/microshift/config.yaml` and `pkg/config` in
/// openshift/microshift); those of `kubelet` are the kubelet's.
const OF_MICROSHIFT: [(&str, &[&str]); 12] = [
    (
        "apiServer",
        &["advertiseAddress", "auditLog", "featureGates", "namedCertificates", "subjectAltNames", "tls"],
    ),
    ("debugging", &["logLevel"]),
    ("dns", &["baseDomain"]),
    ("etcd", &["memoryLimitMB"]),
    ("genericDevicePlugin", &["devices", "domain", "status"]),
    ("ingress", &["listenAddress", "ports", "routeAdmissionPolicy", "status"]),
    ("kubelet", &[]),
    ("manifests", &["kustomizePaths"]),
    ("network", &["clusterNetwork", "cniPlugin", "multus", "serviceNetwork", "serviceNodePortRange"]),
    ("node", &["hostnameOverride", "nodeIP", "nodeIPv6"]),
    ("storage", &["driver", "optionalCsiComponents"]),
    ("telemetry", &["endpoint", "proxy", "status"]),
];

/// Services of RKE, and the options of its kubelet (`RKEConfigServices` and `KubeletService` in `types/rke_types.go` of rancher/rke).
const OF_RKE: [&str; 6] = ["etcd", "kube-api", "kube-controller", "kubelet", "kubeproxy", "scheduler"];
const KUBELET_OF_RKE: [&str; 13] = [
    "cluster_dns_server",
    "cluster_domain",
    "extra_args",
    "extra_args_array",
    "extra_binds",
    "extra_env",
    "fail_swap_on",
    "generate_serving_certificate",
    "infra_container_image",
    "win_extra_args",
    "win_extra_args_array",
    "win_extra_binds",
    "win_extra_env",
];

/// Fields of a machine configuration of Talos (`MachineConfig` in `pkg/machinery/config/types/v1alpha1` of siderolabs/talos).
const OF_TALOS: [&str; 22] = [
    "baseRuntimeSpecOverrides",
    "certSANs",
    "controlPlane",
    "disks",
    "features",
    "files",
    "install",
    "kernel",
    "kubelet",
    "logging",
    "network",
    "nodeAnnotations",
    "nodeLabels",
    "nodeTaints",
    "pods",
    "registries",
    "seccompProfiles",
    "sysctls",
    "sysfs",
    "systemDiskEncryption",
    "type",
    "udev",
];

/// Names that AKS has for fields of a kubelet in the file for its command line, which has nothing around them
/// (learn.microsoft.com, "custom-node-configuration-reference").
const OF_AKS: [&str; 6] = [
    "containerLogMaxSizeMB",
    "cpuCfsQuota",
    "cpuCfsQuotaPeriod",
    "imageGcHighThreshold",
    "imageGcLowThreshold",
    "podMaxPids",
];

/// The same of GKE, within a mapping (cloud.google.com, "node-system-config").
const OF_GKE: [&str; 4] = ["cpuCfsQuota", "cpuCfsQuotaPeriod", "memoryManager", "topologyManager"];

/// Keys of a node pool of GKE beside its `config` (`NodePool` of its API).
const OF_GKE_POOL: [&str; 3] = ["initialNodeCount", "instanceGroupUrls", "maxPodsConstraint"];

/// The form of a mapping without a kind, and where its fields of the kubelet are; `None`: of none that is known.
pub(super) fn form_without_kind(document: &Field<'_>) -> Option<(&'static [&'static str], ConfigKind)> {
    let (kind, version) = names(document);
    if !kind.is_empty() {
        return None;
    }
    let Value::Map(entries) = &document.node.value else { return None };
    if let Some(machine) = document.node.value.get("machine") {
        return of_talos(machine);
    }
    let keys: Vec<&str> = entries.iter().map(|entry| entry.key.trim_end_matches('+')).collect();
    if let Some(kind) = of_k3s(&document.node.value, &keys) {
        return Some((&[], kind));
    }
    let has_config = matches!(&document.node.value.get("config"), Some(Node { value: Value::Map(_), .. }));
    if version.is_empty() && has_config && OF_GKE_POOL.iter().any(|own| keys.contains(own)) {
        return Some((GKE_POOL, ConfigKind::Part(GKE_KIND)));
    }
    let of_rancher = document.node.value.get("rancher_kubernetes_engine_config");
    if is_of_rke(of_rancher.map_or(&document.node.value, |own| &own.value)) {
        return Some((&[], ConfigKind::Part(RKE)));
    }
    if is_of_microshift(&document.node.value) {
        return Some((&["kubelet"], ConfigKind::Part(MICROSHIFT)));
    }
    let is_field = |key: &str| READ.contains(&key) || IGNORED.contains(&key);
    let is_of_pool = |key: &str| OF_AKS.contains(&key) || OF_GKE.contains(&key);
    if let Some(Node { value: Value::Map(own), .. }) = document.node.value.get("kubeletConfig")
        && (own.is_empty() || own.iter().any(|own| is_field(&own.key) || is_of_pool(&own.key)))
    {
        return Some((&["kubeletConfig"], ConfigKind::Part(WITHOUT_KIND)));
    }
    // Fields of a KubeletConfiguration alone, as installers take them for patches. Other programs have feature gates, too.
    let decides = |key: &&str| READ.contains(key) && *key != "featureGates";
    let is_one = keys.iter().any(decides) || !keys.is_empty() && keys.iter().all(|key| is_field(key));
    if version.is_empty() && keys.iter().any(|key| OF_AKS.contains(key)) {
        return Some((WHOLE, ConfigKind::Part(AKS)));
    }
    (version.is_empty() && is_one && !keys.contains(&"kubeletconfig"))
        .then_some((WHOLE, ConfigKind::Part(WITHOUT_KIND)))
}

fn of_talos(machine: &Node) -> Option<(&'static [&'static str], ConfigKind)> {
    let Value::Map(own) = &machine.value else { return None };
    let is_one = own.iter().any(|own| OF_TALOS.contains(&own.key.as_str()));
    let kind = match machine.value.get("type").map(|kind| &kind.value) {
        Some(Value::Text(kind)) if matches!(kind.as_str(), "controlplane" | "init") => {
            ConfigKind::TalosControlPlane
        }
        _ => ConfigKind::Talos,
    };
    is_one.then_some((&["machine", "kubelet", "extraConfig"], kind))
}

/// Whether a file with these options is one of k3s, or of RKE2.
fn of_k3s(document: &Value, keys: &[&str]) -> Option<ConfigKind> {
    let has = |key: &str| keys.contains(&key);
    let own = |key: &str| document.get(key).or_else(|| document.get(&format!("{key}+")));
    let texts = |key: &str| match own(key).map(|node| &node.value) {
        Some(Value::Text(text)) => text.split(',').map(|part| part.trim().to_owned()).collect(),
        Some(Value::List(items)) => items
            .iter()
            .filter_map(|item| match &item.value {
                Value::Text(text) => Some(text.clone()),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    let server = texts("server").concat();
    let disabled: Vec<String> = texts("disable");
    let are_all = !keys.is_empty() && keys.iter().all(|key| K3S.contains(key) || RKE2.contains(key));
    let is_known = |key: &&str| (K3S.contains(key) || RKE2.contains(key)) && !COMMON.contains(key);
    let is_rke2 = keys.iter().any(|key| RKE2.contains(key) && !COMMON.contains(key))
        || texts("cni").iter().any(|cni| NETWORKS.contains(&cni.as_str()))
        || texts("profile").iter().any(|profile| profile.starts_with("cis") || profile == "etcd")
        || disabled.iter().any(|part| part.starts_with("rke2-"))
        || server.starts_with("https://") && server.contains(RKE2_PORT);
    let joins = server.starts_with("https://") && (has("token") || has("token-file") || has("agent-token"));
    let is_packaged = disabled.iter().any(|part| PACKAGED.contains(&part.as_str()));
    let is_one = keys.iter().any(|key| TELLING.contains(key))
        || are_all && (keys.iter().any(is_known) || joins || is_packaged || is_rke2);
    is_one.then_some(if is_rke2 { ConfigKind::Rke2 } else { ConfigKind::K3s })
}

/// Whether a mapping has services of RKE and no others, of which one is a kubelet with options of it, or nodes beside them.
fn is_of_rke(document: &Value) -> bool {
    let Some(Node { value: Value::Map(services), .. }) = document.get("services") else { return false };
    let is_option = |value: &Value| match value {
        Value::Map(own) => own.iter().all(|own| KUBELET_OF_RKE.contains(&own.key.as_str())),
        value => *value == Value::Null,
    };
    let kubelet = services.iter().find(|service| service.key == "kubelet");
    !services.is_empty()
        && services.iter().all(|service| OF_RKE.contains(&service.key.as_str()))
        && kubelet.map_or(document.get("nodes").is_some(), |kubelet| is_option(&kubelet.value.value))
}

/// Whether a mapping has parts of `MicroShift`, each with a field of it; beside three of them others may be newer.
fn is_of_microshift(document: &Value) -> bool {
    let Value::Map(parts) = document else { return false };
    let known = parts.iter().filter_map(|part| {
        let (_, fields) = OF_MICROSHIFT.iter().find(|(own, _)| *own == part.key)?;
        Some((part, *fields))
    });
    let is_field = |part: &str, fields: &[&str], key: &str| match part {
        "kubelet" => READ.contains(&key) || IGNORED.contains(&key),
        _ => fields.contains(&key),
    };
    let (mut telling, mut empty) = (0, 0);
    for (part, fields) in known {
        match &part.value.value {
            Value::Null => empty += 1,
            Value::Map(own) if own.is_empty() => empty += 1,
            Value::Map(own) if own.iter().any(|own| is_field(&part.key, fields, &own.key)) => telling += 1,
            _ => return false,
        }
    }
    telling > 2 || telling > 0 && telling + empty == parts.len()
}
