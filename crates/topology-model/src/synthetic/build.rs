//! A regular machine, and what cAdvisor would report of it.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;

use cpuset::{CpuId, CpuSet};

use super::notation::{Caches, Shape};
use crate::{
    Cache, CacheKind, Core, CoreKind, CpuCache, CpuLists, HugePages, MachineCore, MachineInfo, MachineNode,
    MachineParts, Node, NodeId, NodeLists, Package, PackageId, Smt,
};

/// What makes up the machine.
pub(super) fn parts(shape: &Shape) -> MachineParts {
    let all = set(0..shape.cpus);
    let ids: Vec<_> = (0..shape.nodes).map(|node| NodeId(number(node))).collect();
    let has_threads = shape.cpus > shape.cores;
    MachineParts {
        packages: runs(shape, shape.packages)
            .map(|(at, cpus)| Package { id: PackageId(number(at)), cpus: set(cpus) })
            .collect(),
        cores: runs(shape, shape.cores)
            .map(|(at, cpus)| Core {
                id: core_id(shape, at),
                die: None,
                cluster: None,
                kind: CoreKind::Plain,
                cpus: set(cpus),
            })
            .collect(),
        caches: shape.caches.iter().flat_map(|caches| cpu_caches(shape, caches)).collect(),
        nodes: runs(shape, shape.nodes).map(|(at, cpus)| node(shape, at, cpus)).collect(),
        node_lists: NodeLists {
            online: Some(ids.clone()),
            possible: Some(ids.clone()),
            has_cpu: Some(ids.clone()),
            has_memory: Some(ids.clone()),
            has_normal_memory: Some(ids),
            has_generic_initiator: None,
        },
        devices: Vec::new(),
        smt: Smt {
            active: Some(has_threads),
            control: Some(String::from(if has_threads { "on" } else { "notsupported" })),
        },
        memory: Some(whole_memory(shape)),
        hugepages: whole_pages(shape),
        default_hugepage_kib: Some(2048),
        cpus: CpuLists {
            offline: CpuSet::new(),
            possible: Some(all.clone()),
            present: Some(all.clone()),
            isolated: Some(CpuSet::new()),
            online: all,
        },
    }
}

/// Parts of the machine that are there `count` times, and the CPUs of each.
fn runs(shape: &Shape, count: usize) -> impl Iterator<Item = (usize, Range<usize>)> + use<> {
    let width = shape.cpus / count;
    (0..count).map(move |at| (at, at * width..(at + 1) * width))
}

fn set(cpus: Range<usize>) -> CpuSet {
    cpus.filter_map(|cpu| CpuId::new(cpu).ok()).collect()
}

/// A position as a number of the kernel's; positions stay below the limit of CPUs.
fn number(at: usize) -> i64 {
    i64::try_from(at).unwrap_or(i64::MAX)
}

/// Cores are numbered anew in each package.
fn core_id(shape: &Shape, core: usize) -> i64 {
    number(core % (shape.cores / shape.packages).max(1))
}

fn package_of(shape: &Shape, cpu: usize) -> usize {
    cpu / (shape.cpus / shape.packages)
}

fn cpu_caches(shape: &Shape, caches: &Caches) -> impl Iterator<Item = CpuCache> + use<> {
    let (level, size_kib) = (caches.level, Some(caches.size_kib));
    let kind = if level == 1 { CacheKind::Data } else { CacheKind::Unified };
    runs(shape, caches.count).map(move |(at, cpus)| CpuCache {
        level,
        kind,
        id: Some(number(at)),
        size_kib,
        cpus: set(cpus),
    })
}

fn node(shape: &Shape, at: usize, cpus: Range<usize>) -> Node {
    Node {
        id: NodeId(number(at)),
        cpus: set(cpus),
        memory: Some(shape.memory),
        hugepages: shape.hugepages.clone(),
        distances: Some((0..shape.nodes).map(|other| distance(shape, at, other)).collect()),
    }
}

fn distance(shape: &Shape, from: usize, to: usize) -> u32 {
    let width = shape.cpus / shape.nodes;
    let package = |node: usize| package_of(shape, node * width);
    if from == to {
        10
    } else if package(from) == package(to) {
        12
    } else {
        20
    }
}

fn whole_memory(shape: &Shape) -> u64 {
    shape.memory.saturating_mul(shape.nodes as u64)
}

fn whole_pages(shape: &Shape) -> Vec<HugePages> {
    let nodes = shape.nodes as u64;
    let whole = |pages: &HugePages| HugePages { num_pages: pages.num_pages.saturating_mul(nodes), ..*pages };
    shape.hugepages.iter().map(whole).collect()
}

/// What cAdvisor reads of a kernel's files of the machine.
pub(super) fn info(shape: &Shape) -> MachineInfo {
    let nodes = lexical(0..shape.nodes).into_iter().map(|at| machine_node(shape, at)).collect();
    MachineInfo {
        num_cpus: number(shape.cpus),
        num_physical_cores: number((shape.cores / shape.packages).max(1)),
        num_sockets: number(shape.packages),
        num_books: 0,
        num_drawers: 0,
        cpu_frequency_khz: 0,
        memory_capacity: whole_memory(shape),
        swap_capacity: 0,
        hugepages: listed(whole_pages(shape)),
        topology: Some(nodes),
    }
}

/// Numbers in the order of their names: 10 before 2.
fn lexical(numbers: Range<usize>) -> Vec<usize> {
    let mut all: Vec<_> = numbers.collect();
    all.sort_by_cached_key(ToString::to_string);
    all
}

/// Huge pages in the order of their folders' names; none where there is no folder.
fn listed(mut pages: Vec<HugePages>) -> Option<Vec<HugePages>> {
    pages.sort_by_cached_key(|pages| pages.page_size_kib.to_string());
    Some(pages).filter(|pages| !pages.is_empty())
}

fn machine_node(shape: &Shape, at: usize) -> MachineNode {
    let width = shape.cpus / shape.nodes;
    let mut cores: Vec<MachineCore> = Vec::new();
    for cpu in lexical(at * width..(at + 1) * width) {
        let core_id = core_id(shape, cpu / (shape.cpus / shape.cores));
        let socket_id = number(package_of(shape, cpu));
        match cores.iter_mut().find(|core| (core.core_id, core.socket_id) == (core_id, socket_id)) {
            Some(core) => core.thread_ids.get_or_insert_default().push(number(cpu)),
            None => cores.push(MachineCore {
                core_id,
                socket_id,
                thread_ids: Some(Vec::from([number(cpu)])),
                ..MachineCore::default()
            }),
        }
    }
    let mut node = MachineNode {
        id: number(at),
        memory: shape.memory,
        hugepages: listed(shape.hugepages.clone()),
        distances: Some((0..shape.nodes).map(|other| u64::from(distance(shape, at, other))).collect()),
        ..MachineNode::default()
    };
    add_caches(shape, &mut node, &mut cores);
    node.cores = Some(cores);
    node
}

/// Sorts caches as cAdvisor does: above level 2 they are the node's where they have as many CPUs as it has, and
/// *uncore* otherwise; up to there they are a core's, or are left out.
fn add_caches(shape: &Shape, node: &mut MachineNode, cores: &mut [MachineCore]) {
    let width = shape.cpus / shape.nodes;
    // The kernel lists caches from the inside out.
    let mut caches: Vec<_> = shape.caches.iter().collect();
    caches.sort_by_key(|caches| caches.level);
    for core in cores {
        let threads = core.thread_ids.as_deref().unwrap_or_default();
        let (count, first) = (threads.len(), threads.first().copied().unwrap_or_default());
        for caches in &caches {
            let shared_by = shape.cpus / caches.count;
            let cache = Cache {
                id: first / number(shared_by),
                size: caches.size_kib << 10,
                kind: String::from(if caches.level == 1 { "Data" } else { "Unified" }),
                level: i64::from(caches.level),
            };
            let list = match caches.level {
                3 if shared_by == width => &mut node.caches,
                3 => &mut core.uncore_caches,
                _ if shared_by == count => &mut core.caches,
                _ => continue,
            };
            let list = list.get_or_insert_default();
            if !list.contains(&cache) {
                list.push(cache);
            }
        }
    }
}
