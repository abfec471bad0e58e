//! One machine of what the outputs have.

mod agree;
mod caches;
mod cores;
mod devices;
mod places;
mod tables;

use std::collections::BTreeMap;

use cpuset::CpuSet;
use topology_model::{CpuLists, HugePages, Machine, MachineParts, Node, NodeId, Smt};

use crate::error::MachineTextError;
use crate::facts::{Facts, on_node};
use crate::form::Form;
use crate::lack::Lack;
use crate::machine_text::MachineText;
use places::Places;

/// Makes a machine of facts.
pub(crate) fn machine(mut facts: Facts) -> Result<MachineText, MachineTextError> {
    agree::settle(&mut facts)?;
    let cpus = cpus(&facts)?;
    let nodes = nodes(&facts, &cpus)?;
    let mut places = cores::places(&facts, &cpus.online, nodes)?;
    let caches = caches::caches(&facts, &places);
    let mut lacks = Vec::new();
    lacks.extend(places.lacks_cores.then_some(Lack::Cores));
    lacks.extend(caches.lacks_some.then_some(Lack::Caches));
    places.assumed.extend(caches.assumed);
    let caches = caches.all;
    let nodes: Vec<Node> = places.nodes.iter().map(|(id, cpus)| node(*id, cpus, &places, &facts)).collect();
    if facts
        .nodes
        .values()
        .any(|node| node.memory.is_none() && node.rough_memory.is_some_and(|bytes| bytes > 0))
    {
        places.assumed.push("memory of NUMA nodes is as rounded as lstopo draws it".to_owned());
    }
    let devices = devices::devices(&facts, &nodes, facts.of_nodes())?;
    places.assumed.extend(devices.assumed);
    lacks.extend(devices.lack);
    lacks.extend(nodes.iter().any(|node| node.memory.is_none()).then_some(Lack::Memory));
    lacks.extend(nodes.iter().any(|node| node.distances.is_none()).then_some(Lack::Distances));
    let has_pages = facts.nodes.values().any(|node| !node.hugepages.is_empty());
    lacks.extend((!has_pages).then_some(Lack::HugePages));
    let active = places.cores.iter().any(|core| core.cpus.len() > 1);
    let of_nodes = || nodes.iter().map(|node| node.memory).sum::<Option<u64>>();
    let mut parts = MachineParts {
        memory: facts.memory.or_else(of_nodes),
        default_hugepage_kib: facts.default_hugepage_kib,
        smt: Smt { active: (!places.lacks_cores).then_some(active), control: None },
        cpus,
        packages: places.packages,
        cores: places.cores,
        caches,
        nodes,
        devices: devices.all,
        ..MachineParts::default()
    };
    parts.hugepages = parts.hugepages_of_nodes();
    if parts.hugepages.is_empty() {
        parts.hugepages.extend(default_pages(&facts));
    }
    lacks.sort_unstable();
    Ok(MachineText {
        machine: Machine::new(parts)?,
        forms: facts.forms.into_iter().collect(),
        assumed: places.assumed,
        lacks,
        unread: Vec::new(),
    })
}

/// A machine that is read from XML, which tells more than the outputs beside it; these have to have the same CPUs.
pub(crate) fn beside(mut facts: Facts, mut read: MachineText) -> Result<MachineText, MachineTextError> {
    agree::settle(&mut facts)?;
    let online = match cpus(&facts) {
        Ok(cpus) => Some(cpus.online),
        // Nothing beside the XML lists CPUs.
        Err(MachineTextError::NoCpus { .. } | MachineTextError::Unknown) => None,
        Err(error) => return Err(error),
    };
    let own = read.machine.online();
    let (one, other) = (read.forms.first(), facts.forms.first());
    if let (Some(online), Some(one), Some(other)) = (online.filter(|online| online != own), one, other) {
        return Err(MachineTextError::Contradiction {
            one: *one,
            what: format!("online CPUs {own}"),
            other: *other,
            other_what: online.to_string(),
        });
    }
    if facts.forms.contains(&Form::Lspci) && read.machine.devices().is_empty() {
        let devices = devices::devices(&facts, read.machine.nodes(), one.copied().unwrap_or(Form::HwlocXml))?;
        let parts = MachineParts { devices: devices.all, ..read.machine.into_parts() };
        read.machine = Machine::new(parts)?;
        read.assumed.extend(devices.assumed);
        read.lacks.retain(|lack| *lack != Lack::Devices);
        read.lacks.extend(devices.lack);
    }
    read.forms.extend(facts.forms);
    Ok(read)
}

/// Which CPUs there are, of which all outputs that list them agree.
fn cpus(facts: &Facts) -> Result<CpuLists, MachineTextError> {
    let of_rows = |is_offline: bool| -> CpuSet {
        let rows = facts.rows.iter().filter(|(_, row)| row.is_offline == is_offline);
        rows.map(|(cpu, _)| *cpu).collect()
    };
    let rows = of_rows(false);
    let counted = facts.counts.online.clone();
    if let Some(counted) = counted.as_ref().filter(|counted| !rows.is_empty() && **counted != rows) {
        return Err(MachineTextError::Contradiction {
            one: facts.table(),
            what: format!("online CPUs {rows}"),
            other: Form::Lscpu,
            other_what: counted.to_string(),
        });
    }
    let of_nodes = || {
        let nodes = facts.nodes.values().filter_map(|node| node.cpus.as_ref());
        nodes.fold(CpuSet::new(), |all, (_, cpus)| &all | cpus)
    };
    let online = if rows.is_empty() { counted.unwrap_or_else(of_nodes) } else { rows };
    if online.is_empty() {
        return Err(match facts.forms.first() {
            Some(form) => MachineTextError::NoCpus { form: *form },
            None => MachineTextError::Unknown,
        });
    }
    let offline = &of_rows(true) | &facts.counts.offline.clone().unwrap_or_default();
    Ok(CpuLists { offline: &offline - &online, online, ..CpuLists::default() })
}

/// The online CPUs of each NUMA node; one node where none is named.
fn nodes(facts: &Facts, cpus: &CpuLists) -> Result<BTreeMap<i64, CpuSet>, MachineTextError> {
    let mut of_rows: BTreeMap<i64, CpuSet> = BTreeMap::new();
    for (cpu, row) in facts.rows.iter().filter(|(_, row)| !row.is_offline) {
        if let Some(node) = row.node {
            of_rows.entry(node).or_default().insert(*cpu);
        }
    }
    let mut nodes = of_rows.clone();
    for (id, node) in &facts.nodes {
        let Some((form, listed)) = &node.cpus else {
            nodes.entry(*id).or_default();
            continue;
        };
        let online = listed & &cpus.online;
        let in_rows = of_rows.get(id).cloned().unwrap_or_default();
        let differs = !of_rows.is_empty() && in_rows != online;
        let is_elsewhere = !listed.is_subset(&(&cpus.online | &cpus.offline));
        if differs || is_elsewhere {
            let one = if of_rows.is_empty() { Form::Lscpu } else { facts.table() };
            let what = if differs { on_node(&in_rows, *id) } else { format!("CPUs {}", cpus.online) };
            let other_what = on_node(listed, *id);
            return Err(MachineTextError::Contradiction { one, what, other: *form, other_what });
        }
        nodes.insert(*id, online);
    }
    if nodes.values().all(CpuSet::is_empty) {
        if nodes.len() > 1 {
            return Err(MachineTextError::NoCpusOfNodes { nodes: nodes.len() });
        }
        let only = nodes.first_entry().map_or(0, |node| *node.key());
        nodes.insert(only, cpus.online.clone());
    }
    Ok(nodes)
}

fn node(id: i64, cpus: &CpuSet, places: &Places, facts: &Facts) -> Node {
    let is_only = places.nodes.len() == 1;
    let known = facts.nodes.get(&id);
    let memory = known.and_then(|known| known.memory.map(|(_, bytes)| bytes).or(known.rough_memory));
    let mut hugepages = known.map(|known| known.hugepages.clone()).unwrap_or_default();
    if hugepages.is_empty() && is_only {
        hugepages.extend(default_pages(facts));
    }
    let distances = known.map(|known| &known.distances).filter(|row| !row.is_empty());
    // Of a single node the distance is that to itself.
    let distances = match distances {
        Some(row) => places.nodes.keys().map(|other| row.get(other).copied()).collect(),
        None => is_only.then(|| Vec::from([10])),
    };
    Node {
        id: NodeId(id),
        cpus: cpus.clone(),
        memory: memory.or(facts.memory.filter(|_| is_only)),
        hugepages,
        distances,
    }
}

/// Pages for which no size is named, where their number is printed.
fn default_pages(facts: &Facts) -> Option<HugePages> {
    Some(HugePages { page_size_kib: facts.default_hugepage_kib?, num_pages: facts.default_hugepages? })
}
