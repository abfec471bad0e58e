//! The claims of containers that run, beside what their kubelet has given them.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use pod_spec::ContainerKey;
use topology_admission::{Ledger, Node};
use topology_model::{NodeId, NodeIds};

use crate::claim_alignment::{Alignment, ContainerClaim, Own, UnknownDevices};
use crate::decided_claims::DecidedClaims;

impl ContainerClaim {
    /// Of the claims that a container of a pod that runs uses, beside what it holds on `ledger`.
    #[must_use]
    pub fn held(node: &Node, ledger: &Ledger, container: &ContainerKey, claims: &DecidedClaims) -> Vec<Self> {
        let held = HeldNodes::of(node, ledger, container);
        Self::all(container.container.as_str(), held.own(), claims)
    }

    /// A claim of a container of a pod that runs, of which no device is known, for this reason; `None`: the container holds neither
    /// CPUs nor memory on `ledger`.
    #[must_use]
    pub fn without_devices(
        node: &Node,
        ledger: &Ledger,
        container: &ContainerKey,
        claim: &str,
        why: &str,
    ) -> Option<Self> {
        let HeldNodes { cpus, memory } = HeldNodes::of(node, ledger, container);
        if cpus.is_none() && memory.is_empty() {
            return None;
        }
        Some(Self {
            claim: claim.into(),
            alignment: Alignment::Unknown,
            device_nodes: None,
            cpu_nodes: cpus,
            memory_nodes: (!memory.is_empty()).then(|| memory.into_iter().collect()),
            elsewhere: Vec::new(),
            unknown: Vec::from([UnknownDevices { why: why.into(), devices: Vec::new() }]),
            would_align: None,
            drivers: BTreeMap::new(),
        })
    }
}

/// The NUMA nodes of what a container of a pod that runs holds.
struct HeldNodes {
    /// Those of its CPUs; `None`: it shares CPUs.
    cpus: Option<NodeIds>,
    memory: BTreeSet<NodeId>,
}

impl HeldNodes {
    fn of(node: &Node, ledger: &Ledger, key: &ContainerKey) -> Self {
        let ContainerKey { pod, container } = key;
        let held =
            ledger.cpus().and_then(|held| held.assigned(pod, container)).filter(|cpus| !cpus.is_empty());
        let cpus = held.zip(node.cpus()).map(|(cpus, manager)| node.nodes().listed(manager.nodes_of(cpus)));
        let blocks = ledger.memory().and_then(|held| held.assigned(pod, container)).into_iter().flatten();
        let memory =
            blocks.flat_map(|block| node.nodes().listed(block.nodes.mask()).iter().collect::<Vec<_>>());
        Self { cpus, memory: memory.collect() }
    }

    fn own(&self) -> Own<'_> {
        Own { cpu_nodes: self.cpus.as_ref(), memory_nodes: self.memory.clone() }
    }
}
