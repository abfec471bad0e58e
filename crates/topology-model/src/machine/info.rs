//! What cAdvisor would report of a machine that is known from elsewhere than its files.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{CacheKind, CpuCache, Machine, Node};
use crate::{Cache, HugePages, MachineCore, MachineInfo, MachineNode};

impl From<&Machine> for MachineInfo {
    /// What cAdvisor would report on this hardware: nodes and CPUs in the order of their names, cores by their
    /// numbers, caches without an id left out. Clock, swap, books and drawers are zero, since a machine does not tell
    /// them.
    fn from(machine: &Machine) -> Self {
        let mut nodes: Vec<_> = machine.nodes().iter().collect();
        nodes.sort_by_cached_key(|node| node.id.0.to_string());
        let sum = || machine.nodes().iter().filter_map(|node| node.memory).fold(0, u64::saturating_add);
        let mut physical: Vec<_> = machine.cores().iter().map(|core| core.id).collect();
        physical.sort_unstable();
        physical.dedup();
        Self {
            num_cpus: number(machine.online().len()),
            num_physical_cores: number(physical.len()),
            num_sockets: number(machine.packages().len()),
            memory_capacity: machine.memory().unwrap_or_else(sum),
            hugepages: listed(machine.hugepages()),
            topology: Some(nodes.into_iter().map(|node| machine_node(machine, node)).collect()),
            ..Self::default()
        }
    }
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Huge pages in the order of their folders' names; none where there is no folder.
fn listed(pages: &[HugePages]) -> Option<Vec<HugePages>> {
    let mut pages = pages.to_vec();
    pages.sort_by_cached_key(|pages| pages.page_size_kib.to_string());
    Some(pages).filter(|pages| !pages.is_empty())
}

fn machine_node(machine: &Machine, node: &Node) -> MachineNode {
    let mut cpus: Vec<_> = node.cpus.iter().collect();
    cpus.sort_by_cached_key(|cpu| cpu.get().to_string());
    let mut cores: Vec<(MachineCore, Vec<&CpuCache>)> = Vec::new();
    for cpu in cpus {
        let (Some(core), Some(package)) = (machine.core_of(cpu), machine.package_of(cpu)) else { continue };
        let (core_id, socket_id) = (core.id, package.id.0);
        let same = |(core, _): &&mut (MachineCore, _)| (core.core_id, core.socket_id) == (core_id, socket_id);
        if let Some((core, _)) = cores.iter_mut().find(same) {
            core.thread_ids.get_or_insert_default().push(number(cpu.get()));
        } else {
            let thread_ids = Some(Vec::from([number(cpu.get())]));
            let caches = machine.caches().iter().filter(|cache| cache.cpus.contains(cpu)).collect();
            cores.push((MachineCore { core_id, thread_ids, socket_id, ..MachineCore::default() }, caches));
        }
    }
    let mut shared = None;
    let count = cores.len();
    let cores = cores.into_iter().map(|(mut core, caches)| {
        add_caches(&mut core, &mut shared, &caches, count);
        core
    });
    let cores: Vec<_> = cores.collect();
    MachineNode {
        id: node.id.0,
        memory: node.memory.unwrap_or(0),
        hugepages: listed(&node.hugepages),
        cores: Some(cores).filter(|cores| !cores.is_empty()),
        caches: shared,
        distances: node.distances.as_ref().map(|row| row.iter().copied().map(u64::from).collect()),
    }
}

/// Sorts the caches of a core's first CPU as cAdvisor does: above level 2 they are the node's where they have as many
/// CPUs as it has, and *uncore* otherwise; up to there they are the core's, or are left out.
fn add_caches(core: &mut MachineCore, of_node: &mut Option<Vec<Cache>>, caches: &[&CpuCache], cores: usize) {
    // A cache without an id ends the reading. The kernel tells the size of each, though not each source does.
    if caches.iter().any(|cache| cache.id.is_none()) {
        return;
    }
    let threads = core.thread_ids.as_ref().map_or(0, Vec::len);
    for own in caches {
        let kind = match own.kind {
            CacheKind::Data => "Data",
            CacheKind::Instruction => "Instruction",
            CacheKind::Unified => "Unified",
        };
        let cache = Cache {
            id: own.id.unwrap_or_default(),
            size: own.size_kib.unwrap_or_default().saturating_mul(1024),
            kind: String::from(kind),
            level: i64::from(own.level),
        };
        let list = match own.cpus.len() {
            shared_by if own.level > 2 && shared_by == threads * cores => &mut *of_node,
            _ if own.level > 2 => &mut core.uncore_caches,
            shared_by if shared_by == threads => &mut core.caches,
            _ => continue,
        };
        let list = list.get_or_insert_default();
        if !list.contains(&cache) {
            list.push(cache);
        }
    }
}
