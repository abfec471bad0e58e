//! Which sets of pods could make room at all: a bound that costs a few additions, where an attempt costs ten
//! thousand.
//!
//! Whatever order a plan has, what the refused unit finds free on a NUMA node is at most what is free there now and
//! what the moved pods hold there now. A unit that must have a resource on one node finds none if that is too little
//! on each node, for all such resources at once.
//!
//! Under `single-numa-node` that holds for every resource. Under `restricted` it holds for CPUs and devices of which a
//! single node could have enough when it is empty; not for memory, of which groups of nodes decide how many nodes are
//! preferred. Of all else the sum over the nodes counts.

use alloc::vec::Vec;

use cpu_manager::BusySibling;
use cpuset::CpuSet;
use node_config::Regroup;
use numa_bitmask::NodeMask;
use pod_spec::{PodUid, ResourceName};
use topology_policy::KubeletPolicy;

use crate::attempt::trace::{Answered, ResourceTrace, Trace};
use crate::ledger::Ledger;
use crate::node::Node;
use crate::node::room::{Holders, Room};
use crate::repack::movable::Candidate;

/// What the refused unit needs, what is free, and what each pod that may be moved would free.
pub(crate) struct Bound {
    nodes: usize,
    rows: Vec<Row>,
}

/// One resource of the unit.
struct Row {
    asked: u64,
    /// Whether a single node has to have all of it.
    on_one_node: bool,
    free: Amounts,
    /// By candidate.
    freed: Vec<Amounts>,
}

/// Of each node, and of no single one.
struct Amounts {
    nodes: Vec<u64>,
    elsewhere: u64,
}

impl Bound {
    /// One that leaves nothing out.
    pub(crate) const NONE: Self = Self { nodes: 0, rows: Vec::new() };

    /// For the last unit of a trace, which was refused.
    pub(crate) fn new(node: &Node, ledger: &Ledger, trace: &Trace, candidates: &[Candidate]) -> Self {
        let Some(unit) = trace.units.last() else { return Self::NONE };
        let policy = trace.rules.map_or(KubeletPolicy::None, |rules| rules.policy);
        let rows = unit.resources.iter().filter(|row| node.gives_only_what_is_free(&row.resource));
        let rows = rows.filter_map(|row| {
            let (resource, asked) = (&row.resource, row.amounts.as_ref()?.asked);
            let (free, freed) = if resource.as_str() == "cpu" {
                (
                    node.room_of_cpus(ledger, &nobody(), Holders::LeftOut)?,
                    node.freed_cpus(ledger, candidates)?,
                )
            } else if is_memory(resource) {
                let freed =
                    candidates.iter().map(|other| Amounts::of_blocks(node, ledger, &other.uid, resource));
                (node.room_of_memory(ledger, &nobody(), resource, Holders::LeftOut)?, freed.collect())
            } else {
                (
                    node.room_of_devices(ledger, &nobody(), resource),
                    node.freed_devices(ledger, candidates, resource),
                )
            };
            Some(Row { asked, on_one_node: is_on_one_node(policy, row), free: Amounts::of(&free), freed })
        });
        Self { nodes: node.nodes.len(), rows: rows.collect() }
    }

    /// Whether there could be room for the unit without these pods.
    pub(crate) fn could_help(&self, set: &[usize]) -> bool {
        let (bound, others): (Vec<&Row>, Vec<&Row>) = self.rows.iter().partition(|row| row.on_one_node);
        others.iter().all(|row| row.has_in_all(set))
            && (bound.is_empty() || (0..self.nodes).any(|node| bound.iter().all(|row| row.has_on(node, set))))
    }
}

impl Row {
    fn has_on(&self, node: usize, set: &[usize]) -> bool {
        let freed = set.iter().map(|at| self.freed[*at].on(node));
        freed.fold(self.free.on(node), u64::saturating_add) >= self.asked
    }

    fn has_in_all(&self, set: &[usize]) -> bool {
        let freed = set.iter().map(|at| self.freed[*at].sum());
        freed.fold(self.free.sum(), u64::saturating_add) >= self.asked
    }
}

impl Amounts {
    fn none(node: &Node) -> Self {
        Self { nodes: alloc::vec![0; node.nodes.len()], elsewhere: 0 }
    }

    fn of(room: &Room) -> Self {
        Self { nodes: room.nodes.iter().map(|cell| cell.free).collect(), elsewhere: room.elsewhere.free }
    }

    /// What a pod has booked. What is booked on several nodes can be freed on any of them.
    fn of_blocks(node: &Node, ledger: &Ledger, pod: &PodUid, resource: &ResourceName) -> Self {
        let mut freed = Self::none(node);
        for block in ledger.blocks_of(pod).filter(|block| block.resource == *resource) {
            freed.add(block.nodes.mask(), block.size);
        }
        freed
    }

    /// So much on each of these nodes.
    fn add(&mut self, nodes: NodeMask, amount: u64) {
        for node in nodes {
            if let Some(there) = self.nodes.get_mut(node.get()) {
                *there = there.saturating_add(amount);
            }
        }
    }

    /// What can be had on a node; what is near no single one can be had with any.
    fn on(&self, node: usize) -> u64 {
        self.nodes.get(node).copied().unwrap_or(0).saturating_add(self.elsewhere)
    }

    fn sum(&self) -> u64 {
        self.nodes.iter().copied().fold(self.elsewhere, u64::saturating_add)
    }
}

impl Node {
    /// Whether a pod gets only what is free, and what others hold stays where it is.
    fn gives_only_what_is_free(&self, resource: &ResourceName) -> bool {
        match resource.as_str() {
            "cpu" => self.compat.busy_sibling != BusySibling::HandOut,
            _ if is_memory(resource) => self.options.regroup == Regroup::Never,
            _ => true,
        }
    }

    /// The CPUs that each candidate has for itself.
    fn freed_cpus(&self, ledger: &Ledger, candidates: &[Candidate]) -> Option<Vec<Amounts>> {
        let (policy, held) = (self.cpus.as_ref()?, ledger.cpus()?);
        let freed = candidates.iter().map(|candidate| {
            let of_containers = held.of_pod(&candidate.uid).map(|(_, cpus)| cpus);
            let own = of_containers.chain(held.whole_pod(&candidate.uid));
            // As if they were shared, and no others.
            let shared = own.fold(CpuSet::default(), |all, cpus| &all | cpus);
            let mut freed = Amounts::none(self);
            for on_node in policy.on_nodes(&cpu_manager::Holdings::new(shared, []), &nobody()) {
                freed.add(on_node.node, on_node.free as u64);
            }
            freed
        });
        Some(freed.collect())
    }

    /// The devices that each candidate holds.
    fn freed_devices(
        &self,
        ledger: &Ledger,
        candidates: &[Candidate],
        resource: &ResourceName,
    ) -> Vec<Amounts> {
        let places = self.devices.on_nodes(ledger.inventory(), ledger.devices(), &nobody(), resource);
        let freed = candidates.iter().map(|candidate| {
            let mut freed = Amounts::none(self);
            for place in &places {
                let held = place.holders.binary_search_by(|(pod, _)| pod.cmp(&candidate.uid));
                let count = held.map_or(0, |at| place.holders[at].1 as u64);
                match place.nodes.len() {
                    1 => freed.add(place.nodes, count),
                    _ => freed.elsewhere += count,
                }
            }
            freed
        });
        freed.collect()
    }
}

fn nobody() -> PodUid {
    PodUid::new("")
}

fn is_on_one_node(policy: KubeletPolicy, row: &ResourceTrace) -> bool {
    let has_opinion = !matches!(row.answer, Answered::NoOpinion);
    let one_could = || {
        let mut amounts =
            row.amounts.iter().flat_map(|amounts| amounts.nodes.iter().map(|cell| (cell, amounts.asked)));
        amounts.any(|(cell, asked)| cell.allocatable >= asked)
    };
    match policy {
        KubeletPolicy::SingleNumaNode => has_opinion,
        KubeletPolicy::Restricted => has_opinion && !is_memory(&row.resource) && one_could(),
        KubeletPolicy::BestEffort | KubeletPolicy::None => false,
    }
}

fn is_memory(resource: &ResourceName) -> bool {
    resource.as_str() == "memory" || resource.is_hugepages()
}
