//! Reservations for the system: the configured one, and others of as many CPUs and as much memory on one NUMA node or
//! spread over nodes or packages.

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use cpuset::CpuSet;
use k8s_quantity::{Format, Quantity};
use node_config::{KubeletConfiguration, ReservedMemory};
use topology_admission::Node;
use topology_model::{CpuTable, KubeletView, NodeId, NodeMemory};

/// The resource that is moved; huge pages stay where they are.
const MEMORY: &str = "memory";

/// CPUs and memory that are kept for the system.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SystemReservation {
    /// Where.
    pub place: ReservationPlace,
    /// Where the memory is.
    pub memory_place: MemoryPlace,
    /// `reservedSystemCPUs`; `None` where CPUs are not managed.
    pub cpus: Option<CpuSet>,
    /// `reservedMemory` of `memory` by NUMA node, in bytes; `None` where memory is not managed.
    pub memory: Option<BTreeMap<i32, u64>>,
}

/// Where a reservation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReservationPlace {
    /// Where the configuration has it.
    AsConfigured,
    /// On one NUMA node.
    OnNode(NodeId),
    /// Spread over the NUMA nodes that have CPUs.
    OverNodes,
    /// Spread over the packages.
    OverPackages,
}

/// Where the memory of a reservation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryPlace {
    /// With the CPUs.
    WithCpus,
    /// Where the configuration has it: the NUMA nodes of the CPUs have no room for it.
    AsConfigured,
}

impl fmt::Display for SystemReservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            ReservationPlace::AsConfigured => f.write_str("as configured"),
            ReservationPlace::OnNode(id) => write!(f, "all on NUMA {id}"),
            ReservationPlace::OverNodes => f.write_str("spread over NUMA nodes"),
            ReservationPlace::OverPackages => f.write_str("spread over packages"),
        }?;
        match self.memory_place {
            MemoryPlace::WithCpus => Ok(()),
            MemoryPlace::AsConfigured => f.write_str(", memory as configured"),
        }
    }
}

impl SystemReservation {
    /// Every reservation that is worth trying on a machine whose node is started with `config`, the configured one
    /// first.
    pub fn candidates(node: &Node, config: &KubeletConfiguration, view: &KubeletView) -> Vec<Self> {
        candidates(node, config, view)
    }

    /// Makes the reservation in a configuration.
    pub fn set(&self, config: &mut KubeletConfiguration) {
        if let Some(cpus) = &self.cpus {
            config.reserved_system_cpus = Some(cpus.to_string());
        }
        let Some(memory) = &self.memory else { return };
        for reserved in &mut config.reserved_memory {
            reserved.limits.remove(MEMORY);
        }
        for (node, bytes) in memory {
            let amount = Quantity::from_units(i64::try_from(*bytes).unwrap_or(i64::MAX), Format::BinarySi);
            match config.reserved_memory.iter_mut().find(|reserved| reserved.numa_node == *node) {
                Some(reserved) => {
                    reserved.limits.insert(MEMORY.to_owned(), amount);
                }
                None => config
                    .reserved_memory
                    .push(ReservedMemory { numa_node: *node, limits: [(MEMORY.to_owned(), amount)].into() }),
            }
        }
        config.reserved_memory.retain(|reserved| !reserved.limits.is_empty());
    }
}

fn candidates(node: &Node, config: &KubeletConfiguration, view: &KubeletView) -> Vec<SystemReservation> {
    let reserved = node.cpus().map(|policy| policy.reserved().clone());
    let memory = node.memory().map(|_| configured_memory(config));
    let count = reserved.as_ref().map_or(0, CpuSet::len);
    let bytes: u64 = memory.iter().flat_map(BTreeMap::values).sum();
    let table = view.cpus();
    let with_cpus: Vec<NodeId> =
        table.nodes().filter(|(_, cpus)| !cpus.is_empty()).map(|(id, _)| id).collect();
    let configured = SystemReservation {
        place: ReservationPlace::AsConfigured,
        memory_place: MemoryPlace::WithCpus,
        cpus: reserved.clone(),
        memory: memory.clone(),
    };
    let mut all = vec![configured];
    let mut add = |place: ReservationPlace, groups: &[CpuSet], nodes: &[NodeId]| {
        let cpus = reserved.as_ref().map(|_| dealt(table, groups, count));
        if cpus.as_ref().is_some_and(|cpus| cpus.len() != count) {
            return;
        }
        let parts = memory.as_ref().map(|_| divided(view, nodes, bytes));
        let (memory_place, memory) = match parts {
            None => (MemoryPlace::WithCpus, None),
            Some(Some(divided)) => (MemoryPlace::WithCpus, Some(divided)),
            Some(None) => (MemoryPlace::AsConfigured, memory.clone()),
        };
        all.push(SystemReservation { place, memory_place, cpus, memory });
    };
    let own = |id: &NodeId| table.cpus_in_node(*id).cloned().unwrap_or_default();
    for id in &with_cpus {
        add(ReservationPlace::OnNode(*id), &[own(id)], &[*id]);
    }
    let by_node: Vec<CpuSet> = with_cpus.iter().map(own).collect();
    add(ReservationPlace::OverNodes, &by_node, &with_cpus);
    let packages: Vec<CpuSet> = table.sockets().map(|(_, cpus)| cpus.clone()).collect();
    let first = |package: &CpuSet| with_cpus.iter().copied().find(|id| !own(id).is_disjoint(package));
    let firsts: Vec<NodeId> = packages.iter().filter_map(first).collect();
    add(ReservationPlace::OverPackages, &packages, &firsts);
    let mut seen = BTreeSet::new();
    all.retain(|candidate| {
        seen.insert((candidate.cpus.as_ref().map(ToString::to_string), candidate.memory.clone()))
    });
    all
}

fn configured_memory(config: &KubeletConfiguration) -> BTreeMap<i32, u64> {
    let amount = |reserved: &ReservedMemory| {
        let bytes = reserved.limits.get(MEMORY).and_then(|amount| u64::try_from(amount.value()).ok());
        bytes.map(|bytes| (reserved.numa_node, bytes))
    };
    config.reserved_memory.iter().filter_map(amount).collect()
}

/// `count` CPUs, core by core, taken from the groups in turn.
fn dealt(table: &CpuTable, groups: &[CpuSet], count: usize) -> CpuSet {
    let cores = |group: &CpuSet| -> Vec<CpuSet> {
        table.cores().map(|(_, core)| core & group).filter(|core| !core.is_empty()).collect()
    };
    let groups: Vec<Vec<CpuSet>> = groups.iter().map(cores).collect();
    let longest = groups.iter().map(Vec::len).max().unwrap_or(0);
    let mut taken = CpuSet::new();
    for core in (0..longest).flat_map(|at| groups.iter().filter_map(move |cores| cores.get(at))) {
        for cpu in core {
            if taken.len() < count {
                taken.insert(cpu);
            }
        }
    }
    taken
}

/// `bytes` in equal parts of whole mebibytes on those of `nodes` that have room for their part; the last node takes the
/// remainder. `None` if no node has room.
fn divided(view: &KubeletView, nodes: &[NodeId], bytes: u64) -> Option<BTreeMap<i32, u64>> {
    const MEBI: u64 = 1 << 20;
    let room = |id: &NodeId| {
        view.node_memory().iter().find(|node| node.id == *id).map_or(0, NodeMemory::beside_hugepages)
    };
    let mut roomy = nodes.to_vec();
    roomy.dedup();
    // With fewer nodes each part is larger.
    while let Some(least) = roomy.iter().copied().min_by_key(room) {
        let count = roomy.len() as u64;
        let part = bytes / count / MEBI * MEBI;
        if room(&least) < bytes - part * (count - 1) {
            roomy.retain(|id| *id != least);
            continue;
        }
        let mut left = bytes;
        let mut parts = BTreeMap::new();
        for (at, node) in roomy.iter().enumerate() {
            let own = if at + 1 == roomy.len() { left } else { part };
            left -= own;
            if let (Ok(node), 1..) = (i32::try_from(node.0), own) {
                parts.insert(node, own);
            }
        }
        return Some(parts);
    }
    None
}

#[cfg(test)]
mod tests {
    use topology_model::{MachineCore, MachineInfo, MachineNode};

    use super::*;

    #[test]
    fn memory_is_reserved_only_where_it_is() {
        const GI: u64 = 1 << 30;
        let node = |(id, memory): (i64, &u64)| MachineNode {
            id,
            memory: *memory,
            cores: Some(vec![MachineCore { thread_ids: Some(vec![id]), ..MachineCore::default() }]),
            ..MachineNode::default()
        };
        let memory = [64 * GI, 0, GI / 2, 2 * GI];
        let info = MachineInfo {
            num_cpus: 4,
            topology: Some((0..).zip(&memory).map(node).collect()),
            ..MachineInfo::default()
        };
        let view = KubeletView::new(&info).unwrap();
        for (nodes, bytes, expected) in [
            (&[0, 3][..], 2 * GI, Some(&[(0, GI), (3, GI)][..])),
            (&[0, 1, 2, 3], 2 * GI, Some(&[(0, GI), (3, GI)])),
            (&[0, 3], 8 * GI, Some(&[(0, 8 * GI)])),
            (&[0, 3], 3 * (GI >> 10), Some(&[(0, GI >> 10), (3, 2 * (GI >> 10))])),
            (&[1], GI, None),
            (&[2], GI, None),
        ] {
            let nodes: Vec<NodeId> = nodes.iter().copied().map(NodeId).collect();
            let expected = expected.map(|parts| parts.iter().copied().collect());
            assert_eq!(divided(&view, &nodes, bytes), expected, "{nodes:?} {bytes}");
        }
    }
}
