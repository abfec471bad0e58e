//! Other places for what is reserved for the system: as many CPUs and as much memory as configured, on one NUMA node,
//! or spread over nodes or packages.

use std::collections::{BTreeMap, BTreeSet};

use cpuset::CpuSet;
use k8s_quantity::{Format, Quantity};
use node_config::{KubeletConfiguration, ReservedMemory};
use pod_spec::Pod;
use rayon::prelude::*;
use serde::Serialize;
use topology_model::{CpuTable, KubeletView, NodeId, NodeMemory};

use super::find_max::{Capacity, Question, Startable, capacity, startable};
use crate::node::LoadedNode;

/// A reservation and how many fit beside it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReservationFit {
    pub(crate) reservation: String,
    /// `reservedSystemCPUs`; `None` where CPUs are not managed.
    pub(crate) reserved_system_cpus: Option<String>,
    /// `reservedMemory` of `memory` by NUMA node, in bytes.
    pub(crate) reserved_memory: BTreeMap<i32, u64>,
    #[serde(flatten)]
    pub(crate) capacity: Capacity,
}

/// The resource that is moved; huge pages stay where they are.
const MEMORY: &str = "memory";

struct Candidate {
    name: String,
    cpus: Option<CpuSet>,
    memory: Option<BTreeMap<i32, u64>>,
}

/// Every candidate, the one with which the most fit first; of equal ones the configuration's own.
pub(super) fn reservations(
    question: &Question<'_>,
    base: &LoadedNode,
    config: &KubeletConfiguration,
    pod: &Pod,
) -> Vec<ReservationFit> {
    let Ok(view) = KubeletView::new(&question.machine.info) else { return Vec::new() };
    let nodes: Vec<(Candidate, Startable)> = candidates(base, config, &view)
        .into_iter()
        .map(|candidate| {
            let node = question.node(|config| candidate.set(config));
            (candidate, startable(node))
        })
        .collect();
    let fits = nodes.par_iter().map(|(candidate, node)| ReservationFit {
        reservation: candidate.name.clone(),
        reserved_system_cpus: candidate.cpus.as_ref().map(ToString::to_string),
        reserved_memory: candidate.memory.clone().unwrap_or_default(),
        capacity: capacity(node, pod),
    });
    let mut fits: Vec<ReservationFit> = fits.collect();
    fits.sort_by_key(|fit| std::cmp::Reverse(fit.capacity.fit()));
    fits
}

impl Candidate {
    fn set(&self, config: &mut KubeletConfiguration) {
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

fn candidates(base: &LoadedNode, config: &KubeletConfiguration, view: &KubeletView) -> Vec<Candidate> {
    let reserved = base.node.cpus().map(|policy| policy.reserved().clone());
    let memory = base.node.memory().map(|_| configured_memory(config));
    let count = reserved.as_ref().map_or(0, CpuSet::len);
    let bytes: u64 = memory.iter().flat_map(BTreeMap::values).sum();
    let table = view.cpus();
    let with_cpus: Vec<NodeId> =
        table.nodes().filter(|(_, cpus)| !cpus.is_empty()).map(|(id, _)| id).collect();
    let configured =
        Candidate { name: "as configured".to_owned(), cpus: reserved.clone(), memory: memory.clone() };
    let mut all = vec![configured];
    let mut add = |name: String, groups: &[CpuSet], nodes: &[NodeId]| {
        let cpus = reserved.as_ref().map(|_| dealt(table, groups, count));
        if cpus.as_ref().is_some_and(|cpus| cpus.len() != count) {
            return;
        }
        let Some(configured) = &memory else {
            all.push(Candidate { name, cpus, memory: None });
            return;
        };
        // Where there is no memory to reserve, it stays where it is configured.
        let (name, memory) = match divided(view, nodes, bytes) {
            Some(divided) => (name, divided),
            None => (format!("{name}, memory as configured"), configured.clone()),
        };
        all.push(Candidate { name, cpus, memory: Some(memory) });
    };
    let own = |id: &NodeId| table.cpus_in_node(*id).cloned().unwrap_or_default();
    for id in &with_cpus {
        add(format!("all on NUMA {id}"), &[own(id)], &[*id]);
    }
    let by_node: Vec<CpuSet> = with_cpus.iter().map(own).collect();
    add("spread over NUMA nodes".to_owned(), &by_node, &with_cpus);
    let packages: Vec<CpuSet> = table.sockets().map(|(_, cpus)| cpus.clone()).collect();
    let first = |package: &CpuSet| with_cpus.iter().copied().find(|id| !own(id).is_disjoint(package));
    let firsts: Vec<NodeId> = packages.iter().filter_map(first).collect();
    add("spread over packages".to_owned(), &packages, &firsts);
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

/// `count` CPUs, core after core, one group after the other in turn.
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

/// `bytes` in equal parts of whole mebibytes on those of `nodes` that have room for their part; the last has what does
/// not divide. `None` where no node has.
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
