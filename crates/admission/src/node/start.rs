//! A node put together from a machine and a kubelet configuration, in the kubelet's order and with its errors.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use cpu_manager::{Alignment, Baselines, Order, ReservedCpus, WholeCores};
use kubelet_release::{CheckpointForm, Rules};
use node_config::{
    Amounts, CapacityFacts, ClaimHints, CpuConfigError, CpuFacts, CpuOption, CpuPolicyName, DistanceRows,
    FeatureGates, Gate, GateError, KubeletConfiguration, MemoryConfigError, MemoryNodes, MemoryPolicyName,
    OwnOptions, PodChoice, Reservation, ReservationError, ReservedTooMuch, Resize, TopologyConfig,
    TopologyConfigError, TopologyFacts, TopologyPolicyName, allocatable, capacity, cpu_options,
    reserved_too_much,
};
use numa_bitmask::NodeMask;
use pod_spec::{EmptyPodResources, PodLevel, PodLevelDefaults, PodRules, ResourceList, ResourceName};
use thiserror::Error;
use topology_model::{KubeletView, NodeId, NodeMemory};

use crate::node::claim_hints;
use crate::node::compat::Compat;
use crate::node::{Node, NodeSetup, Origin, PodAllocations};

/// The kubelet would not start on this machine with this configuration; displays as the first fault.
#[derive(Clone, PartialEq, Debug)]
pub struct StartError(Vec<StartFault>);

impl StartError {
    /// Everything that the kubelet could report, at least one: where its choice among several faults is left to
    /// chance all of them are here.
    #[must_use]
    pub fn faults(&self) -> &[StartFault] {
        &self.0
    }

    fn all<F: Into<StartFault>>(faults: Vec<F>) -> Self {
        Self(faults.into_iter().map(Into::into).collect())
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.first().map_or(Ok(()), |fault| fault.fmt(f))
    }
}

impl core::error::Error for StartError {}

/// One reason not to start. The texts are the kubelet's.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum StartFault {
    /// Feature gates; the kubelet crashes with this text.
    #[error("failed to merge global and in-flight KubeletConfiguration while setting defaults, error: {0}")]
    Gate(#[from] GateError),
    /// What is reserved for the system.
    #[error(transparent)]
    Reservation(#[from] ReservationError),
    /// The Topology Manager.
    #[error(transparent)]
    Topology(#[from] TopologyConfigError),
    /// The CPU manager's policy or options.
    #[error(transparent)]
    CpuConfig(#[from] CpuConfigError),
    /// The CPU manager's reservation.
    #[error(transparent)]
    CpuReservation(#[from] cpu_manager::ReservationError),
    /// The CPU manager on this machine.
    #[error("new static policy error: {0}")]
    Cpus(#[from] cpu_manager::ConfigError),
    /// The memory manager's policy.
    #[error(transparent)]
    MemoryConfig(#[from] MemoryConfigError),
    /// The memory manager on this machine.
    #[error(transparent)]
    Memory(#[from] memory_manager::ConfigError),
    /// The Topology Manager cannot do what pods may choose.
    #[error("podPolicy.allow lets pods choose a policy beside topologyManagerPolicy none: {0}")]
    PodPolicy(TopologyConfigError),
    /// The CPU manager cannot do what pods may choose.
    #[error("podPolicy.allow has policy=single-numa-node, which cpuManagerPolicyOptions exclude: {0}")]
    PodPolicyCpus(CpuConfigError),
    /// More is reserved than there is.
    #[error(transparent)]
    ReservedTooMuch(#[from] ReservedTooMuch),
}

impl<F: Into<StartFault>> From<F> for StartError {
    fn from(fault: F) -> Self {
        Self(alloc::vec![fault.into()])
    }
}

/// How a node starts, besides its machine and its configuration. The default is the product on a file system of unknown size.
#[derive(Clone, Debug, Default)]
pub struct StartOptions {
    /// Where this is not the kubelet.
    pub compat: Compat,
    /// Options of this project's own.
    pub own: OwnOptions,
    /// The size of the root file system.
    pub root_file_system: RootFileSystem,
}

impl StartOptions {
    /// As the kubelet, or as the product, with default options.
    #[must_use]
    pub fn decided_as(compat: Compat) -> Self {
        Self { compat, ..Self::default() }
    }

    /// The same with these options of this project's own.
    #[must_use]
    pub fn with_own(self, own: OwnOptions) -> Self {
        Self { own, ..self }
    }
}

/// The size of the file system of which pods get their ephemeral storage.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RootFileSystem {
    /// Storage is not checked.
    #[default]
    Unknown,
    /// As many bytes.
    Bytes(u64),
}

impl Node {
    /// The node that topolet would make of a machine and a configuration that has passed
    /// [`KubeletConfiguration::validate`]; it decides as a kubelet does but for the faults that [`Compat`] lists.
    ///
    /// # Errors
    /// What would keep the kubelet from starting.
    pub fn start(view: &KubeletView, config: &KubeletConfiguration) -> Result<Self, StartError> {
        Self::start_with(view, config, StartOptions::default())
    }

    /// The same with a kubelet's faults ([`Compat::KUBELET`]), or some of them.
    ///
    /// # Errors
    /// What would keep it from starting.
    pub fn start_as(
        view: &KubeletView,
        config: &KubeletConfiguration,
        compat: Compat,
    ) -> Result<Self, StartError> {
        Self::start_with(view, config, StartOptions::decided_as(compat))
    }

    /// The same with everything that can be chosen.
    ///
    /// # Errors
    /// What would keep it from starting.
    pub fn start_with(
        view: &KubeletView,
        config: &KubeletConfiguration,
        with: StartOptions,
    ) -> Result<Self, StartError> {
        let StartOptions { compat, own: options, root_file_system } = with;
        let root_file_system = match root_file_system {
            RootFileSystem::Unknown => None,
            RootFileSystem::Bytes(bytes) => Some(bytes),
        };
        let gates = config.gates().map_err(StartError::all)?;
        let reservation = Reservation::check(config, view.cpus().all()).map_err(StartError::all)?;
        let facts = |root_file_system| CapacityFacts {
            cpus: view.cpus().num_cpus(),
            memory: view.memory_capacity(),
            hugepages: view.hugepages().iter().map(|pages| (pages.page_size_kib, pages.num_pages)).collect(),
            root_file_system,
        };
        // The managers are created before the file system is known.
        let kept = reservation.amounts(&capacity(&facts(None), config));
        let starting = Starting { view, config, compat, options: options.clone(), gates, reservation, kept };

        let topology = starting.topology()?;
        let cpus = starting.cpus(topology.policy)?;
        let memory = starting.memory()?;
        let capacity = capacity(&facts(root_file_system), config);
        let kept = starting.reservation.amounts(&capacity);
        let too_much = reserved_too_much(&capacity, &kept);
        if !too_much.is_empty() {
            return Err(StartError::all(too_much));
        }
        let pod_allocations = if starting.gates.is_on(Gate::InPlacePodVerticalScaling) {
            PodAllocations::Kept
        } else {
            PodAllocations::Forgotten
        };
        let node = Self::new(NodeSetup {
            nodes: view.nodes().clone(),
            distances: view.node_memory().iter().map(|node| node.distances.clone()).collect(),
            topology,
            cpus,
            memory,
            allocatable: allocatable(&capacity, &kept),
            pod_level: pod_level(&starting.gates, &config.rules),
            pod_rules: rules_of_pods(config, &starting.gates),
            rules: config.rules,
            compat,
            options,
        });
        let node = match node.options.claim_hints {
            // A kubelet has no such provider, whatever the options.
            ClaimHints::Hint if !compat.is_kubelet() => node.with_provider(claim_hints::ClaimHints),
            ClaimHints::Hint | ClaimHints::Ignore => node,
        };
        let origin = Some(Arc::new(Origin { view: view.clone(), config: config.clone() }));
        Ok(Self { pod_allocations, origin, ..node })
    }
}

/// How a kubelet with this configuration reads and classifies pods. Gates that cannot be set so are as they are by
/// default: no node starts with them.
#[must_use]
pub fn pod_rules(config: &KubeletConfiguration) -> PodRules {
    rules_of_pods(config, &config.gates().unwrap_or_default())
}

fn rules_of_pods(config: &KubeletConfiguration, gates: &FeatureGates) -> PodRules {
    let PodRules { pod_level, mut defaults, qos, mut empty } =
        PodRules::of(&config.rules, pod_level(gates, &config.rules).counts());
    // What the release does, unless the gate that brought it is switched off.
    if gates.is_off(Gate::PodLevelResourcesFixDefaulting) {
        defaults = PodLevelDefaults::Requests;
    }
    if gates.is_off(Gate::PodLevelResourcesFixKubeletQosClass) {
        empty = EmptyPodResources::BestEffort;
    }
    PodRules { pod_level, defaults, qos, empty }
}

fn pod_level(gates: &FeatureGates, rules: &Rules) -> PodLevel {
    match (gates.is_on(Gate::PodLevelResources), gates.is_on(Gate::PodLevelResourceManagers)) {
        (false, _) => PodLevel::off(rules),
        (true, false) => PodLevel::NotPinned,
        (true, true) => PodLevel::Managed,
    }
}

/// A node being put together.
struct Starting<'a> {
    view: &'a KubeletView,
    config: &'a KubeletConfiguration,
    compat: Compat,
    options: OwnOptions,
    gates: FeatureGates,
    reservation: Reservation,
    /// What is kept of CPUs and memory.
    kept: Amounts,
}

impl Starting<'_> {
    /// Whether the CPUs are remembered with which containers were admitted.
    fn baselines(&self) -> Baselines {
        if self.options.cpu_resize == Resize::Allow {
            return Baselines::Kept;
        }
        match self.config.rules.checkpoints {
            CheckpointForm::Embedded if self.gates.is_on(Gate::InPlacePodVerticalScalingExclusiveCpus) => {
                Baselines::Kept
            }
            CheckpointForm::Embedded | CheckpointForm::Plain | CheckpointForm::Single => Baselines::Forgotten,
        }
    }

    fn nodes_with_cpus(&self) -> NodeMask {
        let has_cpus = |id: &NodeId| self.view.cpus().cpus_in_node(*id).is_some_and(|cpus| !cpus.is_empty());
        self.view.nodes().mask_of(self.view.nodes().ids().filter(has_cpus))
    }

    /// Under policy `none` the kubelet looks at neither scope nor options; a pod that may choose another policy needs
    /// them.
    fn topology(&self) -> Result<TopologyConfig, StartError> {
        const UNDER_NONE: &str = "none";
        let configured = self.config.topology_policy();
        let is_chosen = |choice: &PodChoice| {
            matches!(choice, PodChoice::Policy(policy) if *policy != TopologyPolicyName::None)
                && self.options.pod_policy.allows(*choice)
        };
        if configured != UNDER_NONE || !PodChoice::ALL.iter().any(is_chosen) {
            return self.topology_under(configured).map_err(StartError::all);
        }
        let checked = self.topology_under(TopologyPolicyName::BestEffort.name());
        let checked =
            checked.map_err(|faults| StartError(faults.into_iter().map(StartFault::PodPolicy).collect()))?;
        Ok(TopologyConfig { policy: TopologyPolicyName::None, ..checked })
    }

    fn topology_under(&self, policy: &str) -> Result<TopologyConfig, Vec<TopologyConfigError>> {
        let has_distances = |node: &NodeMemory| node.distances.is_some();
        let facts = TopologyFacts {
            nodes: self.view.nodes().len(),
            distances: if self.view.node_memory().iter().all(has_distances) {
                DistanceRows::Complete
            } else {
                DistanceRows::Missing
            },
        };
        TopologyConfig::check(
            policy,
            self.config.topology_scope(),
            &self.config.topology_manager_policy_options,
            &self.gates,
            &self.config.rules,
            facts,
            self.compat.node_limit,
        )
    }

    fn cpus(&self, topology_policy: TopologyPolicyName) -> Result<Option<cpu_manager::Static>, StartError> {
        let options = &self.config.cpu_manager_policy_options;
        match CpuPolicyName::check(self.config.cpu_policy(), options)? {
            CpuPolicyName::None => return Ok(None),
            CpuPolicyName::Static => {}
        }
        let amount = self.kept.get("cpu");
        let reserved = cpu_manager::Reserved::configured(self.reservation.cpus.clone(), amount)?;
        let table = self.view.cpus();
        let facts =
            CpuFacts { sockets: table.num_sockets(), nodes_with_cpus: table.num_nodes(), topology_policy };
        let own = options;
        let options = cpu_options(own, &self.gates, &self.config.rules, facts).map_err(StartError::all)?;
        if self.options.pod_policy.allows(PodChoice::Policy(TopologyPolicyName::SingleNumaNode)) {
            let facts = CpuFacts { topology_policy: TopologyPolicyName::SingleNumaNode, ..facts };
            cpu_options(own, &self.gates, &self.config.rules, facts)
                .map_err(|faults| StartError(faults.into_iter().map(StartFault::PodPolicyCpus).collect()))?;
        }
        let config = cpu_manager::Config {
            options: typed(&options),
            reserved,
            pod_level: pod_level(&self.gates, &self.config.rules),
            busy_sibling: self.compat.busy_sibling,
            pod_bubble: self.compat.pod_bubble,
            full_node: self.compat.full_node,
            cache_alignment: self.options.cache_alignment,
            fit: self.options.placement.strategy.fit(),
            aligned_share: self.config.rules.aligned_share,
            whole_core_check: self.config.rules.whole_core_check,
            baselines: self.baselines(),
        };
        Ok(Some(cpu_manager::Static::new(table, self.view.nodes(), config)?))
    }

    fn memory(&self) -> Result<Option<memory_manager::Static>, StartError> {
        match MemoryPolicyName::check(self.config.memory_policy())? {
            MemoryPolicyName::None => return Ok(None),
            MemoryPolicyName::Static => {}
        }
        let reserved = self.config.reserved_memory.iter().map(|reserved| memory_manager::Reservation {
            node: NodeId(i64::from(reserved.numa_node)),
            limits: named(&reserved.limits),
        });
        let config = memory_manager::Config {
            reserved: memory_manager::Reservations(reserved.collect()),
            node_allocatable: named(&self.kept),
            pod_level: pod_level(&self.gates, &self.config.rules),
            wrapped_tables: self.compat.wrapped_tables,
            readmission: self.compat.readmission,
            uneven_group: self.compat.uneven_group,
            empty_request: self.config.rules.empty_memory_request,
        };
        let policy = memory_manager::Static::new(self.view.nodes(), self.view.node_memory(), &config)
            .map_err(|error| StartError::all(error.alternatives()))?;
        Ok(Some(match self.options.memory_nodes {
            MemoryNodes::All => policy,
            MemoryNodes::WithCpus => policy.within(self.nodes_with_cpus()),
        }))
    }
}

fn named(amounts: &Amounts) -> ResourceList {
    amounts.iter().map(|(resource, amount)| (ResourceName::new(resource), amount.clone())).collect()
}

/// The options that are switched on; no two of them exclude each other.
fn typed(on: &BTreeSet<CpuOption>) -> cpu_manager::Options {
    let is = |option| on.contains(&option);
    cpu_manager::Options {
        order: if is(CpuOption::DistributeAcrossNuma) {
            Order::AcrossNodes
        } else if is(CpuOption::DistributeAcrossCores) {
            Order::AcrossCores
        } else if is(CpuOption::PreferAlignByUncoreCache) {
            Order::ByCache
        } else {
            Order::Packed
        },
        whole_cores: if is(CpuOption::FullPcpusOnly) {
            WholeCores::Required
        } else {
            WholeCores::NotRequired
        },
        reserved: if is(CpuOption::StrictReservation) {
            ReservedCpus::SystemOnly
        } else {
            ReservedCpus::InSharedPool
        },
        alignment: if is(CpuOption::AlignBySocket) { Alignment::BySocket } else { Alignment::ByNode },
    }
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned;

    use node_config::{Release, Rules};
    use pod_spec::PodLevelResources;

    use super::*;

    #[test]
    fn the_gates_of_a_release_bring_the_old_ways_back() {
        let rules = |release, off: &[&str]| {
            let gates = off.iter().map(|gate| ((*gate).to_owned(), false)).collect();
            let rules = Rules::of(release);
            pod_rules(&KubeletConfiguration {
                rules,
                feature_gates: gates,
                ..KubeletConfiguration::default()
            })
        };
        let (old, new) = (rules(Release::V1_36, &[]), rules(Release::V1_37, &[]));
        assert_eq!(old, PodLevelResources::Count.into());
        assert_eq!(
            (new.defaults, new.empty),
            (PodLevelDefaults::RequestsAndLimits, EmptyPodResources::NoClass)
        );
        let defaulting = rules(Release::V1_37, &["PodLevelResourcesFixDefaulting"]);
        assert_eq!(defaulting, PodRules { defaults: PodLevelDefaults::Requests, ..new });
        let class = rules(Release::V1_37, &["PodLevelResourcesFixKubeletQOSClass"]);
        assert_eq!(class, PodRules { empty: EmptyPodResources::BestEffort, ..new });
        let resources = [
            "PodLevelResources",
            "PodLevelResourcesFixDefaulting",
            "PodLevelResourcesFixKubeletQOSClass",
            "InPlacePodLevelResourcesVerticalScaling",
        ];
        assert_eq!(rules(Release::V1_37, &resources).pod_level, PodLevelResources::Ignored);
    }
}
