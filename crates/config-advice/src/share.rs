//! Which share of a machine is reserved for the system.
//!
//! - *CPUs* are whole cores, taken in turn from the NUMA nodes of each package. Where no amount is asked for they are the
//!   first core of each package, but at most an eighth of the machine's CPUs, and never less than one core: a virtual
//!   machine may have a package for each core.
//! - At least half of the cores of each NUMA node are left to pods, unless more is asked for. A node with one core is left
//!   alone as long as there are others. So a pod of half the CPUs of a NUMA node fits on every node with two cores.
//! - *Memory* is 1Gi for each package, but at most an eighth of the machine's memory and never less than 1Gi, in equal
//!   parts on a NUMA node of each package that has at least 4Gi beside its huge pages. Of each node half is left to pods.
//! - On machines whose cores or sockets differ only those CPUs are reserved that the kubelet cannot give to a pod (see
//!   `given_out.rs`).

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use cpuset::CpuSet;
use k8s_quantity::{Format, Quantity};
use node_config::ReservedMemory;
use topology_model::{KubeletView, NodeId, NodeMemory};

use crate::given_out::taken_whole;

/// Bytes of memory that are reserved for each package.
const MEMORY_PER_PACKAGE: i64 = 1 << 30;
const MEBI: i64 = 1 << 20;

/// The CPUs that are reserved where no amount is asked for.
pub(crate) fn usual_cpus(view: &KubeletView) -> CpuSet {
    let most = view.cpus().all().len() / 8;
    let ranked = cores_in_turn(view);
    let packages = 0..view.cpus().sockets().len();
    let first = packages.filter_map(|package| {
        let own = ranked.iter().filter(|(rank, _)| rank.package == package);
        own.min_by_key(|(rank, core)| (rank.is_late, core.iter().next()))
    });
    let mut first: Vec<&(Rank, CpuSet)> = first.collect();
    first.sort_by_key(|(rank, _)| (rank.is_large, rank.package));
    let mut reserved = CpuSet::new();
    for (_, core) in first {
        let with = &reserved | core;
        if reserved.is_empty() || (with.len() <= most && taken_whole(view, &with).is_none()) {
            reserved = with;
        }
    }
    spared(reserved, view)
}

/// At least `count` CPUs in whole cores.
pub(crate) fn cpus(view: &KubeletView, count: usize) -> CpuSet {
    let cores = cores_in_turn(view);
    let mut reserved = CpuSet::new();
    for (_, core) in &cores {
        let with = &reserved | core;
        if reserved.len() < count && taken_whole(view, &with).is_none() {
            reserved = with;
        }
    }
    // Where that is too little, so much of large packages that what is left never looks like a whole one.
    for (_, core) in &cores {
        if reserved.len() >= count && taken_whole(view, &reserved).is_none() {
            break;
        }
        reserved |= core;
    }
    spared(reserved, view)
}

/// Of a machine with one core one CPU is enough: pods have the others.
fn spared(reserved: CpuSet, view: &KubeletView) -> CpuSet {
    if reserved.len() < view.cpus().all().len() { reserved } else { reserved.iter().take(1).collect() }
}

/// The order in which cores are reserved, which is that of the fields: the next core of each NUMA node in turn, and the
/// nodes of the packages in turn too, so that no package and no node gives much more than another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// Whether the package has more CPUs than packages have on average: a kubelet may take it with reserved CPUs.
    is_large: bool,
    /// Whether the core is of the second half of its node.
    is_late: bool,
    /// Its place in the node.
    turn: usize,
    /// The place of the node in the package.
    node: usize,
    package: usize,
}

fn cores_in_turn(view: &KubeletView) -> Vec<(Rank, CpuSet)> {
    let table = view.cpus();
    let mut cores: Vec<(Rank, CpuSet)> = Vec::new();
    for (package, (_, in_package)) in table.sockets().enumerate() {
        let is_large = in_package.len() > table.cpus_per_socket();
        let nodes = table.nodes().filter(|(_, cpus)| !cpus.is_disjoint(in_package));
        for (node, (_, cpus)) in nodes.enumerate() {
            let own = cpus & in_package;
            let in_node: Vec<&CpuSet> =
                table.cores().map(|(_, core)| core).filter(|core| core.is_subset(&own)).collect();
            let half = in_node.len() / 2;
            let rank = |turn: usize| Rank { is_large, is_late: turn >= half, turn, node, package };
            cores.extend(in_node.into_iter().enumerate().map(|(turn, core)| (rank(turn), core.clone())));
        }
    }
    cores.sort_by_key(|(rank, _)| *rank);
    cores
}

/// Bytes of memory that are reserved where no amount is asked for.
pub(crate) fn usual_memory(view: &KubeletView) -> i64 {
    let packages = i64::try_from(nodes_to_reserve_memory_on(view).len()).unwrap_or(1);
    let eighth = room(view).values().fold(0, |sum: i64, room| sum.saturating_add(*room)) / 8 / MEBI * MEBI;
    packages.saturating_mul(MEMORY_PER_PACKAGE).min(eighth.max(MEMORY_PER_PACKAGE))
}

/// A NUMA node for each package: the first of the package with enough memory, otherwise the first of the machine.
pub(crate) fn nodes_to_reserve_memory_on(view: &KubeletView) -> Vec<i32> {
    let has_room = |node: &&NodeMemory| node.beside_hugepages() >= 4 * MEMORY_PER_PACKAGE.unsigned_abs();
    let roomy: Vec<&NodeMemory> = view.node_memory().iter().filter(has_room).collect();
    let packages = view.cpus().sockets().filter_map(|(_, package)| {
        let own = roomy
            .iter()
            .find(|node| view.cpus().cpus_in_node(node.id).is_some_and(|cpus| !cpus.is_disjoint(package)));
        own.or(roomy.first()).and_then(|node| i32::try_from(node.id.0).ok())
    });
    packages.collect()
}

/// Bytes of each node beside its huge pages.
pub(crate) fn room(view: &KubeletView) -> BTreeMap<NodeId, i64> {
    let bytes = |node: &NodeMemory| i64::try_from(node.beside_hugepages()).unwrap_or(i64::MAX);
    view.node_memory().iter().map(|node| (node.id, bytes(node))).collect()
}

/// `total` on the nodes of the packages, in equal parts of whole mebibytes as far as each has room for; the first has
/// what does not divide, and other nodes what is left.
pub(crate) fn split(total: i64, nodes: &[i32], view: &KubeletView) -> Vec<ReservedMemory> {
    let room = room(view);
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

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use topology_model::MachineInfo;

    use super::*;

    fn machine(text: &str) -> KubeletView {
        KubeletView::new(&text.parse::<MachineInfo>().unwrap()).unwrap()
    }

    #[test]
    fn a_share_of_the_machine_is_reserved() {
        for (text, reserved, memory) in [
            ("pack:2 [numa(memory=96GiB)] core:24 pu:2", "0-1,48-49", "2Gi"),
            ("pack:2 numa:2(memory=96GiB) core:12 pu:2", "0-1,48-49", "2Gi"),
            // Virtual machines with a package for each core.
            ("[numa(memory=4GiB)] pack:2 core:1 pu:1", "0", "1Gi"),
            ("[numa(memory=8GiB)] pack:4 core:1 pu:1", "0", "1Gi"),
            ("[numa(memory=16GiB)] pack:8 core:1 pu:2", "0-1", "2Gi"),
            ("[numa(memory=64GiB)] pack:32 core:1 pu:1", "0-3", "8Gi"),
            ("pack:16 [numa(memory=8GiB)] core:1 pu:1", "0-1", "16Gi"),
            // The first NUMA nodes have one core each.
            ("pack:1 [numa(memory=8GiB)] core:1 pu:2", "0", "1Gi"),
            ("pack:1 [numa(memory=8GiB)] core:1 pu:1", "0", "1Gi"),
        ] {
            let view = machine(text);
            assert_eq!(usual_cpus(&view).to_string(), reserved, "{text}");
            let bytes = Quantity::from_units(usual_memory(&view), Format::BinarySi);
            assert_eq!(bytes.to_string(), memory, "{text}");
        }
    }

    #[test]
    fn half_of_every_numa_node_is_left_as_long_as_that_is_enough() {
        let view = machine("pack:2 numa:2(memory=16GiB) core:4 pu:2");
        for (count, reserved) in [
            (1, "0-1"),
            (4, "0-1,16-17"),
            (6, "0-1,8-9,16-17"),
            (16, "0-3,8-11,16-19,24-27"),
            (18, "0-5,8-11,16-19,24-27"),
        ] {
            assert_eq!(cpus(&view, count).to_string(), reserved, "{count}");
        }
    }
}
