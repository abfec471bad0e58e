//! hwloc's XML, of versions 1 to 3, as `lstopo FILE.xml` writes it.

mod devices;
mod distances;
mod objects;

use cpuset::{CpuId, CpuSet};
use roxmltree::Node as Element;
use topology_model::{
    CacheKind, Core, CoreKind, CpuCache, CpuLists, HugePages, Machine, MachineParts, Node, NodeId, Package,
    PackageId, Smt,
};

use super::elements::{children, number};
use crate::error::MachineTextError;
use crate::form::Form;
use crate::lack::Lack;
use crate::machine_text::{MAX_NODES, MachineText};
use objects::{kind, set};

/// Reads a machine from the root element.
pub(super) fn read(root: Element<'_, '_>) -> Result<MachineText, MachineTextError> {
    let objects: Vec<Element<'_, '_>> =
        root.descendants().filter(|object| object.has_tag_name("object")).collect();
    let of_type = |names: &'static [&'static str]| {
        objects.iter().copied().filter(move |object| names.contains(&kind(*object)))
    };
    let online: CpuSet =
        of_type(&["PU"]).filter_map(|cpu| CpuId::new(number(cpu, "os_index")?).ok()).collect();
    if online.is_empty() {
        return Err(MachineTextError::NoCpus { form: Form::HwlocXml });
    }
    let machine = of_type(&["Machine", "System"]).next();
    let complete = machine.map(|machine| set(machine, "complete_cpuset")).unwrap_or_default();
    let on_line = |object: Element<'_, '_>| &set(object, "cpuset") & &online;
    let mut numa: Vec<_> = of_type(&["NUMANode", "Node"]).collect();
    numa.sort_by_key(|node| number::<i64>(*node, "os_index"));
    if numa.len() > MAX_NODES {
        return Err(MachineTextError::TooManyNodes);
    }
    let mut left = online.clone();
    let mut nodes = nodes(root, &numa, &mut left);
    if nodes.is_empty() {
        // Version 1 has no object for the only node.
        let memory = machine.and_then(|machine| number(machine, "local_memory"));
        let hugepages = machine.map(pages).unwrap_or_default();
        let distances = Some(Vec::from([10]));
        nodes.push(Node { id: NodeId(0), cpus: online.clone(), memory, hugepages, distances });
    }
    let mut assumed = Vec::new();
    if let Some(first) = nodes.first_mut().filter(|first| !left.is_empty() && first.cpus != online) {
        first.cpus |= &left;
        assumed.push(format!("CPUs {left}, which are near no NUMA node, are taken as node {}'s", first.id));
    }
    let hidden = &complete - &online;
    if !hidden.is_empty() {
        assumed.push(format!(
            "CPUs {hidden}, which do not run or were not allowed where lstopo ran, are taken as offline"
        ));
    }
    let kinds = CoreKinds::of(root);
    let mut parts = MachineParts {
        packages: of_type(&["Package", "Socket"])
            .map(|package| Package {
                id: PackageId(number(package, "os_index").unwrap_or(-1)),
                cpus: on_line(package),
            })
            .filter(|package| !package.cpus.is_empty())
            .collect(),
        cores: of_type(&["Core"])
            .map(|core| {
                let die = core.ancestors().find(|above| kind(*above) == "Die");
                let cpus = on_line(core);
                Core {
                    id: number(core, "os_index").unwrap_or(-1),
                    die: die.and_then(|die| number(die, "os_index")),
                    cluster: None,
                    kind: kinds.of_core(&cpus),
                    cpus,
                }
            })
            .filter(|core| !core.cpus.is_empty())
            .collect(),
        caches: objects.iter().filter_map(|object| cache(*object, on_line(*object))).collect(),
        devices: devices::devices(&objects, &nodes),
        memory: nodes.iter().map(|node| node.memory).sum(),
        nodes,
        cpus: CpuLists { offline: hidden, online, ..CpuLists::default() },
        ..MachineParts::default()
    };
    parts.hugepages = parts.hugepages_of_nodes();
    // hwloc leaves out levels of which it knows nothing.
    parts.add_missing_levels();
    parts.smt = Smt { active: Some(parts.cores.iter().any(|core| core.cpus.len() > 1)), control: None };
    let lacks = [
        (parts.caches.is_empty(), Lack::Caches),
        (parts.devices.is_empty(), Lack::Devices),
        (parts.nodes.iter().any(|node| node.memory.is_none()), Lack::Memory),
        (parts.nodes.iter().any(|node| node.distances.is_none()), Lack::Distances),
        (parts.nodes.iter().all(|node| node.hugepages.is_empty()), Lack::HugePages),
    ];
    let lacks = lacks.into_iter().filter_map(|(is_so, lack)| is_so.then_some(lack)).collect();
    let machine = Machine::new(parts)?;
    Ok(MachineText { machine, forms: Vec::from([Form::HwlocXml]), assumed, lacks, unread: Vec::new() })
}

fn cache(object: Element<'_, '_>, cpus: CpuSet) -> Option<CpuCache> {
    let (name, depth): (&str, Option<u8>) = (kind(object), number(object, "depth"));
    // A cache before memory (MemCache) is none of a level.
    let is_of_level = name == "Cache" || name.strip_suffix("Cache").is_some_and(|name| name.starts_with('L'));
    if cpus.is_empty() || !is_of_level {
        return None;
    }
    let kind = match object.attribute("cache_type") {
        Some("1") => CacheKind::Data,
        Some("2") => CacheKind::Instruction,
        _ => CacheKind::Unified,
    };
    Some(CpuCache {
        level: depth?,
        kind,
        id: number(object, "os_index"),
        size_kib: number(object, "cache_size").filter(|bytes: &u64| *bytes > 0).map(|bytes| bytes / 1024),
        cpus,
    })
}

/// The nodes, ascending. Of several that a CPU is near the nearest has it, and of equal ones the lowest; those that are
/// in none are in `left`.
fn nodes(root: Element<'_, '_>, numa: &[Element<'_, '_>], left: &mut CpuSet) -> Vec<Node> {
    // Nodes without memory have no such attribute, where others have.
    let memory = |node: Element<'_, '_>| number::<u64>(node, "local_memory");
    let is_known = numa.iter().any(|node| memory(*node).is_some());
    let mut nodes: Vec<Node> = numa
        .iter()
        .zip(0i64..)
        .map(|(object, at)| Node {
            id: NodeId(number(*object, "os_index").unwrap_or(at)),
            cpus: set(*object, "cpuset"),
            memory: is_known.then(|| memory(*object).unwrap_or(0)),
            hugepages: pages(*object),
            distances: None,
        })
        .collect();
    let mut nearest: Vec<usize> = (0..nodes.len()).collect();
    nearest.sort_by_key(|at| nodes.get(*at).map(|node| node.cpus.len()));
    for at in nearest {
        if let Some(node) = nodes.get_mut(at) {
            node.cpus &= &*left;
            *left -= &node.cpus;
        }
    }
    if let Some(rows) = distances::distances(root, numa) {
        for (node, row) in nodes.iter_mut().zip(rows) {
            node.distances = Some(row);
        }
    } else if let [only] = nodes.as_mut_slice() {
        only.distances = Some(Vec::from([10]));
    }
    nodes
}

/// The huge pages of a node; the smallest page is the ordinary one.
fn pages(node: Element<'_, '_>) -> Vec<HugePages> {
    let sizes = children(node, "page_type").filter_map(|page| {
        let size: u64 = number(page, "size")?;
        Some(HugePages { page_size_kib: size / 1024, num_pages: number(page, "count").unwrap_or(0) })
    });
    let mut sizes: Vec<HugePages> = sizes.collect();
    sizes.sort_by_key(|pages| pages.page_size_kib);
    sizes.into_iter().skip(1).collect()
}

/// Kinds of cores of hybrid processors.
struct CoreKinds(Vec<(CpuSet, CoreKind)>);

impl CoreKinds {
    fn of(root: Element<'_, '_>) -> Self {
        let kinds = children(root, "cpukind").filter_map(|kind| {
            let mut infos = children(kind, "info").filter(|info| info.attribute("name") == Some("CoreType"));
            let of = match infos.next()?.attribute("value")? {
                "IntelCore" => CoreKind::Performance,
                "IntelAtom" => CoreKind::Efficiency,
                _ => CoreKind::Plain,
            };
            Some((set(kind, "cpuset"), of))
        });
        Self(kinds.collect())
    }

    fn of_core(&self, cpus: &CpuSet) -> CoreKind {
        let found = self.0.iter().find(|(of, _)| cpus.first().is_some_and(|first| of.contains(first)));
        found.map_or(CoreKind::Plain, |(_, kind)| *kind)
    }
}
