//! Draws: numbers of one seed, and the machine that they are drawn for.

use cpuset::CpuSet;
use node_simulation::Random;
use serde_json::{Value, json};
use topology_model::{HugePages, MachineInfo, MachineNode};

/// A generator of choices.
pub(super) struct Draw(Random);

impl Draw {
    /// The draws that belong to these texts and numbers together.
    pub(super) fn of(seed: u64, name: &str, places: &[u64]) -> Self {
        let mut state = seed;
        for byte in name.bytes().map(u64::from).chain(places.iter().copied()) {
            state = Random::new(state ^ byte.wrapping_mul(0x9e37_79b9_7f4a_7c15)).next();
        }
        Self(Random::new(state))
    }

    /// Whether something with this chance of 100 happens.
    pub(super) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// A number below `limit`; 0 if that is 0.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0.below(limit)
    }

    /// A number from one to another, both to be had.
    pub(super) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most.saturating_sub(least) + 1)
    }

    /// One of some, of which there is at least one.
    pub(super) fn one_of<T: Copy>(&mut self, some: &[T]) -> T {
        let at = usize::try_from(self.below(some.len() as u64)).unwrap_or(0);
        some[at]
    }
}

/// A machine with what draws go by.
#[derive(Clone, Debug)]
pub(super) struct Described {
    pub(super) name: String,
    pub(super) info: MachineInfo,
    pub(super) nodes: Vec<DescribedNode>,
}

/// One NUMA node.
#[derive(Clone, Debug)]
pub(super) struct DescribedNode {
    pub(super) id: i64,
    /// Its cores, each with its CPUs.
    pub(super) cores: Vec<CpuSet>,
    pub(super) cpus: u64,
    pub(super) memory: u64,
}

impl Described {
    pub(super) fn new(name: &str, info: MachineInfo) -> Self {
        let node = |node: &MachineNode| {
            let threads = node.cores.iter().flatten().filter_map(|core| core.thread_ids.as_ref());
            let set = |ids: &Vec<i64>| {
                ids.iter().filter_map(|id| cpuset::CpuId::try_from(*id).ok()).collect::<CpuSet>()
            };
            let cores: Vec<CpuSet> = threads.map(set).collect();
            let cpus = cores.iter().map(|core| core.len() as u64).sum();
            DescribedNode { id: node.id, cores, cpus, memory: node.memory }
        };
        let nodes = info.topology.iter().flatten().map(node).collect();
        Self { name: name.to_owned(), info, nodes }
    }

    pub(super) fn with_cpus(&self) -> impl Iterator<Item = &DescribedNode> {
        self.nodes.iter().filter(|node| node.cpus > 0)
    }

    pub(super) fn cpus(&self) -> u64 {
        self.nodes.iter().map(|node| node.cpus).sum()
    }

    /// The most CPUs that a core has.
    pub(super) fn threads(&self) -> u64 {
        let cores = self.nodes.iter().flat_map(|node| &node.cores);
        cores.map(|core| core.len() as u64).max().unwrap_or(1)
    }

    /// The CPUs of some node that has any.
    pub(super) fn cpus_of_node(&self, draw: &mut Draw) -> u64 {
        let counts: Vec<u64> = self.with_cpus().map(|node| node.cpus).collect();
        if counts.is_empty() { 1 } else { draw.one_of(&counts) }
    }

    /// The bytes of some node that has a Gi or more.
    pub(super) fn memory_of_node(&self, draw: &mut Draw) -> u64 {
        let all = self.nodes.iter().map(|node| node.memory);
        let large: Vec<u64> = all.filter(|memory| *memory > 1 << 30).collect();
        if large.is_empty() { self.info.memory_capacity.max(1 << 30) } else { draw.one_of(&large) }
    }

    /// The sizes of pages that some node has pages of, as resources with their bytes.
    pub(super) fn page_sizes(&self) -> Vec<(String, u64)> {
        let all = self.info.hugepages.iter().flatten().filter(|pages| pages.num_pages > 0);
        let size = |pages: &HugePages| {
            let name = k8s_quantity::hugepage_resource_name(pages.page_size_kib);
            (name, pages.page_size_kib << 10)
        };
        all.map(size).collect()
    }
}

/// Huge pages of the machine, as cases have them; `None`: its own.
pub(super) fn pages(machine: &Described, draw: &mut Draw) -> Option<Value> {
    if draw.percent(50) {
        return None;
    }
    let (large, small) = (draw.percent(70), draw.percent(50));
    // The memory manager crashes on a node that does not list a size.
    let is_missing = draw.percent(6);
    let is_full = draw.percent(5);
    let mut pages = Vec::new();
    for node in &machine.nodes {
        let has_room = node.memory >= 4 << 30 && !draw.percent(10);
        if !has_room && is_missing {
            continue;
        }
        let gis = match node.memory >> 30 {
            _ if !has_room => 0,
            // Nearly all of its memory: what is reserved there may be more than is left.
            all if is_full => all,
            all => 1 + draw.below(all / 6 + 1),
        };
        let twos = if has_room && !is_full { 64 * draw.between(1, 8) } else { 0 };
        if large {
            pages.push(json!({ "node": node.id, "sizeKi": 1 << 20, "pages": gis }));
        }
        if small {
            pages.push(json!({ "node": node.id, "sizeKi": 2048, "pages": twos }));
        }
    }
    Some(json!(pages))
}
