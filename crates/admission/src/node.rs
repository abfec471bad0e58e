//! The node: machine, configuration and rules, checked once and never changed.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use device_manager::{Devices, Inventory};
use node_config::{Amounts, OwnOptions, Scope, TieBreak, TopologyConfig, TopologyPolicyName};
use pod_spec::PodLevelResources;
use topology_hint::Provider;
use topology_model::Nodes;
use topology_policy::{Distances, KubeletPolicy, Ties};

use crate::collect::Dead;
use crate::compat::Compat;
use crate::identity::Identity;
use crate::ledger::{Ledger, SourcesReady, Version};
use crate::residents::Residents;

/// What a node is put together from.
#[derive(Debug)]
pub struct NodeSetup {
    /// The NUMA nodes.
    pub nodes: Nodes,
    /// Distance rows of the nodes in ascending id order; `None`: not known.
    pub distances: Vec<Option<Vec<u64>>>,
    /// Policy, scope and options.
    pub topology: TopologyConfig,
    /// The CPU manager; `None`: policy `none`.
    pub cpus: Option<cpu_manager::Static>,
    /// The memory manager; `None`: policy `None`.
    pub memory: Option<memory_manager::Static>,
    /// What pods can use of the node in all, devices left out. Of a resource of Kubernetes' own that is not in it
    /// there is none, except for `pods` and `ephemeral-storage`, which are not checked then; an extended resource that
    /// no device plugin has is not checked, as in the kubelet.
    pub allocatable: Amounts,
    /// What resources at pod level mean.
    pub pod_level: PodLevel,
    /// Where this is not the kubelet.
    pub compat: Compat,
    /// Options of this project's own. Those of the managers have been given to them when they were made.
    pub options: OwnOptions,
}

/// What requests and limits at pod level mean, by the feature gates `PodLevelResources` and
/// `PodLevelResourceManagers`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PodLevel {
    /// Nothing; a pod that has them is refused.
    Ignored,
    /// They decide the QoS class and the fit of the node; nothing of such a pod is pinned.
    #[default]
    NotPinned,
    /// Such a pod is pinned as well: as a whole under pod scope.
    Managed,
}

impl PodLevel {
    /// Whether they count at all.
    #[must_use]
    pub const fn counts(self) -> PodLevelResources {
        match self {
            Self::Ignored => PodLevelResources::Ignored,
            Self::NotPinned | Self::Managed => PodLevelResources::Count,
        }
    }
}

/// One node. Immutable, and shared by all attempts.
#[derive(Clone)]
pub struct Node {
    pub(crate) nodes: Nodes,
    pub(crate) policy: KubeletPolicy,
    pub(crate) scope: Scope,
    pub(crate) distances: Option<Distances>,
    pub(crate) cpus: Option<cpu_manager::Static>,
    pub(crate) memory: Option<memory_manager::Static>,
    pub(crate) devices: Devices,
    pub(crate) allocatable: Amounts,
    pub(crate) pod_level: PodLevel,
    pub(crate) identity: Option<Identity>,
    pub(crate) others: Vec<Arc<dyn Provider + Send + Sync>>,
    pub(crate) compat: Compat,
    pub(crate) options: OwnOptions,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let others: Vec<_> = self.others.iter().map(|provider| provider.name()).collect();
        f.debug_struct("Node")
            .field("nodes", &self.nodes)
            .field("policy", &self.policy)
            .field("scope", &self.scope)
            .field("others", &others)
            .finish_non_exhaustive()
    }
}

impl Node {
    /// The node of `setup`, whose parts have been checked when they were made.
    #[must_use]
    pub fn new(setup: NodeSetup) -> Self {
        let distances = (setup.topology.ties == TieBreak::Closest).then(|| {
            let rows = setup.nodes.ids().map(|id| id.0).zip(setup.distances);
            Distances::new(rows, setup.compat.distance_index)
        });
        Self {
            policy: match setup.topology.policy {
                TopologyPolicyName::None => KubeletPolicy::None,
                TopologyPolicyName::BestEffort => KubeletPolicy::BestEffort,
                TopologyPolicyName::Restricted => KubeletPolicy::Restricted,
                TopologyPolicyName::SingleNumaNode => KubeletPolicy::SingleNumaNode,
            },
            scope: setup.topology.scope,
            nodes: setup.nodes,
            distances,
            cpus: setup.cpus,
            memory: setup.memory,
            devices: Devices::new(setup.compat.blocked_devices),
            allocatable: setup.allocatable,
            pod_level: setup.pod_level,
            identity: None,
            others: Vec::new(),
            compat: setup.compat,
            options: setup.options,
        }
    }

    /// The node with a provider of your own, which is asked after the kubelet's three.
    #[must_use]
    pub fn with_provider(mut self, provider: Box<dyn Provider + Send + Sync>) -> Self {
        self.others.push(provider.into());
        self
    }

    /// The NUMA nodes.
    #[must_use]
    pub const fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// The policy in force.
    #[must_use]
    pub const fn policy(&self) -> KubeletPolicy {
        self.policy
    }

    /// The scope in force.
    #[must_use]
    pub const fn scope(&self) -> Scope {
        self.scope
    }

    /// The CPU manager; `None`: policy `none`.
    #[must_use]
    pub const fn cpus(&self) -> Option<&cpu_manager::Static> {
        self.cpus.as_ref()
    }

    /// The memory manager; `None`: policy `None`.
    #[must_use]
    pub const fn memory(&self) -> Option<&memory_manager::Static> {
        self.memory.as_ref()
    }

    /// What pods can use of the node in all, devices left out.
    #[must_use]
    pub const fn allocatable(&self) -> &Amounts {
        &self.allocatable
    }

    /// The node with a name, labels and taints, which pods may demand; one without has any.
    #[must_use]
    pub fn with_identity(mut self, identity: Identity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// What resources at pod level mean.
    #[must_use]
    pub const fn pod_level(&self) -> PodLevel {
        self.pod_level
    }

    /// The ledger of a node without devices on which nothing runs.
    #[must_use]
    pub fn empty_ledger(&self) -> Ledger {
        Ledger {
            version: Version::default(),
            cpus: self.cpus.as_ref().map(cpu_manager::Static::initial),
            memory: self.memory.as_ref().map(memory_manager::Static::initial),
            devices: device_manager::Holdings::default(),
            device_file: device_manager::Holdings::default(),
            inventory: Inventory::new(self.nodes.clone()),
            others: Arc::default(),
            hints: Arc::default(),
            created: Arc::default(),
            sources: SourcesReady::Yes,
            was_running: Arc::default(),
            pods: Residents::default(),
            dead: Dead::default(),
        }
    }

    pub(crate) fn ties(&self) -> Ties<'_> {
        self.distances.as_ref().map_or(Ties::LowestNumber, Ties::Closest)
    }
}
