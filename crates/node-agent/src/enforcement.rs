//! Where a running container belongs: the CPUs, the NUMA nodes and the limits that are written to its cgroup.

use std::path::PathBuf;

use cpu_manager::ContainerId;
use cpuset::CpuSet;
use k8s_quantity::Quantity;
use numa_bitmask::NodeMask;
use pod_spec::{Container, ContainerKey, ContainerName, PodUid};
use topology_admission::{Ledger, Node};
use topology_model::NodeId;

/// A running container and the CPUs and NUMA nodes that it is pinned to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Enforcement {
    /// The container and its pod.
    pub container: ContainerKey,
    /// Its id in the runtime.
    pub id: ContainerId,
    /// Its cgroup, below the root of cgroups; `None`: not reported.
    pub cgroup: Option<PathBuf>,
    /// The CPUs and NUMA nodes to write.
    pub pinning: Pinning,
}

/// CPUs and memory of a container.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pinning {
    /// `cpuset.cpus`; `None`: left as it is, as under CPU manager policy `none`.
    pub cpus: Option<CpuSet>,
    /// `cpuset.mems`; `None`: left as it is, since nothing is booked for the container.
    pub mems: Option<Vec<NodeId>>,
    /// What it may use; `None`: as it was created, since its pod was never resized.
    pub limits: Option<Limits>,
}

/// What a container may use of a pod that was resized.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    /// Thousandths of a CPU; `None`: any.
    pub cpu: Option<u64>,
    /// Bytes of memory; `None`: any.
    pub memory: Option<u64>,
}

impl Limits {
    /// Those of a container in its pod's specification.
    #[must_use]
    pub fn of(container: &Container) -> Self {
        let cpu = container.limits.get("cpu").map(Quantity::milli_value);
        let memory = container.limits.get("memory").map(Quantity::value);
        let amount = |amount: Option<i64>| amount.and_then(|amount| u64::try_from(amount).ok());
        Self { cpu: amount(cpu), memory: amount(memory) }
    }
}

impl Pinning {
    /// Its own CPUs or the shared pool, and the nodes of its memory. Its limits are left as they are.
    #[must_use]
    pub fn new(node: &Node, ledger: &Ledger, pod: &PodUid, container: &ContainerName) -> Self {
        let cpus = ledger.cpus().map(|held| held.assigned(pod, container).unwrap_or(held.shared()));
        let mems = ledger.memory().and_then(|held| {
            let own = held.nodes_of(pod, container);
            own.or_else(|| {
                let blocks = held.whole_pod(pod)?;
                let nodes = blocks.iter().fold(NodeMask::EMPTY, |nodes, block| nodes | block.nodes.mask());
                (!nodes.is_empty()).then_some(nodes)
            })
        });
        Self {
            // An empty set is never written.
            cpus: cpus.filter(|cpus| !cpus.is_empty()).cloned(),
            mems: mems.map(|nodes| {
                node.nodes().iter().filter(|(at, _)| nodes.contains(*at)).map(|(_, id)| id).collect()
            }),
            limits: None,
        }
    }
}
