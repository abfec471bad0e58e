//! The fields of a configuration by their names: what is written, in what two differ, and one taken from another.

use std::collections::BTreeMap;

use node_config::KubeletConfiguration;
use serde::Serialize;
use serde_json::Value;

/// A field that the proposal has otherwise.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Change {
    pub(crate) field: String,
    /// Absent where nothing is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<Value>,
    /// Absent where nothing is to be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<Value>,
}

/// The fields that are written.
pub(super) fn fields(config: &KubeletConfiguration) -> anyhow::Result<BTreeMap<String, Value>> {
    let value = serde_json::to_value(config)?;
    let fields = value.as_object().cloned().unwrap_or_default().into_iter();
    Ok(fields.filter(|(name, _)| !matches!(name.as_str(), "apiVersion" | "kind")).collect())
}

/// In what the proposal differs.
pub(crate) fn changes(
    config: &KubeletConfiguration,
    proposal: &KubeletConfiguration,
) -> anyhow::Result<Vec<Change>> {
    let (from, to) = (fields(config)?, fields(proposal)?);
    let mut names: Vec<&String> = from.keys().chain(to.keys()).collect();
    names.sort();
    names.dedup();
    let changed = names.into_iter().filter(|name| from.get(*name) != to.get(*name));
    Ok(changed
        .map(|name| Change { field: name.clone(), from: from.get(name).cloned(), to: to.get(name).cloned() })
        .collect())
}

/// Takes one field from another configuration.
pub(super) fn copy(to: &mut KubeletConfiguration, from: &KubeletConfiguration, field: &str) {
    let from = from.clone();
    match field {
        "cpuManagerPolicy" => to.cpu_manager_policy = from.cpu_manager_policy,
        "cpuManagerPolicyOptions" => to.cpu_manager_policy_options = from.cpu_manager_policy_options,
        "cpuManagerReconcilePeriod" => to.cpu_manager_reconcile_period = from.cpu_manager_reconcile_period,
        "reservedSystemCPUs" => to.reserved_system_cpus = from.reserved_system_cpus,
        "memoryManagerPolicy" => to.memory_manager_policy = from.memory_manager_policy,
        "reservedMemory" => to.reserved_memory = from.reserved_memory,
        "topologyManagerPolicy" => to.topology_manager_policy = from.topology_manager_policy,
        "topologyManagerScope" => to.topology_manager_scope = from.topology_manager_scope,
        "topologyManagerPolicyOptions" => {
            to.topology_manager_policy_options = from.topology_manager_policy_options;
        }
        "kubeReserved" => to.kube_reserved = from.kube_reserved,
        "systemReserved" => to.system_reserved = from.system_reserved,
        "evictionHard" => to.eviction_hard = from.eviction_hard,
        "mergeDefaultEvictionSettings" => {
            to.merge_default_eviction_settings = from.merge_default_eviction_settings;
        }
        "enforceNodeAllocatable" => to.enforce_node_allocatable = from.enforce_node_allocatable,
        "systemReservedCgroup" => to.system_reserved_cgroup = from.system_reserved_cgroup,
        "kubeReservedCgroup" => to.kube_reserved_cgroup = from.kube_reserved_cgroup,
        "systemCgroups" => to.system_cgroups = from.system_cgroups,
        "cgroupRoot" => to.cgroup_root = from.cgroup_root,
        "cgroupsPerQOS" => to.cgroups_per_qos = from.cgroups_per_qos,
        "maxPods" => to.max_pods = from.max_pods,
        "podsPerCore" => to.pods_per_core = from.pods_per_core,
        "featureGates" => to.feature_gates = from.feature_gates,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use topology_manifest::{Source, read_kubelet_config};

    use super::*;

    #[test]
    fn every_field_that_is_written_can_be_taken_over() {
        let text = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n\
            cpuManagerPolicy: static\ncpuManagerPolicyOptions: {a: b}\ncpuManagerReconcilePeriod: 5s\n\
            reservedSystemCPUs: '0'\nmemoryManagerPolicy: Static\nreservedMemory: [{numaNode: 0}]\n\
            topologyManagerPolicy: restricted\ntopologyManagerScope: pod\ntopologyManagerPolicyOptions: {a: b}\n\
            kubeReserved: {cpu: '1'}\nsystemReserved: {cpu: '1'}\nevictionHard: {}\n\
            mergeDefaultEvictionSettings: true\nenforceNodeAllocatable: []\nsystemReservedCgroup: /a\n\
            kubeReservedCgroup: /b\nsystemCgroups: /c\ncgroupRoot: /d\ncgroupsPerQOS: true\nmaxPods: 1\n\
            podsPerCore: 2\nfeatureGates: {A: true}\n";
        let all = read_kubelet_config(&Source { name: "kubelet.yaml", text }).unwrap().config;
        let mut taken = KubeletConfiguration::default();
        let changed = changes(&taken, &all).unwrap();
        assert_eq!(changed.len(), 22);
        for change in changed {
            copy(&mut taken, &all, &change.field);
        }
        assert_eq!(taken, all);
    }
}
