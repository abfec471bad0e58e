//! `virsh capabilities`: the host of libvirt.

use std::collections::BTreeMap;

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
use crate::machine_text::MachineText;

/// Reads a machine from the root element.
pub(super) fn read(root: Element<'_, '_>) -> Result<MachineText, MachineTextError> {
    let cells: Vec<Element<'_, '_>> = root
        .descendants()
        .filter(|cell| {
            cell.has_tag_name("cell") && cell.parent().is_some_and(|above| above.has_tag_name("cells"))
        })
        .collect();
    // Where others have a place, one without is offline.
    let has_places = cells.iter().flat_map(Element::descendants).any(|cpu| cpu.has_attribute("socket_id"));
    let ids: Vec<i64> = cells.iter().filter_map(|cell| number(*cell, "id")).collect();
    let mut parts = MachineParts::default();
    let mut packages: BTreeMap<i64, CpuSet> = BTreeMap::new();
    for cell in &cells {
        let Some(id) = number(*cell, "id") else { continue };
        let mut cpus = CpuSet::new();
        for cpu in cell.descendants().filter(|cpu| cpu.has_tag_name("cpu")) {
            let Some(own) = number(cpu, "id").and_then(|number| CpuId::new(number).ok()) else { continue };
            if has_places && !cpu.has_attribute("socket_id") {
                parts.cpus.offline.insert(own);
                continue;
            }
            cpus.insert(own);
            packages.entry(number(cpu, "socket_id").unwrap_or(-1)).or_default().insert(own);
            let siblings = cpu.attribute("siblings").and_then(|list| CpuSet::from_kernel_list(list).ok());
            let siblings = siblings.unwrap_or_else(|| CpuSet::from(own));
            // A core is read with its first CPU.
            if siblings.first() == Some(own) {
                parts.cores.push(core(cpu, siblings));
            }
        }
        parts.cpus.online |= &cpus;
        parts.nodes.push(node(*cell, id, cpus, &ids));
    }
    if parts.cpus.online.is_empty() {
        return Err(MachineTextError::NoCpus { form: Form::LibvirtCapabilities });
    }
    parts.packages = packages.into_iter().map(|(id, cpus)| Package { id: PackageId(id), cpus }).collect();
    let banks = root.descendants().filter(|bank| bank.has_tag_name("bank"));
    parts.caches = banks.filter_map(|bank| cache(bank, &parts.cpus)).collect();
    parts.memory = parts.nodes.iter().map(|node| node.memory).sum();
    parts.hugepages = parts.hugepages_of_nodes();
    parts.smt = Smt { active: Some(parts.cores.iter().any(|core| core.cpus.len() > 1)), control: None };
    let mut lacks = Vec::from([Lack::Devices]);
    lacks.extend(parts.caches.is_empty().then_some(Lack::Caches));
    lacks.extend(parts.nodes.iter().any(|node| node.memory.is_none()).then_some(Lack::Memory));
    lacks.extend(parts.nodes.iter().any(|node| node.distances.is_none()).then_some(Lack::Distances));
    lacks.extend(parts.nodes.iter().all(|node| node.hugepages.is_empty()).then_some(Lack::HugePages));
    let mut assumed = Vec::new();
    if !has_places {
        lacks.push(Lack::Cores);
        assumed.push("each CPU is taken as a separate core".to_owned());
        assumed.push("all CPUs are taken as one package".to_owned());
    }
    lacks.sort_unstable();
    let machine = Machine::new(parts)?;
    Ok(MachineText {
        machine,
        forms: Vec::from([Form::LibvirtCapabilities]),
        assumed,
        lacks,
        unread: Vec::new(),
    })
}

fn core(cpu: Element<'_, '_>, cpus: CpuSet) -> Core {
    Core {
        id: number(cpu, "core_id").unwrap_or(-1),
        die: number(cpu, "die_id"),
        cluster: number(cpu, "cluster_id"),
        kind: CoreKind::Plain,
        cpus,
    }
}

fn node(cell: Element<'_, '_>, id: i64, cpus: CpuSet, ids: &[i64]) -> Node {
    let memory = children(cell, "memory").next().and_then(|memory| bytes(memory, memory.text()?));
    let mut pages: Vec<HugePages> = children(cell, "pages")
        .filter_map(|pages| {
            let num_pages = pages.text()?.trim().parse().ok()?;
            Some(HugePages { page_size_kib: bytes(pages, pages.attribute("size")?)? / 1024, num_pages })
        })
        .collect();
    pages.sort_by_key(|pages| pages.page_size_kib);
    let distances: BTreeMap<i64, u32> = cell
        .descendants()
        .filter(|sibling| sibling.has_tag_name("sibling"))
        .filter_map(|sibling| Some((number(sibling, "id")?, number(sibling, "value")?)))
        .collect();
    let row = if ids.len() == 1 {
        Some(Vec::from([10]))
    } else {
        ids.iter().map(|other| distances.get(other).copied()).collect()
    };
    // The smallest page is the ordinary one.
    let hugepages = pages.into_iter().skip(1).collect();
    Node { id: NodeId(id), cpus, memory, hugepages, distances: row }
}

fn cache(bank: Element<'_, '_>, cpus: &CpuLists) -> Option<CpuCache> {
    let own = &CpuSet::from_kernel_list(bank.attribute("cpus")?).ok()? & &cpus.online;
    let kind = match bank.attribute("type") {
        Some("data") => CacheKind::Data,
        Some("code") => CacheKind::Instruction,
        _ => CacheKind::Unified,
    };
    let size_kib = bank.attribute("size").and_then(|size| bytes(bank, size)).map(|bytes| bytes / 1024);
    let (level, id) = (number(bank, "level")?, number(bank, "id"));
    (!own.is_empty()).then_some(CpuCache { level, kind, id, size_kib, cpus: own })
}

/// An amount in the unit that the element names; KiB where it names none.
pub(super) fn bytes(element: Element<'_, '_>, amount: &str) -> Option<u64> {
    let shift: u32 = match element.attribute("unit").unwrap_or("KiB") {
        "B" | "bytes" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        "TiB" => 40,
        _ => return None,
    };
    amount.trim().parse::<u64>().ok()?.checked_mul(1 << shift)
}
