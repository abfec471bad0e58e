//! What could be otherwise: with the pod, with the node, or with the moment.

use alloc::vec::Vec;

use cpuset::CpuSet;
use k8s_quantity::Quantity;
use node_config::Scope;
use numa_bitmask::NodeMask;
use pod_spec::{ContainerName, PodUid, ResourceName};
use topology_model::NodeId;
use topology_policy::KubeletPolicy;

/// One change.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Change {
    /// The node waits until these pods have gone: one, or two where no single one is enough.
    Wait(Vec<PodUid>),
    /// A pod restarts, and runs elsewhere on the node then: [`Admission::repack`](crate::Admission::repack) finds moves of
    /// several.
    Move(Move),
    /// Containers ask for less of some resources: all of these together.
    AskLess(Vec<Asks>),
    /// Containers ask for more, since only whole cores are given.
    AskMore(Vec<Asks>),
    /// One NUMA node has more: devices, and huge pages that are taken from its ordinary memory.
    More {
        /// Where.
        node: NodeId,
        /// How much more of which resource: devices by number, huge pages in bytes.
        amounts: Vec<(ResourceName, u64)>,
    },
    /// Exactly these CPUs are reserved for the system, as many as now.
    ReserveCpus(CpuSet),
    /// Groups of NUMA nodes that no running pod needs any more are dissolved: the option `memory.regroup`.
    Regroup,
    /// Links are preferred and not required: the option `devices.links`.
    PreferLinks,
    /// The node has another policy, or the pod chooses another.
    Policy(KubeletPolicy),
    /// The node has another scope, or the pod chooses another.
    Scope(Scope),
}

/// A pod that is deleted and created again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move {
    /// Which.
    pub pod: PodUid,
    /// When it is created again.
    pub turn: Turn,
    /// The NUMA nodes of what it gets then; `None` if any will do.
    pub nodes: Option<NodeMask>,
}

/// When a pod that moves is created again. It is deleted before anything else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// Before the pod that was refused is created.
    First,
    /// When that pod has been admitted.
    Last,
}

/// Another amount in a pod's manifest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asks {
    /// Which container's; `None`: the resources at pod level.
    pub container: Option<ContainerName>,
    /// Of which resource.
    pub resource: ResourceName,
    /// What is asked for now.
    pub now: Quantity,
    /// What would fit.
    pub fits: Quantity,
}
