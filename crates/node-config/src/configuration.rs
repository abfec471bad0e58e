//! A kubelet configuration as it was written, and what an unwritten field means.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use kubelet_release::{MemoryThrottling, Rules};

use crate::{
    CpuPolicyName, Duration, FeatureGates, GateError, MemoryPolicyName, NodeReporting, ReservedMemory, Scope,
    TopologyPolicyName,
};

/// The fields of a `KubeletConfiguration` that the resource managers look at, and those about the Node object.
///
/// `None` and empty maps are fields that the file leaves out; the methods say what that means. Nothing is
/// checked: see [`validate`](Self::validate) and the `check` functions of the parts.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct KubeletConfiguration {
    /// The rules of the kubelet that reads it; no field of the file.
    pub rules: Rules,
    /// `cpuManagerPolicy`.
    pub cpu_manager_policy: Option<String>,
    /// `cpuManagerPolicyOptions`.
    pub cpu_manager_policy_options: BTreeMap<String, String>,
    /// `cpuManagerReconcilePeriod`.
    pub cpu_manager_reconcile_period: Option<Duration>,
    /// `memoryManagerPolicy`.
    pub memory_manager_policy: Option<String>,
    /// `reservedMemory`.
    pub reserved_memory: Vec<ReservedMemory>,
    /// `topologyManagerPolicy`.
    pub topology_manager_policy: Option<String>,
    /// `topologyManagerScope`.
    pub topology_manager_scope: Option<String>,
    /// `topologyManagerPolicyOptions`.
    pub topology_manager_policy_options: BTreeMap<String, String>,
    /// `kubeReserved`: quantities as text.
    pub kube_reserved: BTreeMap<String, String>,
    /// `systemReserved`: quantities as text.
    pub system_reserved: BTreeMap<String, String>,
    /// `reservedSystemCPUs`: a list of CPUs as text.
    pub reserved_system_cpus: Option<String>,
    /// `evictionHard`. A map without entries is not the same as no map.
    pub eviction_hard: Option<BTreeMap<String, String>>,
    /// `mergeDefaultEvictionSettings`.
    pub merge_default_eviction_settings: Option<bool>,
    /// `enforceNodeAllocatable`. An empty list is not the same as no list.
    pub enforce_node_allocatable: Option<Vec<String>>,
    /// `systemReservedCgroup`.
    pub system_reserved_cgroup: Option<String>,
    /// `kubeReservedCgroup`.
    pub kube_reserved_cgroup: Option<String>,
    /// `systemCgroups`.
    pub system_cgroups: Option<String>,
    /// `cgroupRoot`.
    pub cgroup_root: Option<String>,
    /// `cgroupsPerQOS`.
    pub cgroups_per_qos: Option<bool>,
    /// `maxPods`.
    pub max_pods: Option<i32>,
    /// `podsPerCore`.
    pub pods_per_core: Option<i32>,
    /// `memoryThrottlingFactor`.
    pub memory_throttling_factor: Option<f64>,
    /// `defaultPodSysctls`, by name. Empty for a release that does not know the field.
    pub default_pod_sysctls: BTreeMap<String, String>,
    /// `featureGates`.
    pub feature_gates: BTreeMap<String, bool>,
    /// How the node is registered and reported on.
    pub reporting: NodeReporting,
}

/// Thresholds of `evictionHard` that hold where the configuration names none, by signal.
pub const DEFAULT_EVICTIONS: [(&str, &str); 5] = [
    ("memory.available", "100Mi"),
    ("nodefs.available", "10%"),
    ("nodefs.inodesFree", "5%"),
    ("imagefs.available", "15%"),
    ("imagefs.inodesFree", "5%"),
];

/// `memoryThrottlingFactor` of releases that have a default.
pub(crate) const DEFAULT_THROTTLING: f64 = 0.9;

/// An empty text is an unwritten one.
fn or<'a>(field: Option<&'a String>, default: &'a str) -> &'a str {
    field.map(String::as_str).filter(|text| !text.is_empty()).unwrap_or(default)
}

/// Settings by their types, for configurations that no file is read for.
impl KubeletConfiguration {
    /// What a kubelet without `--config` starts from: the defaults, but no hard eviction thresholds. The kubelet fills
    /// those in where it reads that file ([`loadConfigFile`]).
    ///
    /// [`loadConfigFile`]: https://github.com/kubernetes/kubernetes/blob/v1.36.3/cmd/kubelet/app/server.go#L453
    #[must_use]
    pub fn without_file(rules: Rules) -> Self {
        Self { rules, eviction_hard: Some(BTreeMap::new()), ..Self::default() }
    }

    /// Sets `cpuManagerPolicy`.
    #[must_use]
    pub fn with_cpu_policy(self, policy: CpuPolicyName) -> Self {
        Self { cpu_manager_policy: Some(policy.name().to_owned()), ..self }
    }

    /// Sets `memoryManagerPolicy`.
    #[must_use]
    pub fn with_memory_policy(self, policy: MemoryPolicyName) -> Self {
        Self { memory_manager_policy: Some(policy.name().to_owned()), ..self }
    }

    /// Sets `topologyManagerPolicy`.
    #[must_use]
    pub fn with_topology_policy(self, policy: TopologyPolicyName) -> Self {
        Self { topology_manager_policy: Some(policy.name().to_owned()), ..self }
    }

    /// Sets `topologyManagerScope`.
    #[must_use]
    pub fn with_topology_scope(self, scope: Scope) -> Self {
        Self { topology_manager_scope: Some(scope.name().to_owned()), ..self }
    }

    /// Sets `reservedSystemCPUs`: CPUs in list form, `0-1,8`.
    #[must_use]
    pub fn with_reserved_cpus(self, cpus: &str) -> Self {
        Self { reserved_system_cpus: Some(cpus.to_owned()), ..self }
    }
}

impl KubeletConfiguration {
    /// Which gates are on in the release that the rules are of, with the changes of `featureGates`.
    ///
    /// # Errors
    /// As [`FeatureGates::check`]; a kubelet does not start with them.
    pub fn gates(&self) -> Result<FeatureGates, Vec<GateError>> {
        FeatureGates::check(self.rules.gates, &self.feature_gates)
    }

    /// `memoryThrottlingFactor`: how much of its memory limit a container may use before it is throttled. `None`: it
    /// is not throttled, which releases with a default of 0.9 cannot say.
    #[must_use]
    pub fn throttling_factor(&self) -> Option<f64> {
        match self.rules.memory_throttling {
            MemoryThrottling::Defaulted => Some(self.memory_throttling_factor.unwrap_or(DEFAULT_THROTTLING)),
            MemoryThrottling::Optional => self.memory_throttling_factor,
        }
    }

    /// `cpuManagerPolicy`, by default `none`.
    #[must_use]
    pub fn cpu_policy(&self) -> &str {
        or(self.cpu_manager_policy.as_ref(), "none")
    }

    /// `memoryManagerPolicy`, by default `None`.
    #[must_use]
    pub fn memory_policy(&self) -> &str {
        or(self.memory_manager_policy.as_ref(), "None")
    }

    /// `topologyManagerPolicy`, by default `none`.
    #[must_use]
    pub fn topology_policy(&self) -> &str {
        or(self.topology_manager_policy.as_ref(), "none")
    }

    /// `topologyManagerScope`, by default `container`.
    #[must_use]
    pub fn topology_scope(&self) -> &str {
        or(self.topology_manager_scope.as_ref(), "container")
    }

    /// `cpuManagerReconcilePeriod`, by default 10 s. No time at all is an unwritten one.
    #[must_use]
    pub fn reconcile_period(&self) -> Duration {
        let said = self.cpu_manager_reconcile_period.filter(|period| !period.is_zero());
        said.unwrap_or(Duration::from_seconds(10))
    }

    /// `reservedSystemCPUs`, by default empty.
    #[must_use]
    pub fn reserved_cpus(&self) -> &str {
        or(self.reserved_system_cpus.as_ref(), "")
    }

    /// `enforceNodeAllocatable`, by default `pods`.
    #[must_use]
    pub fn enforced(&self) -> Vec<&str> {
        self.enforce_node_allocatable
            .as_ref()
            .map_or_else(|| alloc::vec!["pods"], |list| list.iter().map(String::as_str).collect())
    }

    /// `evictionHard` by signal. The defaults hold only where the field is absent, or where
    /// `mergeDefaultEvictionSettings` adds those that it leaves out.
    #[must_use]
    pub fn eviction(&self) -> BTreeMap<String, String> {
        let defaults = || DEFAULT_EVICTIONS.map(|(signal, value)| (signal.to_owned(), value.to_owned()));
        match &self.eviction_hard {
            None => defaults().into(),
            Some(said) if self.merge_default_eviction_settings == Some(true) => {
                defaults().into_iter().chain(said.clone()).collect()
            }
            Some(said) => said.clone(),
        }
    }

    /// `cgroupsPerQOS`, by default true.
    #[must_use]
    pub fn has_cgroups_per_qos(&self) -> bool {
        self.cgroups_per_qos.unwrap_or(true)
    }

    /// `maxPods`, by default 110. Zero is an unwritten one.
    #[must_use]
    pub fn pod_limit(&self) -> i32 {
        self.max_pods.filter(|pods| *pods != 0).unwrap_or(110)
    }
}
