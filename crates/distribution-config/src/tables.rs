//! The fields that each distribution sets.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use node_config::{Duration, KubeletConfiguration, NodeReporting, Release, Rules};

use crate::milli_cpus_of_kubelet;
use crate::openshift::COMPRESSIBLE;

pub(crate) fn amounts<const N: usize>(of: [(&str, &str); N]) -> BTreeMap<String, String> {
    of.into_iter().map(|(name, amount)| (name.to_owned(), amount.to_owned())).collect()
}

/// What the machine config operator sets on workers. Since OpenShift 4.22, whose kubelet is 1.35, the CPU shares of what is
/// reserved for the system are enforced.
pub(crate) fn openshift(rules: Rules) -> KubeletConfiguration {
    let fields = KubeletConfiguration {
        system_reserved: amounts([("cpu", "500m"), ("memory", "1Gi"), ("ephemeral-storage", "1Gi")]),
        max_pods: Some(250),
        cgroup_root: Some("/".to_owned()),
        system_cgroups: Some("/system.slice".to_owned()),
        reporting: reported_every(10, 300),
        ..KubeletConfiguration::default()
    };
    if rules.version.release() < Release::V1_35 {
        return fields;
    }
    KubeletConfiguration {
        system_reserved_cgroup: Some("/system.slice".to_owned()),
        enforce_node_allocatable: Some(["pods", COMPRESSIBLE].map(str::to_owned).into()),
        ..fields
    }
}

/// The node's status is worked out every `update` seconds, and sent every `report` seconds though nothing has changed.
fn reported_every(update: i32, report: i32) -> NodeReporting {
    NodeReporting {
        node_status_update_frequency: Some(Duration::from_seconds(update)),
        node_status_report_frequency: Some(Duration::from_seconds(report)),
        ..NodeReporting::default()
    }
}

/// Gates that Amazon turns on in each release of the kubelet since 1.34, also on Bottlerocket.
const GATES_OF_AMAZON: [&str; 2] = ["DynamicResourceAllocation", "MutableCSINodeAllocatableCount"];

fn gates_of_amazon() -> BTreeMap<String, bool> {
    GATES_OF_AMAZON.map(|name| (name.to_owned(), true)).into()
}

pub(crate) fn nodeadm(cpus: usize) -> KubeletConfiguration {
    let cpu = format!("{}m", milli_cpus_of_kubelet(cpus));
    let mut feature_gates = gates_of_amazon();
    feature_gates.insert("RotateKubeletServerCertificate".to_owned(), true);
    KubeletConfiguration {
        kube_reserved: amounts([("cpu", cpu.as_str()), ("ephemeral-storage", "1Gi")]),
        kube_reserved_cgroup: Some("/runtime".to_owned()),
        system_reserved_cgroup: Some("/system".to_owned()),
        eviction_hard: Some(amounts([
            ("memory.available", "100Mi"),
            ("nodefs.available", "10%"),
            ("nodefs.inodesFree", "5%"),
        ])),
        cgroup_root: Some("/".to_owned()),
        feature_gates,
        ..KubeletConfiguration::default()
    }
}

/// What Bottlerocket sets beside the fields that it makes of settings.
pub(crate) fn bottlerocket() -> KubeletConfiguration {
    KubeletConfiguration { feature_gates: gates_of_amazon(), ..KubeletConfiguration::default() }
}

pub(crate) fn talos() -> KubeletConfiguration {
    KubeletConfiguration {
        cgroup_root: Some("/".to_owned()),
        system_cgroups: Some("/system".to_owned()),
        ..KubeletConfiguration::default()
    }
}

/// What Talos reserves for the system where its user reserves nothing.
pub(crate) fn reserved_of_talos(memory: &str) -> BTreeMap<String, String> {
    amounts([("cpu", "50m"), ("memory", memory), ("pid", "100"), ("ephemeral-storage", "256Mi")])
}

/// k3s starts its kubelet without a file, with this among its drop-ins: no memory is kept for eviction.
pub(crate) fn k3s() -> KubeletConfiguration {
    KubeletConfiguration {
        eviction_hard: Some(amounts([("imagefs.available", "5%"), ("nodefs.available", "5%")])),
        cpu_manager_reconcile_period: Some(Duration::from_seconds(10)),
        reporting: reported_every(10, 300),
        ..KubeletConfiguration::default()
    }
}
