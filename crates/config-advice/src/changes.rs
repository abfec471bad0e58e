//! The fields of a configuration by their names: how two configurations differ, and one field copied to another.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use node_config::KubeletConfiguration;
use serde::Serialize;
use serde_json::{Map, Value};

/// A field whose value differs between two configurations.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// By its name in a `KubeletConfiguration`.
    pub field: String,
    /// `None` where the field is not written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Value>,
    /// `None` where the field is to be left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
}

/// The fields that are written.
fn fields(config: &KubeletConfiguration) -> BTreeMap<String, Value> {
    // Texts, numbers and maps with text keys are always JSON.
    let Ok(Value::Object(fields)) = serde_json::to_value(config) else { return BTreeMap::new() };
    let fields = fields.into_iter();
    fields.filter(|(name, _)| !matches!(name.as_str(), "apiVersion" | "kind")).collect()
}

/// The fields in which `proposal` differs from `config`, by name.
pub fn changes(config: &KubeletConfiguration, proposal: &KubeletConfiguration) -> Vec<Change> {
    let (from, to) = (fields(config), fields(proposal));
    let mut names: Vec<&String> = from.keys().chain(to.keys()).collect();
    names.sort();
    names.dedup();
    let changed = names.into_iter().filter(|name| from.get(*name) != to.get(*name));
    changed
        .map(|name| Change { field: name.clone(), from: from.get(name).cloned(), to: to.get(name).cloned() })
        .collect()
}

/// The changes as a JSON merge patch, as a kubelet merges files of its drop-in folder: mappings key by key, lists as a
/// whole, and `null` removes.
pub fn merge_patch(changes: &[Change]) -> Map<String, Value> {
    let value = |change: &Change| match (&change.from, &change.to) {
        (Some(Value::Object(from)), Some(Value::Object(to))) => Value::Object(changed_keys(from, to)),
        (_, Some(to)) => to.clone(),
        (_, None) => Value::Null,
    };
    changes.iter().map(|change| (change.field.clone(), value(change))).collect()
}

/// The keys of `to` that are new or other than in `from`, and `null` for those that are gone.
fn changed_keys(from: &Map<String, Value>, to: &Map<String, Value>) -> Map<String, Value> {
    let changed = to.iter().filter(|(key, value)| from.get(*key) != Some(value));
    let gone = from.keys().filter(|key| !to.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    changed.map(|(key, value)| (key.clone(), value.clone())).chain(gone).collect()
}

/// Copies one field from another configuration.
pub(crate) fn copy(to: &mut KubeletConfiguration, from: &KubeletConfiguration, field: &str) {
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
        "memoryThrottlingFactor" => to.memory_throttling_factor = from.memory_throttling_factor,
        "defaultPodSysctls" => to.default_pod_sysctls = from.default_pod_sysctls,
        "featureGates" => to.feature_gates = from.feature_gates,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use node_config::{Release, Rules};
    use serde_json::json;
    use topology_manifest::{Source, read_kubelet_config_of};

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
            podsPerCore: 2\nmemoryThrottlingFactor: 0.5\ndefaultPodSysctls: {a: b}\nfeatureGates: {A: true}\n";
        let rules = Rules::of(Release::V1_37);
        let all = read_kubelet_config_of(&Source { name: "kubelet.yaml", text }, rules).unwrap().config;
        let mut taken = KubeletConfiguration { rules, ..KubeletConfiguration::default() };
        let changed = changes(&taken, &all);
        assert_eq!(changed.len(), 24);
        for change in changed {
            copy(&mut taken, &all, &change.field);
        }
        assert_eq!(taken, all);
    }

    #[test]
    fn a_patch_has_what_changes_and_nothing_else() {
        let change = |field: &str, from: Value, to: Value| Change {
            field: field.into(),
            from: Some(from).filter(|value| *value != Value::Null),
            to: Some(to).filter(|value| *value != Value::Null),
        };
        let patch = merge_patch(&[
            change("cpuManagerPolicy", json!("none"), json!("static")),
            change("kubeReserved", json!({"cpu": "1", "pid": "5"}), json!({"cpu": "1", "memory": "1Gi"})),
            change("reservedMemory", json!([{"numaNode": 0}]), Value::Null),
        ]);
        let expected = json!({
            "cpuManagerPolicy": "static", "kubeReserved": {"memory": "1Gi", "pid": null}, "reservedMemory": null,
        });
        assert_eq!(Value::Object(patch), expected);
    }
}
