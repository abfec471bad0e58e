//! The static policy of one machine.

use alloc::vec::Vec;

use cpuset::{CpuId, CpuSet};
use kubelet_release::WholeCoreCheck;
use numa_bitmask::NodeMask;
use pod_spec::ResourceName;
use thiserror::Error;
use topology_model::{CpuTable, NodeId, Nodes};

use crate::{
    Alignment, Allocator, Baselines, CacheAlignment, Config, FullNode, Holdings, Order, PodBubble, PodLevel,
    ReservedCpus, WholeCores,
};

/// The static policy of one machine: immutable, to be asked again and again.
#[derive(Clone, Debug)]
pub struct Static {
    pub(crate) allocator: Allocator,
    pub(crate) options: crate::Options,
    pub(crate) pod_level: PodLevel,
    pub(crate) pod_bubble: PodBubble,
    pub(crate) full_node: FullNode,
    pub(crate) cache_alignment: CacheAlignment,
    pub(crate) whole_core_check: WholeCoreCheck,
    pub(crate) baselines: Baselines,
    pub(crate) reserved: CpuSet,
    /// All CPUs of all cores that have a reserved one.
    pub(crate) reserved_cores: CpuSet,
    pub(crate) nodes: Vec<NodeCpus>,
    pub(crate) sockets: Vec<SocketCpus>,
    /// NUMA nodes for each socket, rounded down; 0 where there are more sockets.
    pub(crate) nodes_per_socket: usize,
    /// Shared, so that an answer allocates nothing.
    pub(crate) resource: ResourceName,
}

/// A NUMA node that has CPUs.
#[derive(Clone, Debug)]
pub(crate) struct NodeCpus {
    pub(crate) id: NodeId,
    pub(crate) mask: NodeMask,
    pub(crate) cpus: CpuSet,
    pub(crate) installed: usize,
    pub(crate) not_reserved: CpuSet,
}

/// A socket and the nodes that have a CPU in it.
#[derive(Clone, Debug)]
pub(crate) struct SocketCpus {
    pub(crate) nodes: NodeMask,
    pub(crate) cpus: CpuSet,
}

/// Why there is no policy for this machine and configuration. The texts are the kubelet's, except those of
/// [`ConfigError::UnknownNode`] and [`ConfigError::RequiredCacheDistributed`].
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Whole cores, and threads spread over cores.
    #[error(
        "static policy options full-pcpus-only and distribute-cpus-across-cores can not be used at the same time"
    )]
    WholeCoresAcrossCores,
    /// CPUs in as few caches as they fill, and spread over nodes or cores. The kubelet has no such option.
    #[error("cpu.cacheAlignment required can not be used with options that distribute cpus")]
    RequiredCacheDistributed,
    /// Sockets are smaller than NUMA nodes.
    #[error(
        "Align by socket is not compatible with hardware where number of sockets are more than number of NUMA"
    )]
    MoreSocketsThanNodes,
    /// Too few CPUs to choose from, or another number than the amount that is reserved.
    #[error(
        "[cpumanager] unable to reserve the required amount of CPUs (size of {reserved} did not equal {count})"
    )]
    Reserved {
        /// What was to be reserved.
        reserved: CpuSet,
        /// How many it should be.
        count: usize,
    },
    /// A reserved CPU that the machine lacks.
    #[error(
        "[cpumanager] unable to build the reserved physical CPUs from the reserved set: unknown CPU ID: {0}"
    )]
    UnknownCpu(CpuId),
    /// The CPUs name a node that is not among the machine's.
    #[error("CPUs are on NUMA node {0}, which is not among the nodes of the machine")]
    UnknownNode(NodeId),
}

impl Static {
    /// The policy for a machine with these CPUs. `nodes` gives node sets their positions and may have nodes
    /// without CPUs.
    pub fn new(cpus: &CpuTable, nodes: &Nodes, config: Config) -> Result<Self, ConfigError> {
        let options = config.options;
        if options.whole_cores == WholeCores::Required && options.order == Order::AcrossCores {
            return Err(ConfigError::WholeCoresAcrossCores);
        }
        let is_distributed = matches!(options.order, Order::AcrossCores | Order::AcrossNodes);
        if config.cache_alignment == CacheAlignment::Required && is_distributed {
            return Err(ConfigError::RequiredCacheDistributed);
        }
        let num_nodes = cpus.num_nodes();
        if options.alignment == Alignment::BySocket && cpus.num_sockets() > num_nodes {
            return Err(ConfigError::MoreSocketsThanNodes);
        }
        let allocator = Allocator::new(cpus)
            .with_order(options.order)
            .with_whole_cores(options.whole_cores)
            .with_busy_sibling(config.busy_sibling)
            .with_share(config.aligned_share, options.alignment);
        let reserved = match config.reserved.explicit {
            chosen if chosen.is_empty() => {
                // The kubelet goes on with nothing, which then is the wrong number.
                allocator.take(cpus.all(), config.reserved.count).unwrap_or_default()
            }
            explicit => explicit,
        };
        if reserved.len() != config.reserved.count {
            return Err(ConfigError::Reserved { reserved, count: config.reserved.count });
        }
        if let Some(unknown) = (&reserved - cpus.all()).first() {
            return Err(ConfigError::UnknownCpu(unknown));
        }
        let mut reserved_cores = CpuSet::new();
        for (_, core) in cpus.cores().filter(|(_, core)| !core.is_disjoint(&reserved)) {
            reserved_cores |= core;
        }
        let node_cpus = |(id, cpus): (NodeId, &CpuSet)| {
            let index = nodes.index_of(id).ok_or(ConfigError::UnknownNode(id))?;
            let not_reserved = cpus - &reserved;
            let mask = NodeMask::single(index);
            Ok(NodeCpus { id, mask, installed: cpus.len(), cpus: cpus.clone(), not_reserved })
        };
        let node_cpus = cpus.nodes().map(node_cpus).collect::<Result<Vec<_>, _>>()?;
        let socket_cpus =
            |cpus: &CpuSet| SocketCpus { nodes: nodes_of(&node_cpus, cpus), cpus: cpus.clone() };
        Ok(Self {
            sockets: cpus.sockets().map(|(_, cpus)| socket_cpus(cpus)).collect(),
            nodes_per_socket: num_nodes.checked_div(cpus.num_sockets()).unwrap_or(0),
            nodes: node_cpus,
            // What is reserved is the kubelet's choice.
            allocator: allocator.with_fit(config.fit),
            options,
            pod_level: config.pod_level,
            pod_bubble: config.pod_bubble,
            full_node: config.full_node,
            cache_alignment: config.cache_alignment,
            whole_core_check: config.whole_core_check,
            baselines: config.baselines,
            reserved,
            reserved_cores,
            resource: ResourceName::new("cpu"),
        })
    }

    /// All CPUs of the machine.
    #[must_use]
    pub const fn all(&self) -> &CpuSet {
        &self.allocator.units.all
    }

    /// CPUs that no container gets for itself.
    #[must_use]
    pub const fn reserved(&self) -> &CpuSet {
        &self.reserved
    }

    /// CPUs that can become exclusive on a node without pods.
    #[must_use]
    pub fn allocatable(&self) -> CpuSet {
        self.all() - &self.reserved
    }

    /// The NUMA nodes that have some of these CPUs.
    #[must_use]
    pub fn nodes_of(&self, cpus: &CpuSet) -> NodeMask {
        nodes_of(&self.nodes, cpus)
    }

    /// The cores, whole, with which a kubelet can have given the reserved CPUs among `own` to a container itself; empty: it
    /// gave none. On a machine whose cores differ in their number of CPUs a core counts as free with as many free CPUs as
    /// the average core has, and is given whole: see [`BusySibling`](crate::BusySibling).
    #[must_use]
    pub fn given_with_reserved(&self, own: &CpuSet) -> CpuSet {
        let average = self.allocator.units.cpus_per_core;
        let cores = self.allocator.units.cores.iter().map(|core| &core.cpus).filter(|core| {
            let is_given = !core.is_disjoint(&self.reserved) && (*core - own).is_empty();
            is_given && core.len() > average && !(*core - &self.reserved).is_empty()
        });
        cores.fold(CpuSet::new(), |all, core| &all | core)
    }

    /// What is free for `held` to give: the shared pool without what is reserved.
    #[must_use]
    pub fn available(&self, held: &Holdings) -> CpuSet {
        held.shared() - &self.reserved
    }

    /// The holdings of a node on which nothing runs.
    #[must_use]
    pub fn initial(&self) -> Holdings {
        Holdings::new(self.managed(), [])
    }

    /// Whether the CPUs are kept with which containers were admitted.
    #[must_use]
    pub const fn baselines(&self) -> Baselines {
        self.baselines
    }

    /// The CPUs that are in the shared pool or with a container.
    pub(crate) fn managed(&self) -> CpuSet {
        match self.options.reserved {
            ReservedCpus::InSharedPool => self.all().clone(),
            ReservedCpus::SystemOnly => self.allocatable(),
        }
    }
}

/// Those of `nodes` that have some of these CPUs.
fn nodes_of(nodes: &[NodeCpus], cpus: &CpuSet) -> NodeMask {
    let here = nodes.iter().filter(|node| !node.cpus.is_disjoint(cpus));
    here.fold(NodeMask::EMPTY, |mask, node| mask | node.mask)
}
