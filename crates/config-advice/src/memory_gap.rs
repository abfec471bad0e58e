//! Memory that the machine has and its NUMA nodes have not, or the other way round.
//!
//! The kubelet has two figures of memory. `MemTotal` of `/proc/meminfo` is the machine's: the node's capacity and the check
//! for room on the node as a whole come from it. `MemTotal` of each NUMA node is what policy Static of the memory manager
//! has. On sound machines the nodes add up to the machine. Captured machines say how closely: most differ by
//! less than 0.4 MiB, while old kernels count memory in the nodes that they keep for themselves, up to 2.8 % of the
//! machine. So the machine may exceed its nodes by [`MACHINE_ABOVE`] and the nodes the machine by [`NODES_ABOVE`] before
//! there is a gap. Memory of nodes without CPUs (CXL, HBM) counts as any node's.
//!
//! A gap matters to policy Static twice. Pods get no more than the nodes have; and memory that a kernel brings up late, or a
//! host takes and gives back, changes the totals of nodes, which the kubelet compares with `memory_manager_state` each time
//! it starts.

use core::fmt;

use k8s_quantity::Amount;
use topology_model::{KubeletView, MachineInfo};

/// The part of the machine's memory, in thousandths, by which it may exceed the sum of its nodes.
const MACHINE_ABOVE: u64 = 10;
/// The same of the sum of the nodes above the machine.
const NODES_ABOVE: u64 = 50;

/// The error with which a kubelet stops when NUMA nodes have other totals than its file.
pub const OTHER_MACHINE_STATE: &str =
    "[memorymanager] the expected machine state is different from the real one";

/// A machine whose NUMA nodes have another amount of memory than the machine as a whole; `Display` gives both amounts.
///
/// ```
/// use config_advice::MemoryGap;
///
/// let gap = MemoryGap::between(126 << 30, 4 << 30).expect("122Gi are on no NUMA node");
/// assert_eq!(gap.to_string(), "the NUMA nodes have 4Gi of memory together, and the machine 126Gi");
/// assert_eq!(MemoryGap::between(126 << 30, (126 << 30) - 300_000), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryGap {
    /// Bytes of the machine as a whole.
    pub machine: u64,
    /// Bytes of all NUMA nodes together.
    pub nodes: u64,
}

impl MemoryGap {
    /// The gap of the machine that a kubelet sees; `None`: there is none, or one of the amounts is not known.
    #[must_use]
    pub fn of(info: &MachineInfo) -> Option<Self> {
        let nodes = info.topology.iter().flatten().map(|node| node.memory);
        Self::between(info.memory_capacity, nodes.fold(0, u64::saturating_add))
    }

    /// The same.
    pub(crate) fn of_view(view: &KubeletView) -> Option<Self> {
        let nodes = view.node_memory().iter().map(|node| node.memory);
        Self::between(view.memory_capacity(), nodes.fold(0, u64::saturating_add))
    }

    /// The gap between the bytes of a machine and those of all its nodes; 0 of either is not known.
    #[must_use]
    pub fn between(machine: u64, nodes: u64) -> Option<Self> {
        let allowed = |thousandths: u64| machine / 1000 * thousandths;
        let is_sound = nodes.saturating_sub(machine) <= allowed(NODES_ABOVE)
            && machine.saturating_sub(nodes) <= allowed(MACHINE_ABOVE);
        (machine > 0 && nodes > 0 && !is_sound).then_some(Self { machine, nodes })
    }

    /// Whether it is the machine that has more.
    #[must_use]
    pub const fn is_of_machine(self) -> bool {
        self.machine > self.nodes
    }
}

impl fmt::Display for MemoryGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [nodes, machine] = Amount::told_apart([self.nodes, self.machine].map(Amount::Bytes));
        write!(f, "the NUMA nodes have {nodes} of memory together, and the machine {machine}")
    }
}

#[cfg(test)]
mod tests {
    use topology_discovery::{SysfsTree, read};

    use super::MemoryGap;

    #[test]
    fn machines_whose_nodes_have_all_memory_have_no_gap() {
        for name in machine_fixtures::names() {
            let tree = SysfsTree::archive(machine_fixtures::archive(name).unwrap()).unwrap();
            assert_eq!(MemoryGap::of(&read(&tree).unwrap().info), None, "{name}");
        }
        // Captured machines, in KiB: an old kernel's nodes, and the machine's part that no node has.
        for (machine, nodes) in [
            (16_331_848, 16_775_752),   // 2.7 % above
            (123_994_368, 125_805_328), // 1.5 % above
            (1_774_996_544, 1_774_996_224),
            (32_489_260, 32_489_240),
            (2_053_992, 0), // no NUMA support
            (0, 0),
        ] {
            assert_eq!(MemoryGap::between(machine << 10, nodes << 10), None, "{machine} {nodes}");
        }
    }

    #[test]
    fn memory_that_is_not_all_there_is_a_gap() {
        // A virtual machine of 125.87Gi at several moments, and a container that sees a part of its host's memory.
        for (machine, nodes) in [
            (131_981_020, 4_681_200),
            (131_981_020, 49_283_072),
            (131_981_020, 122_908_140),
            (131_981_020, 127_926_272),
            (8_388_608, 65_764_356),
        ] {
            let gap = MemoryGap::between(machine << 10, nodes << 10).unwrap();
            assert_eq!(gap.is_of_machine(), machine > nodes);
        }
    }
}
