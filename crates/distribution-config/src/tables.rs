//! The fields that each distribution sets.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use node_config::KubeletConfiguration;

use crate::milli_cpus_of_kubelet;

pub(crate) fn amounts<const N: usize>(of: [(&str, &str); N]) -> BTreeMap<String, String> {
    of.into_iter().map(|(name, amount)| (name.to_owned(), amount.to_owned())).collect()
}

pub(crate) fn openshift() -> KubeletConfiguration {
    KubeletConfiguration {
        system_reserved: amounts([("cpu", "500m"), ("memory", "1Gi"), ("ephemeral-storage", "1Gi")]),
        max_pods: Some(250),
        cgroup_root: Some("/".to_owned()),
        system_cgroups: Some("/system.slice".to_owned()),
        ..KubeletConfiguration::default()
    }
}

pub(crate) fn nodeadm(cpus: usize) -> KubeletConfiguration {
    let cpu = format!("{}m", milli_cpus_of_kubelet(cpus));
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
        ..KubeletConfiguration::default()
    }
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
        ..KubeletConfiguration::default()
    }
}
