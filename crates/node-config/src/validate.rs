//! The kubelet's checks of a configuration as a whole, made before it starts anything.
//!
//! All of them are made, and all that is wrong is reported, in the kubelet's order. Much is *not* checked here but
//! only when the managers are created: policy names of the CPU and memory managers, options, and amounts.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use cpuset::{CpuSet, go_quote};
use k8s_quantity::Quantity;
use kubelet_release::MemoryThrottling;
use thiserror::Error;

use crate::configuration::DEFAULT_THROTTLING;
use crate::go_float::go_float;
use crate::reserved_memory::is_memory;
use crate::{FeatureGates, Gate, KubeletConfiguration, Scope, TopologyPolicyName, sysctl};

/// One thing wrong with a configuration. The texts are the kubelet's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("invalid configuration: {0}")]
pub struct Invalid(pub(crate) InvalidField);

impl Invalid {
    /// Which field, and what is the matter with it.
    #[must_use]
    pub const fn field(&self) -> &InvalidField {
        &self.0
    }
}

/// What is wrong with which field.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum InvalidField {
    /// `systemCgroups` without a root to put them in.
    #[error(
        "systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified"
    )]
    SystemCgroupsWithoutRoot,
    /// `defaultPodSysctls` without its gate.
    #[error("DefaultPodSysctls feature gate is required for Kubelet configuration option defaultPodSysctls")]
    SysctlsWithoutGate,
    /// No sysctl has such a name.
    #[error("{} is not a valid sysctl name for defaultPodSysctls", go_quote(.0))]
    SysctlName(String),
    /// A sysctl of the whole node.
    #[error("{} is not known to be namespaced for defaultPodSysctls", go_quote(.0))]
    SysctlOfNode(String),
    /// The same sysctl in two spellings.
    #[error("duplicate sysctl {} found in defaultPodSysctls", go_quote(.0))]
    DuplicateSysctl(String),
    /// `maxPods` below zero.
    #[error("maxPods (--max-pods) {0} must not be a negative number")]
    NegativeMaxPods(i32),
    /// `podsPerCore` below zero.
    #[error("podsPerCore (--pods-per-core) {0} must not be a negative number")]
    NegativePodsPerCore(i32),
    /// No such policy.
    #[error(
        "topologyManagerPolicy (--topology-manager-policy) {} must be one of: [\"none\" \"best-effort\" \"restricted\" \"single-numa-node\"]",
        go_quote(.0)
    )]
    TopologyPolicy(String),
    /// No such scope.
    #[error("topologyManagerScope (--topology-manager-scope) {} must be one of: \"container\", or \"pod\"", go_quote(.0))]
    TopologyScope(String),
    /// A reservation enforced wholly and in its compressible part.
    #[error(
        "both \"{0}\" and \"{0}-compressible\" cannot be specified together in enforceNodeAllocatable (--enforce-node-allocatable)"
    )]
    EnforcedTwice(&'static str),
    /// The same entry twice.
    #[error("duplicated enforcements {} in enforceNodeAllocatable (--enforce-node-allocatable)", go_quote(.0))]
    DuplicateEnforcement(String),
    /// `system-reserved` without its cgroup.
    #[error(
        "systemReservedCgroup (--system-reserved-cgroup) must be specified when \"system-reserved\" or \"system-reserved-compressible\" included in enforceNodeAllocatable (--enforce-node-allocatable)"
    )]
    SystemReservedWithoutCgroup,
    /// `kube-reserved` without its cgroup.
    #[error(
        "kubeReservedCgroup (--kube-reserved-cgroup) must be specified when \"kube-reserved\" or \"kube-reserved-compressible\" included in enforceNodeAllocatable (--enforce-node-allocatable)"
    )]
    KubeReservedWithoutCgroup,
    /// `none` beside another entry.
    #[error(
        "enforceNodeAllocatable (--enforce-node-allocatable) may not contain additional enforcements when \"none\" is specified"
    )]
    NoneBesideOthers,
    /// No such entry.
    #[error(
        "option {} specified for enforceNodeAllocatable (--enforce-node-allocatable). Valid options are \"pods\", \"system-reserved\", \"system-reserved-compressible\", \"kube-reserved\", \"kube-reserved-compressible\" or \"none\"",
        go_quote(.0)
    )]
    UnknownEnforcement(String),
    /// Something is to be enforced, and there are no cgroups to do it with.
    #[error(
        "cgroupsPerQOS (--cgroups-per-qos) must be set to true when {} contained in enforceNodeAllocatable (--enforce-node-allocatable)",
        go_quote(.0)
    )]
    NoCgroups(String),
    /// Reserved CPUs beside cgroups for what is reserved.
    #[error(
        "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)"
    )]
    ReservedCpusBesideCgroups,
    /// Not a list of CPUs.
    #[error("unable to parse reservedSystemCPUs (--reserved-cpus) {list}, error: {error}")]
    ReservedCpus {
        /// What was written.
        list: String,
        /// What is wrong with it.
        error: cpuset::ParseError,
    },
    /// Memory of this kind cannot be reserved.
    #[error(
        "the limit type {} for NUMA node {node} is not supported, only [memory hugepages-<HugePageSize>] is accepted",
        go_quote(resource)
    )]
    ReservedType {
        /// The node's id.
        node: i32,
        /// The resource.
        resource: String,
    },
    /// A reservation of nothing.
    #[error("reserved memory may not be zero for NUMA node {node} and resource {}", go_quote(resource))]
    ReservedZero {
        /// The node's id.
        node: i32,
        /// The resource.
        resource: String,
    },
    /// A second reservation.
    #[error(
        "the reserved memory has a duplicate value for NUMA node {node} and resource {}",
        go_quote(resource)
    )]
    ReservedTwice {
        /// The node's id.
        node: i32,
        /// The resource.
        resource: String,
    },
    /// `memoryThrottlingFactor` without gate `MemoryQoS`.
    #[error("memoryThrottlingFactor must not be set when MemoryQoS feature gate is disabled")]
    ThrottlingWithoutGate,
    /// `memoryThrottlingFactor` out of range; the factor as Go prints it.
    #[error("memoryThrottlingFactor {0} must be greater than 0 and less than or equal to 1.0")]
    ThrottlingRange(String),
}

impl KubeletConfiguration {
    /// Everything that is wrong, in the kubelet's order (in which resources of one node and sysctls have none: here
    /// that of their names). Empty: the kubelet would go on, or its gates cannot be set, which it says before.
    #[must_use]
    pub fn validate(&self) -> Vec<Invalid> {
        let mut wrong = Vec::new();
        // A kubelet whose gates cannot be set stops before it checks the rest.
        let Ok(gates) = self.gates() else { return Vec::new() };
        if said(self.system_cgroups.as_ref()) && !said(self.cgroup_root.as_ref()) {
            wrong.push(InvalidField::SystemCgroupsWithoutRoot);
        }
        self.validate_sysctls(&gates, &mut wrong);
        self.validate_limits(&mut wrong);
        self.validate_topology(&mut wrong);
        self.validate_enforcement(&mut wrong);
        self.validate_reserved_cpus(&mut wrong);
        self.validate_reserved_memory(&mut wrong);
        self.validate_throttling(&gates, &mut wrong);
        wrong.into_iter().map(Invalid).collect()
    }

    fn validate_sysctls(&self, gates: &FeatureGates, wrong: &mut Vec<InvalidField>) {
        if !self.default_pod_sysctls.is_empty() && !gates.is_on(Gate::DefaultPodSysctls) {
            wrong.push(InvalidField::SysctlsWithoutGate);
            return;
        }
        let mut seen = BTreeSet::new();
        for name in self.default_pod_sysctls.keys() {
            if !sysctl::is_valid(name) {
                wrong.push(InvalidField::SysctlName(name.clone()));
                continue;
            }
            let normalized = sysctl::normalized(name);
            if !sysctl::is_namespaced(&normalized) {
                wrong.push(InvalidField::SysctlOfNode(name.clone()));
            }
            if !seen.insert(normalized.clone()) {
                wrong.push(InvalidField::DuplicateSysctl(normalized.into_owned()));
            }
        }
    }

    fn validate_limits(&self, wrong: &mut Vec<InvalidField>) {
        wrong.extend(self.max_pods.filter(|pods| *pods < 0).map(InvalidField::NegativeMaxPods));
        wrong.extend(self.pods_per_core.filter(|pods| *pods < 0).map(InvalidField::NegativePodsPerCore));
    }

    fn validate_topology(&self, wrong: &mut Vec<InvalidField>) {
        if TopologyPolicyName::from_name(self.topology_policy()).is_none() {
            wrong.push(InvalidField::TopologyPolicy(self.topology_policy().to_owned()));
        }
        if Scope::from_name(self.topology_scope()).is_none() {
            wrong.push(InvalidField::TopologyScope(self.topology_scope().to_owned()));
        }
    }

    fn validate_enforcement(&self, wrong: &mut Vec<InvalidField>) {
        let enforced = self.enforced();
        for (whole, part) in [
            ("system-reserved", "system-reserved-compressible"),
            ("kube-reserved", "kube-reserved-compressible"),
        ] {
            if enforced.contains(&whole) && enforced.contains(&part) {
                wrong.push(InvalidField::EnforcedTwice(whole));
            }
        }
        let mut seen = BTreeSet::new();
        for entry in &enforced {
            if !seen.insert(entry) {
                wrong.push(InvalidField::DuplicateEnforcement((*entry).to_owned()));
                continue;
            }
            match *entry {
                "pods" => {}
                "system-reserved" | "system-reserved-compressible" => {
                    if !said(self.system_reserved_cgroup.as_ref()) {
                        wrong.push(InvalidField::SystemReservedWithoutCgroup);
                    }
                }
                "kube-reserved" | "kube-reserved-compressible" => {
                    if !said(self.kube_reserved_cgroup.as_ref()) {
                        wrong.push(InvalidField::KubeReservedWithoutCgroup);
                    }
                }
                "none" => {
                    if enforced.len() > 1 {
                        wrong.push(InvalidField::NoneBesideOthers);
                    }
                    continue;
                }
                unknown => {
                    wrong.push(InvalidField::UnknownEnforcement(unknown.to_owned()));
                    continue;
                }
            }
            if !self.has_cgroups_per_qos() {
                wrong.push(InvalidField::NoCgroups((*entry).to_owned()));
            }
        }
    }

    fn validate_reserved_cpus(&self, wrong: &mut Vec<InvalidField>) {
        let list = self.reserved_cpus();
        if list.is_empty() {
            return;
        }
        if said(self.system_reserved_cgroup.as_ref()) || said(self.kube_reserved_cgroup.as_ref()) {
            wrong.push(InvalidField::ReservedCpusBesideCgroups);
        }
        match list.parse::<CpuSet>() {
            // A number beyond any machine's is a number nevertheless; it is refused as a CPU that is not online.
            Ok(_) | Err(cpuset::ParseError::TooLarge(_)) => {}
            Err(error) => wrong.push(InvalidField::ReservedCpus { list: list.to_owned(), error }),
        }
    }

    fn validate_throttling(&self, gates: &FeatureGates, wrong: &mut Vec<InvalidField>) {
        let Some(factor) = self.throttling_factor() else { return };
        let is_previous_default = factor.to_bits() == DEFAULT_THROTTLING.to_bits();
        if self.rules.memory_throttling == MemoryThrottling::Optional
            && !gates.is_on(Gate::MemoryQos)
            && !is_previous_default
        {
            wrong.push(InvalidField::ThrottlingWithoutGate);
        }
        if factor <= 0.0 || factor > 1.0 {
            wrong.push(InvalidField::ThrottlingRange(go_float(factor)));
        }
    }

    fn validate_reserved_memory(&self, wrong: &mut Vec<InvalidField>) {
        let mut seen = BTreeSet::new();
        for reserved in &self.reserved_memory {
            let node = reserved.numa_node;
            for (resource, amount) in &reserved.limits {
                if !is_memory(resource) {
                    wrong.push(InvalidField::ReservedType { node, resource: resource.clone() });
                }
                if Quantity::is_zero(amount) {
                    wrong.push(InvalidField::ReservedZero { node, resource: resource.clone() });
                }
                if !seen.insert((node, resource)) {
                    wrong.push(InvalidField::ReservedTwice { node, resource: resource.clone() });
                }
            }
        }
    }
}

/// An empty text is an unwritten one.
fn said(field: Option<&String>) -> bool {
    field.is_some_and(|text| !text.is_empty())
}
