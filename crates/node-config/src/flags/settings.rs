//! What the flags that decide are set to, and how it goes over the configuration of the files.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::error::FlagError;
use crate::{
    CpuConfigError, Duration, Eviction, Invalid, InvalidField, KubeletConfiguration, MemoryConfigError,
    RegisteredTaint, ReservedMemoryFlag,
};

/// Values of flags that decide; `None` where the flag is not there.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Settings {
    pub(super) config: Option<String>,
    pub(super) config_dir: Option<String>,
    pub(super) root_dir: Option<String>,
    pub(super) hostname_override: Option<String>,
    pub(super) pod_manifest_path: Option<String>,
    pub(super) ignore_eviction: Option<bool>,
    /// Keys of `--node-labels` that a kubelet must not set.
    pub(super) foreign_labels: BTreeSet<String>,
    pub(super) cpu_manager_policy: Option<String>,
    pub(super) cpu_manager_policy_options: Option<BTreeMap<String, String>>,
    pub(super) cpu_manager_reconcile_period: Option<Duration>,
    pub(super) memory_manager_policy: Option<String>,
    /// Without reservations: not there.
    pub(super) reserved_memory: ReservedMemoryFlag,
    pub(super) topology_manager_policy: Option<String>,
    pub(super) topology_manager_scope: Option<String>,
    pub(super) topology_manager_policy_options: Option<BTreeMap<String, String>>,
    pub(super) kube_reserved: Option<BTreeMap<String, String>>,
    pub(super) system_reserved: Option<BTreeMap<String, String>>,
    pub(super) reserved_cpus: Option<String>,
    pub(super) eviction_hard: Option<BTreeMap<String, String>>,
    pub(super) enforce_node_allocatable: Option<Vec<String>>,
    pub(super) system_reserved_cgroup: Option<String>,
    pub(super) kube_reserved_cgroup: Option<String>,
    pub(super) system_cgroups: Option<String>,
    pub(super) cgroup_root: Option<String>,
    pub(super) cgroups_per_qos: Option<bool>,
    pub(super) max_pods: Option<i32>,
    pub(super) pods_per_core: Option<i32>,
    pub(super) feature_gates: Option<BTreeMap<String, bool>>,
    pub(super) register_with_taints: Option<Vec<RegisteredTaint>>,
    pub(super) node_status_update_frequency: Option<Duration>,
}

impl Settings {
    /// These settings with those of `paths` that no file has.
    pub(super) fn with_paths(self, paths: Self) -> Self {
        let Self { config, config_dir, root_dir, hostname_override, ignore_eviction, foreign_labels, .. } =
            paths;
        Self { config, config_dir, root_dir, hostname_override, ignore_eviction, foreign_labels, ..self }
    }

    /// Values that a flag takes and the kubelet refuses later: those that would be unwritten in a file.
    pub(super) fn check(&self) -> Result<(), FlagError> {
        let is_empty = |text: &Option<String>| text.as_ref().is_some_and(String::is_empty);
        if is_empty(&self.topology_manager_policy) {
            return Err(FlagError::Configuration(Invalid(InvalidField::TopologyPolicy(String::new()))));
        }
        if is_empty(&self.topology_manager_scope) {
            return Err(FlagError::Configuration(Invalid(InvalidField::TopologyScope(String::new()))));
        }
        if is_empty(&self.cpu_manager_policy) {
            return Err(FlagError::CpuPolicy(CpuConfigError::UnknownPolicy(String::new())));
        }
        if is_empty(&self.memory_manager_policy) {
            return Err(FlagError::MemoryPolicy(MemoryConfigError::UnknownPolicy(String::new())));
        }
        if self.max_pods == Some(0) { Err(FlagError::NoPods) } else { Ok(()) }
    }

    /// Writes the values over the fields that they set.
    pub(super) fn put_over(&self, config: &mut KubeletConfiguration) {
        put(&mut config.cpu_manager_policy, self.cpu_manager_policy.as_ref());
        put(&mut config.cpu_manager_reconcile_period, self.cpu_manager_reconcile_period.as_ref());
        put(&mut config.memory_manager_policy, self.memory_manager_policy.as_ref());
        put(&mut config.topology_manager_policy, self.topology_manager_policy.as_ref());
        put(&mut config.topology_manager_scope, self.topology_manager_scope.as_ref());
        put(&mut config.enforce_node_allocatable, self.enforce_node_allocatable.as_ref());
        put(&mut config.system_reserved_cgroup, self.system_reserved_cgroup.as_ref());
        put(&mut config.kube_reserved_cgroup, self.kube_reserved_cgroup.as_ref());
        put(&mut config.cgroups_per_qos, self.cgroups_per_qos.as_ref());
        put(&mut config.max_pods, self.max_pods.as_ref());
        put(&mut config.pods_per_core, self.pods_per_core.as_ref());
        put_text(&mut config.reserved_system_cpus, self.reserved_cpus.as_ref());
        put_text(&mut config.system_cgroups, self.system_cgroups.as_ref());
        put_text(&mut config.cgroup_root, self.cgroup_root.as_ref());
        replace(&mut config.cpu_manager_policy_options, self.cpu_manager_policy_options.as_ref());
        replace(&mut config.topology_manager_policy_options, self.topology_manager_policy_options.as_ref());
        replace(&mut config.kube_reserved, self.kube_reserved.as_ref());
        replace(&mut config.system_reserved, self.system_reserved.as_ref());
        let reserved_memory = self.reserved_memory.reserved();
        if !reserved_memory.is_empty() {
            config.reserved_memory = reserved_memory.to_vec();
        }
        config.feature_gates.extend(self.feature_gates.clone().unwrap_or_default());
        self.put_eviction(config);
        self.put_reporting(config);
    }

    fn put_eviction(&self, config: &mut KubeletConfiguration) {
        if let Some(thresholds) = &self.eviction_hard {
            config.eviction_hard = Some(thresholds.clone());
            config.merge_default_eviction_settings = None;
        }
        // Thresholds that cannot be read stay: the kubelet does not start with them in any case.
        if self.ignore_eviction == Some(true) && Eviction::parse(&config.eviction()).is_ok() {
            config.eviction_hard = Some(BTreeMap::new());
            config.merge_default_eviction_settings = None;
        }
    }

    fn put_reporting(&self, config: &mut KubeletConfiguration) {
        let reporting = &mut config.reporting;
        replace(&mut reporting.register_with_taints, self.register_with_taints.as_ref());
        if let Some(period) = self.node_status_update_frequency {
            // The default of the one comes from the other of the file, before flags are read.
            reporting.node_status_report_frequency = Some(reporting.report_frequency());
            reporting.node_status_update_frequency = Some(period);
        }
    }
}

fn put<T: Clone>(field: &mut Option<T>, flag: Option<&T>) {
    if flag.is_some() {
        *field = flag.cloned();
    }
}

/// The same of a text that means nothing if it is empty.
fn put_text(field: &mut Option<String>, flag: Option<&String>) {
    if let Some(text) = flag {
        *field = Some(text.clone()).filter(|text| !text.is_empty());
    }
}

fn replace<T: Clone>(field: &mut T, flag: Option<&T>) {
    if let Some(value) = flag {
        field.clone_from(value);
    }
}
