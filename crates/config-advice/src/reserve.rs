//! What a proposal reserves for the system.
//!
//! *Reserved CPUs* are whole cores, as many as were asked for by any field, taken in turn from the NUMA nodes of each
//! package. *Reserved memory* adds up to what the node keeps in all (`systemReserved`, `kubeReserved` and the hard
//! eviction threshold), as the memory manager demands, on nodes with room for it.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use cpuset::CpuSet;
use k8s_quantity::{Format, Quantity};
use node_config::{CapacityFacts, KubeletConfiguration, Reservation, ReservedMemory, capacity};
use topology_model::{KubeletView, NodeId, NodeMemory};

use crate::Target;
use crate::hazard::excessive_reservations;
use crate::pinned::{RESERVED_PER_PACKAGE, first_cores, nodes_to_reserve_memory_on};
use crate::proposal::starts;

pub(crate) fn reserve_cpus(config: &mut KubeletConfiguration, view: &KubeletView) {
    let is_set = |cgroup: &Option<String>| cgroup.as_ref().is_some_and(|path| !path.is_empty());
    let online = view.cpus().all();
    let listed: Option<CpuSet> = config.reserved_cpus().parse().ok();
    let mut listed = listed.unwrap_or_default();
    listed &= online;
    let wanted = cpus_of(&config.kube_reserved) + cpus_of(&config.system_reserved);
    let default = first_cores(view).len();
    if is_set(&config.system_reserved_cgroup) || is_set(&config.kube_reserved_cgroup) {
        // The kubelet refuses a list then, so only a number can be reserved.
        config.reserved_system_cpus = None;
        if config.cpu_policy() == "static" && !(1..online.len()).contains(&wanted) {
            config.kube_reserved.remove("cpu");
            config.system_reserved.insert("cpu".to_owned(), default.to_string());
        }
        return;
    }
    let is_whole =
        |cpus: &CpuSet| view.cpus().cores().all(|(_, core)| core.is_disjoint(cpus) || core.is_subset(cpus));
    let is_right = !listed.is_empty() && listed.len() < online.len() && is_whole(&listed);
    if config.cpu_policy() != "static" && config.reserved_cpus().is_empty() {
        return;
    }
    let reserved = if is_right {
        listed
    } else {
        let count = listed.len().max(wanted);
        // More than half is hardly what is meant.
        let count = if (1..=online.len() / 2).contains(&count) { count.max(default) } else { default };
        spread(view, count)
    };
    config.reserved_system_cpus = Some(reserved.to_string());
}

/// CPUs in a map of reserved amounts, rounded up.
fn cpus_of(amounts: &BTreeMap<String, String>) -> usize {
    let amount = amounts.get("cpu").and_then(|cpus| cpus.parse::<Quantity>().ok());
    amount.and_then(|cpus| usize::try_from(cpus.value()).ok()).unwrap_or_default()
}

/// At least `count` CPUs in whole cores: the next core of each NUMA node in turn, and the nodes of the packages in
/// turn too, so that no package and no node gives much more than another.
fn spread(view: &KubeletView, count: usize) -> CpuSet {
    let table = view.cpus();
    let cores_of = |node: &CpuSet| -> Vec<CpuSet> {
        table.cores().filter(|(_, core)| core.is_subset(node)).map(|(_, core)| core.clone()).collect()
    };
    // Place among the nodes of its package, then the package: first nodes of all packages come first.
    let mut nodes: Vec<(usize, usize, Vec<CpuSet>)> = Vec::new();
    for (package, (_, in_package)) in table.sockets().enumerate() {
        let own = table.nodes().filter(|(_, cpus)| !cpus.is_disjoint(in_package));
        for (place, (_, cpus)) in own.enumerate() {
            let mut own = cpus.clone();
            own &= in_package;
            nodes.push((place, package, cores_of(&own)));
        }
    }
    nodes.sort_by_key(|(place, package, _)| (*place, *package));
    let deepest = nodes.iter().map(|(_, _, cores)| cores.len()).max().unwrap_or(0);
    let in_turn = (0..deepest).flat_map(|at| nodes.iter().filter_map(move |(_, _, cores)| cores.get(at)));
    let mut reserved = CpuSet::new();
    for core in in_turn {
        if reserved.len() >= count {
            break;
        }
        reserved |= core;
    }
    reserved
}

/// What is kept of memory in all; `None` if that is no whole number of bytes.
fn kept_memory(config: &KubeletConfiguration, view: &KubeletView) -> Option<i64> {
    let facts = CapacityFacts {
        cpus: view.cpus().num_cpus(),
        memory: view.memory_capacity(),
        hugepages: view.hugepages().iter().map(|pages| (pages.page_size_kib, pages.num_pages)).collect(),
        root_file_system: None,
    };
    let capacity = capacity(&facts, config);
    let kept = Reservation::check(config, view.cpus().all()).ok()?.amounts(&capacity);
    kept.get("memory").map_or(Some(0), Quantity::as_int64)
}

pub(crate) fn reserve_memory(config: &mut KubeletConfiguration, view: &KubeletView) {
    if config.memory_policy() != "Static" {
        config.reserved_memory.clear();
        return;
    }
    let is_right = config.validate().is_empty() && {
        let alone = KubeletConfiguration { cpu_manager_policy: None, ..config.clone() };
        let alone = KubeletConfiguration {
            cpu_manager_policy_options: BTreeMap::new(),
            topology_manager_policy: None,
            topology_manager_policy_options: BTreeMap::new(),
            ..alone
        };
        starts(&alone, view) && excessive_reservations(config, view, Target::Kubelet).is_empty()
    };
    if is_right {
        return;
    }
    let nodes = nodes_to_reserve_memory_on(view);
    if nodes.is_empty() {
        config.memory_manager_policy = Some("None".to_owned());
        config.reserved_memory.clear();
        return;
    }
    let bytes = |node: &NodeMemory| i64::try_from(node.beside_hugepages()).unwrap_or(i64::MAX);
    let room: BTreeMap<NodeId, i64> = view.node_memory().iter().map(|node| (node.id, bytes(node))).collect();
    let half = room.values().fold(0, |sum: i64, room| sum.saturating_add(*room)) / 2;
    // An eviction threshold alone keeps nothing for the system.
    let asked =
        [&config.kube_reserved, &config.system_reserved].iter().any(|kept| kept.contains_key("memory"));
    let total = kept_memory(config, view).filter(|bytes| asked && (1..=half).contains(bytes));
    let total = total.unwrap_or_else(|| {
        config.kube_reserved.remove("memory");
        config.system_reserved.remove("memory");
        if kept_memory(config, view).is_none_or(|bytes| bytes > half) {
            config.eviction_hard = None;
        }
        let usual = i64::try_from(nodes.len()).unwrap_or(1).saturating_mul(RESERVED_PER_PACKAGE);
        let evicted = kept_memory(config, view).unwrap_or_default();
        let system = (usual - evicted).max(0);
        if system > 0 {
            config
                .system_reserved
                .insert("memory".to_owned(), Quantity::from_units(system, Format::BinarySi).to_string());
        }
        evicted + system
    });
    config.reserved_memory = split(total, &nodes, &room);
}

/// `total` on the nodes of the packages, in equal parts of whole mebibytes as far as each has room for; the first has
/// what does not divide, and other nodes what is left.
fn split(total: i64, nodes: &[i32], room: &BTreeMap<NodeId, i64>) -> Vec<ReservedMemory> {
    const MEBI: i64 = 1 << 20;
    let mut on: BTreeMap<i32, i64> = BTreeMap::new();
    let share = total / i64::try_from(nodes.len()).unwrap_or(1) / MEBI * MEBI;
    // Of each node half is left to pods.
    let most = |node: i32| room.get(&NodeId(i64::from(node))).map_or(0, |room| room / 2 / MEBI * MEBI);
    let mut left = total;
    for node in nodes {
        let part = share.min(most(*node) - on.get(node).copied().unwrap_or_default()).max(0);
        *on.entry(*node).or_default() += part;
        left -= part;
    }
    let others = room.keys().filter_map(|id| i32::try_from(id.0).ok());
    for node in nodes.iter().copied().chain(others) {
        let part = left.min((most(node) - on.get(&node).copied().unwrap_or_default()).max(0));
        *on.entry(node).or_default() += part;
        left -= part;
    }
    // Rounding may leave some bytes; they are small beside what the first node has.
    if let Some(first) = nodes.first() {
        *on.entry(*first).or_default() += left;
    }
    on.retain(|_, bytes| *bytes > 0);
    let amount = |bytes: i64| Quantity::from_units(bytes, Format::BinarySi);
    on.into_iter()
        .map(|(numa_node, bytes)| ReservedMemory {
            numa_node,
            limits: [("memory".to_owned(), amount(bytes))].into(),
        })
        .collect()
}
