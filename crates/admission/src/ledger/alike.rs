//! Whether two ledgers decide alike: what differs only in the names of pods is the same to a pod that comes.

use alloc::vec::Vec;
use core::hash::{Hash as _, Hasher};

use cpu_manager::Holdings as CpuHoldings;
use cpuset::CpuSet;
use memory_manager::Holdings as MemoryHoldings;
use node_config::{Scope, Strategy};
use numa_bitmask::NodeMask;
use pod_spec::{HostPort, ResourceName};

use crate::ledger::Ledger;
use crate::ledger::dead::Dead;
use crate::node::Node;
use crate::placement::{Mix, Rows};

/// Whether it matters on a node which units hold what.
fn reads_mix(node: &Node) -> bool {
    let placement = &node.options.placement;
    placement.strategy == Strategy::KeepRoom && placement.mix.is_empty()
}

impl Ledger {
    /// Whether every pod that is new to both gets the same verdict beside both on `node`, and takes the same CPUs, memory and
    /// devices. Names and UIDs of pods may differ; which of them hold what matters to the strategy `keep-room` alone.
    /// Critical pods are left out: which pods they preempt depends on each pod.
    ///
    /// False where pods that have gone still hold something, unless both ledgers are equal: [`Ledger::collect`] first.
    ///
    /// ```
    /// # use node_config::KubeletConfiguration;
    /// # use pod_spec::Pod;
    /// # use topology_admission::Node;
    /// # use topology_model::{KubeletView, MachineInfo};
    /// # let machine: MachineInfo = "pack:2 [numa(memory=4GiB)] core:4 pu:1".parse()?;
    /// # let node = Node::start(&KubeletView::new(&machine)?, &KubeletConfiguration::default())?;
    /// let empty = node.empty_ledger();
    /// let beside = |name| {
    ///     let attempt = node.admission(&empty, &Pod::new("default", name, vec![])).attempt();
    ///     empty.commit(attempt)
    /// };
    /// assert!(beside("a")?.decides_like(&beside("b")?, &node));
    /// assert!(!beside("a")?.decides_like(&empty, &node), "it counts as one pod more");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn decides_like(&self, other: &Self, node: &Node) -> bool {
        let is_collected = |ledger: &Self| ledger.dead == Dead::default();
        if !is_collected(self) || !is_collected(other) || !self.others.is_empty() || !other.others.is_empty()
        {
            return self == other;
        }
        self.sources == other.sources
            && self.was_running == other.was_running
            && self.pods.len() == other.pods.len()
            && self.pods.has_sums_of(&other.pods)
            && self.exclusive_and_shared() == other.exclusive_and_shared()
            && self.devices.all_taken().eq(other.devices.all_taken())
            && self.inventory == other.inventory
            && self.host_ports() == other.host_ports()
            && match (&self.memory, &other.memory) {
                (Some(own), Some(theirs)) => own.is_booked_like(theirs) && blocks(own) == blocks(theirs),
                (own, theirs) => own.is_none() && theirs.is_none(),
            }
            && (!reads_mix(node) || self.has_mix_of(other, node))
    }

    /// Whether the same units hold something in both, by what they hold.
    fn has_mix_of(&self, other: &Self, node: &Node) -> bool {
        let rows = Rows::new(node, self);
        let mix = |ledger, scope| Mix::held(&rows, ledger, scope);
        [Scope::Container, Scope::Pod].into_iter().all(|scope| mix(self, scope) == mix(other, scope))
    }

    /// Feeds a hash that is the same for ledgers that decide alike.
    pub fn hash_state(&self, hasher: &mut impl Hasher) {
        self.pods.len().hash(hasher);
        self.pods.hash_sums(hasher);
        self.cpus.as_ref().map(CpuHoldings::shared).hash(hasher);
        if let Some(held) = &self.memory {
            for node in NodeMask::all(self.inventory.nodes().len()) {
                held.assignments(node).hash(hasher);
            }
        }
        for (resource, taken) in self.devices.all_taken() {
            resource.hash(hasher);
            taken.len().hash(hasher);
        }
    }

    /// The CPUs that are exclusive to a container or pod, and those that all others share.
    fn exclusive_and_shared(&self) -> Option<(CpuSet, &CpuSet)> {
        let held = self.cpus.as_ref()?;
        let each = held.iter().map(|(_, _, cpus)| cpus).chain(held.whole_pods().map(|(_, cpus)| cpus));
        Some((each.fold(CpuSet::default(), |all, cpus| &all | cpus), held.shared()))
    }

    fn host_ports(&self) -> Vec<&HostPort> {
        let mut ports: Vec<&HostPort> =
            self.pods.iter().flat_map(|pod| &pod.constraints.host_ports).collect();
        ports.sort();
        ports
    }
}

/// Everything that is booked, in an order that does not depend on who has it.
fn blocks(held: &MemoryHoldings) -> Vec<(NodeMask, &ResourceName, u64)> {
    let each = held.iter().map(|(_, _, blocks)| blocks).chain(held.whole_pods().map(|(_, blocks)| blocks));
    let mut all: Vec<(NodeMask, &ResourceName, u64)> =
        each.flatten().map(|block| (block.nodes.mask(), &block.resource, block.size)).collect();
    all.sort_unstable();
    all
}
