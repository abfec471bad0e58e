//! Truth files, and how they compare with what was read. They were made by a reader that shares no code with this
//! one.

use std::collections::{BTreeMap, BTreeSet};

use cpuset::CpuSet;
use serde::Deserialize;
use topology_model::{CacheKind, DeviceNode, HugePages, Machine, MachineParts, NodeId};

type Ids = Vec<i64>;

/// A truth file, the fields that a reading has to agree with.
#[derive(Deserialize)]
pub(crate) struct Truth {
    online_cpus: Ids,
    possible_cpus: Ids,
    present_cpus: Option<Ids>,
    offline_cpus: Ids,
    isolated_cpus: Option<Ids>,
    smt_active: Option<String>,
    smt_control: Option<String>,
    node_masks: BTreeMap<String, Option<Ids>>,
    numa_nodes: Vec<TrueNode>,
    packages: Vec<TruePackage>,
    cores: Vec<TrueCore>,
    l3: Vec<TrueCache>,
    l2_sharing_sizes: Vec<usize>,
    counts: Counts,
    meminfo_total_bytes: Option<u64>,
    default_hugepage_kib: Option<u64>,
    global_hugepages: BTreeMap<String, u64>,
    pci: Vec<TrueDevice>,
}

#[derive(Deserialize)]
struct TrueNode {
    id: i64,
    cpus: Ids,
    memory_bytes: Option<u64>,
    hugepages: BTreeMap<String, u64>,
    distances: Option<Vec<u32>>,
}

#[derive(Deserialize)]
struct TruePackage {
    id: i64,
    cpus: Ids,
}

#[derive(Deserialize)]
struct TrueCore {
    core_id: i64,
    cpus: Ids,
    die: Option<i64>,
    cluster: Option<i64>,
}

#[derive(Deserialize)]
struct TrueCache {
    id: Option<i64>,
    size: Option<String>,
    cpus: Ids,
}

#[derive(Deserialize)]
struct Counts {
    l2: usize,
    threads_per_core: Vec<usize>,
    pci_with_node: usize,
}

#[derive(Deserialize)]
struct TrueDevice {
    addr: String,
    numa_node: Option<i64>,
    class: String,
    vendor: Option<String>,
    device: Option<String>,
    local_cpus: Ids,
}

/// Fields that differ, each with both values.
#[derive(Default)]
pub(crate) struct Differences(Vec<String>);

impl Differences {
    fn compare<T: PartialEq + std::fmt::Debug>(&mut self, field: &str, truth: &T, read: &T) {
        if truth != read {
            self.0.push(format!("{field}: {truth:?} is true, {read:?} was read"));
        }
    }

    /// A line for each field.
    pub(crate) fn lines(self) -> Vec<String> {
        self.0
    }
}

fn cpus(ids: &[i64]) -> CpuSet {
    ids.iter().filter_map(|id| (*id).try_into().ok()).collect()
}

/// A die or cluster; the kernel's numbers for "there is none" mean that there is none.
fn known(number: Option<i64>) -> Option<i64> {
    number.filter(|number| ![-1, 0xffff].contains(number))
}

fn pages(by_size: &BTreeMap<String, u64>) -> Vec<HugePages> {
    let pages = by_size.iter().map(|(size, number)| (size.parse().expect("a size in KiB"), *number));
    let sorted: BTreeMap<u64, u64> = pages.collect();
    sorted.into_iter().map(|(page_size_kib, num_pages)| HugePages { page_size_kib, num_pages }).collect()
}

fn hex(text: &str) -> u32 {
    u32::from_str_radix(text.trim_start_matches("0x"), 16).expect("a hexadecimal number")
}

/// Compares a machine with its truth, field by field.
pub(crate) fn compare(truth: &Truth, machine: &Machine) -> Differences {
    let mut found = Differences::default();
    compare_cpus(truth, machine, &mut found);
    compare_nodes(truth, machine, &mut found);
    compare_caches(truth, machine, &mut found);
    compare_devices(truth, machine, &mut found);
    let MachineParts { memory, hugepages, default_hugepage_kib, .. } = machine.clone().into_parts();
    found.compare("meminfo_total_bytes", &truth.meminfo_total_bytes, &memory);
    found.compare("default_hugepage_kib", &truth.default_hugepage_kib, &default_hugepage_kib);
    found.compare("global_hugepages", &pages(&truth.global_hugepages), &hugepages);
    found
}

fn compare_cpus(truth: &Truth, machine: &Machine, found: &mut Differences) {
    let lists = machine.cpus();
    found.compare("online_cpus", &cpus(&truth.online_cpus), &lists.online);
    found.compare("offline_cpus", &cpus(&truth.offline_cpus), &lists.offline);
    found.compare("present_cpus", &truth.present_cpus.as_deref().map(cpus), &lists.present);
    found.compare("isolated_cpus", &truth.isolated_cpus.as_deref().map(cpus), &lists.isolated);
    if let Some(possible) = &lists.possible {
        found.compare("possible_cpus", &cpus(&truth.possible_cpus), possible);
    }
    let active = machine.smt().active.map(|active| if active { "1" } else { "0" }.to_owned());
    found.compare("smt_active", &truth.smt_active, &active);
    found.compare("smt_control", &truth.smt_control, &machine.smt().control);

    let mut packages: Vec<_> =
        truth.packages.iter().map(|package| (cpus(&package.cpus), package.id)).collect();
    packages.sort_by_key(|(cpus, _)| cpus.first());
    let own = machine.packages().iter().map(|package| (package.cpus.clone(), package.id.0)).collect();
    found.compare("packages", &packages, &own);

    let mut cores: Vec<_> = truth
        .cores
        .iter()
        .map(|core| (cpus(&core.cpus), core.core_id, known(core.die), known(core.cluster)))
        .collect();
    cores.sort_by_key(|(cpus, ..)| cpus.first());
    let own = machine.cores().iter().map(|core| (core.cpus.clone(), core.id, core.die, core.cluster));
    found.compare("cores", &cores, &own.collect());
    let threads: BTreeSet<_> = machine.cores().iter().map(|core| core.cpus.len()).collect();
    found.compare("counts.threads_per_core", &truth.counts.threads_per_core, &threads.into_iter().collect());
}

fn compare_nodes(truth: &Truth, machine: &Machine, found: &mut Differences) {
    let lists = machine.node_lists();
    for (name, list) in [
        ("online", &lists.online),
        ("possible", &lists.possible),
        ("has_cpu", &lists.has_cpu),
        ("has_memory", &lists.has_memory),
        ("has_normal_memory", &lists.has_normal_memory),
        ("has_generic_initiator", &lists.has_generic_initiator),
    ] {
        let own: Option<Ids> = list.as_ref().map(|ids| ids.iter().map(|id| id.0).collect());
        found.compare(&format!("node_masks.{name}"), &truth.node_masks.get(name).cloned().flatten(), &own);
    }
    if truth.numa_nodes.is_empty() {
        let all: Vec<_> = machine.nodes().iter().map(|node| (node.id.0, node.cpus.clone())).collect();
        found.compare("the one node", &vec![(0, cpus(&truth.online_cpus))], &all);
        return;
    }
    let ids: Ids = truth.numa_nodes.iter().map(|node| node.id).collect();
    found.compare("numa_nodes", &ids, &machine.nodes().iter().map(|node| node.id.0).collect());
    for node in &truth.numa_nodes {
        let Some(own) = machine.node(NodeId(node.id)) else { continue };
        let field = |name: &str| format!("numa_nodes[{}].{name}", node.id);
        // A CPU is in one node, even if a kernel lists it in several.
        let cpus = &cpus(&node.cpus) - &elsewhere(truth, node, &own.cpus);
        found.compare(&field("cpus"), &cpus, &own.cpus);
        found.compare(&field("memory_bytes"), &node.memory_bytes, &own.memory);
        found.compare(&field("hugepages"), &pages(&node.hugepages), &own.hugepages);
        found.compare(&field("distances"), &node.distances, &own.distances);
    }
}

/// The CPUs of a node that it lacks in the reading because another node lists them too.
fn elsewhere(truth: &Truth, node: &TrueNode, own: &CpuSet) -> CpuSet {
    let others = truth.numa_nodes.iter().filter(|other| other.id != node.id);
    let listed = others.fold(CpuSet::new(), |all, other| &all | &cpus(&other.cpus));
    &listed - own
}

fn compare_caches(truth: &Truth, machine: &Machine, found: &mut Differences) {
    let mut l3: Vec<_> = truth
        .l3
        .iter()
        .map(|cache| {
            let size =
                cache.size.as_deref().map(|size| size.trim_end_matches('K').parse().expect("a size in K"));
            (cpus(&cache.cpus), cache.id, size)
        })
        .collect();
    l3.sort_by_key(|(cpus, ..)| cpus.first());
    let own = machine.caches_at(3).map(|cache| (cache.cpus.clone(), cache.id, cache.size_kib));
    found.compare("l3", &l3, &own.collect());
    found.compare("counts.l2", &truth.counts.l2, &machine.caches_at(2).count());
    let sharing: BTreeSet<_> = machine.caches_at(2).map(|cache| cache.cpus.len()).collect();
    found.compare("l2_sharing_sizes", &truth.l2_sharing_sizes, &sharing.into_iter().collect());
    // Caches of one kind do not overlap, whatever the truth file says of them.
    for kind in [CacheKind::Data, CacheKind::Instruction, CacheKind::Unified] {
        let mut seen = BTreeMap::new();
        for cache in machine.caches().iter().filter(|cache| cache.kind == kind) {
            let cpus: &mut CpuSet = seen.entry(cache.level).or_default();
            found.compare("caches that overlap", &CpuSet::new(), &(&*cpus & &cache.cpus));
            *cpus |= &cache.cpus;
        }
    }
}

fn compare_devices(truth: &Truth, machine: &Machine, found: &mut Differences) {
    let mut addresses: Vec<_> = truth.pci.iter().map(|device| device.addr.clone()).collect();
    let mut own: Vec<_> = machine.devices().iter().map(|device| device.address.to_string()).collect();
    addresses.sort();
    own.sort();
    found.compare("pci", &addresses, &own);
    let mut with_node = 0;
    for device in &truth.pci {
        let address = device.addr.parse().expect("a PCI address");
        let Some(own) = machine.device(address) else { continue };
        let field = |name: &str| format!("pci[{address}].{name}");
        let node = device.numa_node.filter(|node| *node >= 0).map(NodeId);
        found.compare(&field("numa_node"), &node, &own.node.reported());
        with_node += usize::from(matches!(own.node, DeviceNode::Known(_)));
        found.compare(&field("class"), &hex(&device.class), &own.class);
        let short =
            |text: &Option<String>| text.as_deref().map(hex).map(|id| u16::try_from(id).expect("16 bits"));
        found.compare(&field("vendor"), &short(&device.vendor), &own.vendor);
        found.compare(&field("device"), &short(&device.device), &own.device);
        found.compare(&field("local_cpus"), &cpus(&device.local_cpus), &own.local_cpus);
    }
    found.compare("counts.pci_with_node", &truth.counts.pci_with_node, &with_node);
}
