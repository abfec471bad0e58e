//! NUMA nodes: their CPUs, memory, huge pages and distances.

use cpuset::{CpuId, CpuSet};
use topology_model::{CpuLists, HugePages, Node, NodeId, NodeLists};

use crate::kernel::{Kernel, NODES, below, shown};
use crate::problem::Substitute;

/// Names of the files that hold the CPUs of a node.
pub(crate) const NODE_CPUS: [&str; 2] = ["cpulist", "cpumap"];

/// What the kernel lists nodes under.
pub(super) fn lists(kernel: &Kernel<'_>) -> NodeLists {
    let list = |name: &str| kernel.node_list(&format!("{NODES}/{name}"));
    NodeLists {
        online: list("online"),
        possible: list("possible"),
        has_cpu: list("has_cpu"),
        has_memory: list("has_memory"),
        has_normal_memory: list("has_normal_memory"),
        has_generic_initiator: list("has_generic_initiator"),
    }
}

/// The nodes, ascending; each online CPU is in one. A kernel without NUMA support has one that holds everything.
pub(super) fn nodes(
    kernel: &Kernel<'_>,
    cpus: &CpuLists,
    memory: Option<u64>,
    hugepages: &[HugePages],
) -> Vec<Node> {
    let ids = kernel.numbered(NODES, "node").unwrap_or_default();
    if ids.is_empty() {
        kernel.missing(NODES, Substitute::OneNode);
        let (cpus, hugepages) = (cpus.online.clone(), hugepages.to_vec());
        return vec![Node { id: NodeId(0), cpus, memory, hugepages, distances: None }];
    }
    let mut left = cpus.online.clone();
    let mut nodes: Vec<Node> = Vec::with_capacity(ids.len());
    for id in &ids {
        let folder = format!("{NODES}/node{id}");
        let named = &node_cpus(kernel, &folder) & &cpus.online;
        let own = &named & &left;
        if let Some(before) = nodes.iter().find(|before| !before.cpus.is_disjoint(&named)) {
            let other = format!("{NODES}/node{}", before.id);
            kernel.differs((&folder, shown(&named)), (&other, shown(&before.cpus)), Substitute::FirstNode);
        }
        left = &left - &own;
        nodes.push(Node {
            id: NodeId(i64::from(*id)),
            cpus: own,
            memory: node_memory(kernel, &folder),
            hugepages: kernel.hugepages(&format!("{folder}/hugepages")),
            distances: distances(kernel, &folder, &ids),
        });
    }
    if let Some(first) = nodes.first_mut().filter(|_| !left.is_empty()) {
        kernel.missing(&format!("{NODES}/node*/cpu[{left}]"), Substitute::NodeOfNoOne);
        first.cpus |= &left;
    }
    nodes
}

/// The CPUs of a node: its links where there are some, else its list or mask.
fn node_cpus(kernel: &Kernel<'_>, folder: &str) -> CpuSet {
    let linked: CpuSet = kernel
        .numbered(folder, "cpu")
        .unwrap_or_default()
        .into_iter()
        .filter_map(|number| CpuId::try_from(i64::from(number)).ok())
        .collect();
    if linked.is_empty() {
        let Some(listed) = kernel.cpus(folder, &NODE_CPUS) else {
            kernel.missing_unless_there(&below(folder, NODE_CPUS[0]), Substitute::NodeWithoutCpus);
            return CpuSet::new();
        };
        if !listed.is_empty() {
            kernel.missing(&format!("{folder}/cpu*"), Substitute::CpusOfMask);
        }
        return listed;
    }
    let differs = |name: &str, cpus: &CpuSet, other: &str, others: &CpuSet| {
        let (path, other) = (below(folder, name), below(folder, other));
        kernel.differs((&path, shown(cpus)), (&other, shown(others)), Substitute::CpusOfLinks);
    };
    // Links name CPUs that are offline too; lists do not.
    let (fit, wrong): (Vec<_>, Vec<_>) =
        kernel.cpus_of_each(folder, &NODE_CPUS).partition(|(_, cpus)| cpus.is_subset(&linked));
    for (name, cpus) in &wrong {
        differs(name, cpus, "cpu*", &linked);
    }
    if let [(first, cpus), (second, others)] = fit.as_slice()
        && cpus != others
    {
        differs(second, others, first, cpus);
    }
    linked
}

fn node_memory(kernel: &Kernel<'_>, folder: &str) -> Option<u64> {
    let path = format!("{folder}/meminfo");
    if kernel.tree.target(&path).is_none() {
        kernel.missing(&path, Substitute::Unknown);
        return None;
    }
    kernel.meminfo(&path, "MemTotal", Substitute::Unknown)
}

/// The distances to all nodes in ascending order of id. The file has an entry for each node that is online.
fn distances(kernel: &Kernel<'_>, folder: &str, ids: &[u32]) -> Option<Vec<u32>> {
    let path = format!("{folder}/distance");
    if kernel.tree.target(&path).is_none() {
        kernel.missing(&path, Substitute::Unknown);
        return None;
    }
    kernel.parsed(&path, Substitute::Unknown, |text| {
        let row: Vec<u32> = text
            .split_ascii_whitespace()
            // Distances are in tenths of that of a node to itself, which is the least.
            .map(|part| part.parse().ok().filter(|distance| *distance >= 10))
            .map(|distance| distance.ok_or_else(|| format!("{text:?} are no distances")))
            .collect::<Result<_, _>>()?;
        if row.len() == ids.len() {
            Ok(row)
        } else {
            Err(format!("{} distances for {} nodes", row.len(), ids.len()))
        }
    })
}
