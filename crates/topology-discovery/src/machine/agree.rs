//! What one file says against what its neighbours say: values that read well and cannot both be right, and files that
//! the kernel writes wherever it writes those beside them.

use std::collections::{BTreeMap, BTreeSet};

use cpuset::{CpuId, CpuSet};
use topology_model::{Core, MachineParts, Node, NodeId};

use super::cpus::{THREADS, has_topology, topology};
use crate::kernel::{CPUS, HUGEPAGES, Kernel, NODES, below, shown};
use crate::problem::Substitute;

/// Files about threads, below the folder of the CPUs.
const SMT: [&str; 2] = ["smt/active", "smt/control"];

/// Reports what in a machine does not fit together.
pub(super) fn check(kernel: &Kernel<'_>, parts: &MachineParts) {
    cpu_lists(kernel, parts);
    smt(kernel, parts);
    cores_and_nodes(kernel, parts);
    core_numbers(kernel, parts);
    // A kernel without NUMA support has one node and no folder of it.
    if kernel.numbered(NODES, "node").is_some_and(|ids| !ids.is_empty()) {
        node_lists(kernel, parts);
        hugepages(kernel, parts);
    }
}

/// The CPUs that run are present, and those present are possible.
fn cpu_lists(kernel: &Kernel<'_>, parts: &MachineParts) {
    let path = |name: &str| format!("{CPUS}/{name}");
    let lists = &parts.cpus;
    let mut within = lists.online.clone();
    for (name, list) in [("present", &lists.present), ("possible", &lists.possible)] {
        match list {
            Some(list) if !within.is_subset(list) => {
                kernel.contradicts(&path(name), &path("online"), Substitute::AsRead);
            }
            Some(list) => within.clone_from(list),
            None => kernel.missing_unless_there(&path(name), Substitute::Unknown),
        }
    }
    // A CPU loses its topology when it is taken offline.
    if let Some(cpu) = lists.offline.iter().find(|cpu| has_topology(kernel, *cpu)) {
        let topology = path(&format!("cpu{}/topology", cpu.get()));
        kernel.contradicts(&path("online"), &topology, Substitute::AsRead);
    }
}

/// Both files about threads came with one kernel, 4.19, which had the list of isolated CPUs and, where there are NUMA
/// nodes, that of nodes with memory already.
fn smt(kernel: &Kernel<'_>, parts: &MachineParts) {
    let files = SMT.map(|name| format!("{CPUS}/{name}"));
    if !files.iter().any(|path| is_there(kernel, path)) {
        return;
    }
    let isolated = format!("{CPUS}/isolated");
    for path in files.iter().chain([&isolated]) {
        kernel.missing_unless_there(path, Substitute::Unknown);
    }
    if is_there(kernel, &format!("{NODES}/online")) {
        kernel.missing_unless_there(&format!("{NODES}/has_memory"), Substitute::Unknown);
    }
    let [active, control] = &files;
    // Threads are active while a core has two that run.
    let is_active = parts.cores.iter().any(|core| core.cpus.len() > 1);
    if parts.smt.active.is_some_and(|told| told != is_active) {
        kernel.contradicts(active, &format!("{CPUS}/cpu*/topology"), Substitute::AsRead);
    }
    // The kernel names a number of threads where it lets some of each core run and keeps the others offline.
    let is_number = parts.smt.control.as_ref().is_some_and(|control| control.parse::<u32>().is_ok());
    if is_number && parts.cpus.offline.is_empty() {
        kernel.contradicts(control, &format!("{CPUS}/online"), Substitute::AsRead);
    }
}

fn is_there(kernel: &Kernel<'_>, path: &str) -> bool {
    kernel.tree.target(path).is_some()
}

/// The threads of a core are all near to one node.
fn cores_and_nodes(kernel: &Kernel<'_>, parts: &MachineParts) {
    let node_of: BTreeMap<CpuId, &Node> =
        parts.nodes.iter().flat_map(|node| node.cpus.iter().map(move |cpu| (cpu, node))).collect();
    for core in &parts.cores {
        let Some(first) = core.cpus.first() else { continue };
        let Some(home) = node_of.get(&first) else { continue };
        let mut others = core.cpus.iter().filter_map(|cpu| node_of.get(&cpu));
        let Some(other) = others.find(|other| other.id != home.id) else { continue };
        let threads = topology(first);
        let name = kernel.cpus_with_name(&threads, &THREADS).map_or(THREADS[0], |(name, _)| name);
        let (path, node) = (below(&threads, name), format!("{NODES}/node{}", other.id));
        kernel.differs((&path, shown(&core.cpus)), (&node, shown(&other.cpus)), Substitute::AsRead);
    }
}

/// Cores of one package, node, die and cluster have different numbers, where the number is that of a core: on machines
/// whose cores have several threads, and but for few of them. Elsewhere numbers repeat on machines that are sound.
fn core_numbers(kernel: &Kernel<'_>, parts: &MachineParts) {
    if parts.cores.iter().all(|core| core.cpus.len() < 2) {
        return;
    }
    let owner = |cpu: CpuId, sets: &[&CpuSet]| sets.iter().position(|cpus| cpus.contains(cpu));
    let packages: Vec<&CpuSet> = parts.packages.iter().map(|package| &package.cpus).collect();
    let nodes: Vec<&CpuSet> = parts.nodes.iter().map(|node| &node.cpus).collect();
    let mut numbered: BTreeMap<_, Vec<&Core>> = BTreeMap::new();
    for core in parts.cores.iter().filter(|core| core.id >= 0) {
        let Some(first) = core.cpus.first() else { continue };
        let place = (owner(first, &packages), owner(first, &nodes), core.die, core.cluster);
        numbered.entry((place, core.id)).or_default().push(core);
    }
    let repeated: Vec<_> = numbered.values().filter(|cores| cores.len() > 1).collect();
    let count: usize = repeated.iter().map(|cores| cores.len()).sum();
    if 2 * count > parts.cores.len() {
        return;
    }
    for cores in repeated {
        let [first, others @ ..] = cores.as_slice() else { continue };
        for cpu in others.iter().filter_map(|core| core.cpus.first()) {
            let folder = topology(cpu);
            let Some((name, threads)) = kernel.cpus_with_name(&folder, &THREADS) else { continue };
            let (path, id) = (below(&folder, name), below(&folder, "core_id"));
            let number = format!("{}, as {} have", first.id, shown(&first.cpus));
            kernel.differs((&path, shown(&threads)), (&id, number), Substitute::CoreOfSiblings);
        }
    }
}

/// Every node is listed for what it has.
fn node_lists(kernel: &Kernel<'_>, parts: &MachineParts) {
    let ids = |has: fn(&Node) -> bool| -> BTreeSet<NodeId> {
        parts.nodes.iter().filter(|node| has(node)).map(|node| node.id).collect()
    };
    let lists = &parts.node_lists;
    for (name, list, there) in [
        ("online", &lists.online, ids(|_| true)),
        ("possible", &lists.possible, ids(|_| true)),
        ("has_cpu", &lists.has_cpu, ids(|node| !node.cpus.is_empty())),
        ("has_memory", &lists.has_memory, ids(has_memory)),
    ] {
        let path = format!("{NODES}/{name}");
        match list {
            Some(list) => {
                if let Some(id) = there.iter().find(|id| !list.contains(id)) {
                    kernel.contradicts(&path, &format!("{NODES}/node{}", id.0), Substitute::AsRead);
                }
            }
            // Kernels have had that of nodes with memory for some of the time only.
            None if name == "has_memory" => {}
            None => kernel.missing_unless_there(&path, Substitute::Unknown),
        }
    }
    let missing = |id: &&NodeId| !parts.nodes.iter().any(|node| node.id == **id);
    for id in lists.online.iter().flatten().filter(missing) {
        kernel.missing(&format!("{NODES}/node{}", id.0), Substitute::LeftOut);
    }
}

fn has_memory(node: &Node) -> bool {
    node.memory.is_some_and(|bytes| bytes > 0)
}

/// Each node with memory has pages of each size, and they add up to those of the machine. Kernels before 2.6.32 count
/// them for the machine alone; the list of isolated CPUs came with 4.2.
fn hugepages(kernel: &Kernel<'_>, parts: &MachineParts) {
    let file = |folder: &str, size: u64| format!("{folder}/hugepages-{size}kB/nr_hugepages");
    let nodes = || parts.nodes.iter().flat_map(|node| &node.hugepages);
    let is_old = ["isolated"].iter().chain(&SMT).all(|name| !is_there(kernel, &format!("{CPUS}/{name}")));
    if is_old && nodes().next().is_none() {
        return;
    }
    let sizes: BTreeSet<u64> =
        parts.hugepages.iter().chain(nodes()).map(|pages| pages.page_size_kib).collect();
    for size in sizes {
        let mut is_whole = true;
        for node in &parts.nodes {
            if has_memory(node) && !node.hugepages.iter().any(|pages| pages.page_size_kib == size) {
                is_whole = false;
                let folder = format!("{NODES}/node{}/hugepages", node.id.0);
                kernel.missing_unless_there(&file(&folder, size), Substitute::LeftOut);
            }
        }
        let all = file(HUGEPAGES, size);
        let Some(total) = parts.hugepages.iter().find(|pages| pages.page_size_kib == size) else {
            kernel.missing_unless_there(&all, Substitute::LeftOut);
            continue;
        };
        let of_size = nodes().filter(|pages| pages.page_size_kib == size);
        let sum = of_size.fold(0_u64, |sum, pages| sum.saturating_add(pages.num_pages));
        if is_whole && sum != total.num_pages {
            kernel.contradicts(&all, NODES, Substitute::AsRead);
        }
    }
}
