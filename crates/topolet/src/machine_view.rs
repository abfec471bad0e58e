//! A machine as it is shown: the hardware where it is known, else what cAdvisor says of it.

use std::collections::{BTreeMap, BTreeSet};

use cpuset::CpuSet;
use serde::Serialize;
use topology_discovery::fold;
use topology_model::{
    CpuTable, HugePages, KubeletView, Machine, MachineInfo, MachineNode, NodeId, PciDevice, Sriov,
};

use crate::node::LoadedMachine;
use crate::render::{Amount, counted, ranges};
use crate::state::ContainerLine;

/// What `topolet topology` shows. What is not known is null.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineView {
    pub(crate) machine: String,
    pub(crate) packages: usize,
    pub(crate) cores: usize,
    pub(crate) cpus: usize,
    /// Absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offline_cpus: Option<String>,
    /// CPUs that the scheduler leaves alone; empty if there are none.
    pub(crate) isolated_cpus: Option<String>,
    /// Caches of the second level and above.
    pub(crate) caches: Vec<CacheView>,
    /// Bytes.
    pub(crate) memory: Option<u64>,
    pub(crate) nodes: Vec<NodeView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) devices_without_node: Vec<DeviceGroup>,
    /// Whether PCI devices are known at all.
    #[serde(skip)]
    pub(crate) has_pci: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) kubelet_differs: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) problems: Vec<String>,
    /// What is not the machine's own but was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) given: Vec<String>,
    /// What each container holds, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) containers: Option<Vec<ContainerLine>>,
}

/// Caches of one level and size.
#[derive(Debug, Serialize)]
pub(crate) struct CacheView {
    pub(crate) name: String,
    pub(crate) count: usize,
    /// Bytes; null if not known.
    pub(crate) size: Option<u64>,
}

/// A NUMA node. What is not known is null.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeView {
    pub(crate) id: i64,
    /// Numbers of the packages that its CPUs are in; null if the firmware does not number them.
    pub(crate) packages: Option<Vec<i64>>,
    pub(crate) cpus: String,
    pub(crate) cores: usize,
    pub(crate) l3_caches: usize,
    /// Bytes.
    pub(crate) memory: Option<u64>,
    pub(crate) hugepages: Vec<PagesView>,
    pub(crate) devices: Vec<DeviceGroup>,
    /// Whether something that is no CPU starts memory traffic here, such as an accelerator; absent if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) generic_initiator: bool,
    /// To all nodes in ascending order of id.
    pub(crate) distances: Option<Vec<u32>>,
}

/// Huge pages of one size.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PagesView {
    /// Bytes.
    pub(crate) page_size: u64,
    pub(crate) pages: u64,
}

/// PCI functions that are alike.
#[derive(Debug, Serialize)]
pub(crate) struct DeviceGroup {
    pub(crate) what: String,
    pub(crate) count: usize,
}

impl NodeView {
    /// Whether the node has no CPUs, no memory and no PCI devices, and that is known.
    pub(crate) fn is_bare(&self) -> bool {
        self.cpus.is_empty() && self.memory == Some(0) && self.devices.is_empty()
    }
}

impl MachineView {
    pub(crate) fn new(loaded: &LoadedMachine) -> Self {
        let cpus = CpuTable::new(&loaded.info);
        let mut view = match (&loaded.machine, &cpus) {
            (Some(machine), _) => of_hardware(machine),
            (None, Ok(cpus)) => of_info(loaded, cpus),
            (None, Err(_)) => Self::default(),
        };
        view.machine.clone_from(&loaded.name);
        view.problems = fold(&loaded.problems);
        view.given.clone_from(&loaded.given);
        if let (Some(machine), Ok(cpus)) = (&loaded.machine, &cpus) {
            view.kubelet_differs = differences(machine, &loaded.info, cpus);
        }
        if let Err(error) = KubeletView::new(&loaded.info) {
            view.kubelet_differs.push(format!("the kubelet would not start here: {error}"));
        }
        view
    }
}

fn of_hardware(machine: &Machine) -> MachineView {
    let initiators = machine.node_lists().has_generic_initiator.as_deref().unwrap_or_default();
    let nodes = machine.nodes().iter().map(|node| NodeView {
        id: node.id.0,
        packages: numbers(
            machine
                .packages()
                .iter()
                .filter(|package| !package.cpus.is_disjoint(&node.cpus))
                .map(|package| package.id.0),
        ),
        cpus: node.cpus.to_string(),
        cores: machine.cores().iter().filter(|core| !core.cpus.is_disjoint(&node.cpus)).count(),
        l3_caches: machine.caches_at(3).filter(|cache| !cache.cpus.is_disjoint(&node.cpus)).count(),
        memory: node.memory,
        hugepages: pages(&node.hugepages),
        devices: groups(machine.devices().iter().filter(|device| device.node.id() == Some(node.id))),
        generic_initiator: initiators.contains(&node.id),
        distances: node.distances.clone(),
    });
    MachineView {
        packages: machine.packages().len(),
        cores: machine.cores().len(),
        cpus: machine.online().len(),
        offline_cpus: Some(machine.offline().to_string()).filter(|list| !list.is_empty()),
        isolated_cpus: machine.cpus().isolated.as_ref().map(ToString::to_string),
        caches: caches(machine),
        memory: machine.memory(),
        nodes: nodes.collect(),
        devices_without_node: groups(machine.devices().iter().filter(|device| device.node.id().is_none())),
        has_pci: !machine.devices().is_empty(),
        ..MachineView::default()
    }
}

/// Ascending, each once; `None` where the firmware gives none of them a number.
fn numbers(ids: impl Iterator<Item = i64>) -> Option<Vec<i64>> {
    let ids: BTreeSet<i64> = ids.collect();
    let known: Vec<i64> = ids.iter().copied().filter(|id| *id >= 0).collect();
    (ids.is_empty() || !known.is_empty()).then_some(known)
}

/// The machine as cAdvisor tells it, where nothing else is known.
fn of_info(loaded: &LoadedMachine, cpus: &CpuTable) -> MachineView {
    let info = &loaded.info;
    let unknown = loaded.nodes_of_unknown_memory();
    let mut listed: Vec<&MachineNode> = info.topology.iter().flatten().collect();
    listed.sort_by_key(|node| node.id);
    let nodes = listed.into_iter().map(|node| {
        let own = cpus.cpus_in_node(NodeId(node.id)).cloned().unwrap_or_default();
        NodeView {
            id: node.id,
            packages: numbers(cpus.sockets().filter(|(_, of)| !of.is_disjoint(&own)).map(|(id, _)| id.0)),
            cores: cpus.cores().filter(|(_, of)| !of.is_disjoint(&own)).count(),
            l3_caches: cpus.caches().filter(|(_, of)| !of.is_disjoint(&own)).count(),
            cpus: own.to_string(),
            memory: Some(node.memory).filter(|_| !unknown.contains(&node.id)),
            hugepages: pages(node.hugepages.as_deref().unwrap_or_default()),
            devices: Vec::new(),
            generic_initiator: false,
            distances: node
                .distances
                .as_ref()
                .and_then(|row| row.iter().map(|distance| u32::try_from(*distance).ok()).collect()),
        }
    });
    MachineView {
        packages: cpus.num_sockets(),
        cores: cpus.num_cores(),
        cpus: cpus.num_cpus(),
        memory: Some(info.memory_capacity).filter(|bytes| *bytes > 0),
        nodes: nodes.collect(),
        ..MachineView::default()
    }
}

fn pages(pages: &[HugePages]) -> Vec<PagesView> {
    let shown = pages.iter().map(|pages| PagesView {
        page_size: pages.page_size_kib.saturating_mul(1024),
        pages: pages.num_pages,
    });
    shown.collect()
}

fn caches(machine: &Machine) -> Vec<CacheView> {
    let mut counted: BTreeMap<(u8, Option<u64>), usize> = BTreeMap::new();
    for level in 2..=4 {
        for cache in machine.caches_at(level) {
            *counted.entry((level, cache.size_kib)).or_default() += 1;
        }
    }
    let shown = counted.into_iter().map(|((level, kib), count)| CacheView {
        name: format!("L{level}"),
        count,
        size: kib.map(|kib| kib.saturating_mul(1024)),
    });
    shown.collect()
}

/// Devices that somebody could be near to, by what they are. Bridges and the like are left out.
fn groups<'a>(devices: impl Iterator<Item = &'a PciDevice>) -> Vec<DeviceGroup> {
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    for device in devices {
        let Some(kind) = device.class_name().filter(|_| device.does_work()) else { continue };
        let part = if matches!(device.sriov, Sriov::Virtual(_)) { " VF" } else { "" };
        let vendor = device.vendor.map_or_else(String::new, |vendor| format!(" {vendor:04x}"));
        *counted.entry(format!("{kind}{part}{vendor}")).or_default() += 1;
    }
    counted.into_iter().map(|(what, count)| DeviceGroup { what, count }).collect()
}

/// Where the kubelet, through cAdvisor, sees another machine than there is.
fn differences(machine: &Machine, info: &MachineInfo, cpus: &CpuTable) -> Vec<String> {
    let seen: Vec<&MachineNode> = info.topology.iter().flatten().collect();
    let mut lines = Vec::new();
    let counts = [
        ("CPU", machine.online().len(), cpus.num_cpus()),
        ("core", machine.cores().len(), cpus.num_cores()),
        ("package", machine.packages().len(), cpus.num_sockets()),
        ("NUMA node", machine.nodes().len(), seen.len()),
    ];
    for (what, there, seen) in counts.into_iter().filter(|(_, there, seen)| there != seen) {
        lines.push(format!("the machine has {}, and the kubelet counts {seen}", counted(there, what)));
    }
    let mut ids: Vec<i64> = seen.iter().map(|node| node.id).collect();
    ids.sort_unstable();
    let own = machine.nodes().iter().map(|node| node.id.0);
    if !ids.iter().copied().eq(own.clone()) {
        let (own, ids) = (ranges(own), ranges(ids));
        lines.push(format!("the NUMA nodes of the machine are {own}, and those of the kubelet {ids}"));
    }
    let pairs = || seen.iter().filter_map(|seen| Some((*seen, machine.node(NodeId(seen.id))?)));
    for (seen, there) in pairs() {
        let counted = cpus.cpus_in_node(NodeId(seen.id)).cloned().unwrap_or_default();
        if counted != there.cpus {
            let (own, counted) = (cpu_list(&there.cpus), cpu_list(&counted));
            lines.push(format!("NUMA {} has {own}, and the kubelet counts {counted}", seen.id));
        }
    }
    for (seen, there) in pairs() {
        if let Some(bytes) = there.memory.filter(|bytes| *bytes != seen.memory) {
            let (bytes, seen_bytes) = apart(bytes, seen.memory);
            let id = seen.id;
            lines.push(format!("NUMA {id} has {bytes} of memory, and the kubelet sees {seen_bytes}"));
        }
    }
    if let Some(bytes) = machine.memory().filter(|bytes| *bytes != info.memory_capacity) {
        let (there, seen) = apart(bytes, info.memory_capacity);
        lines.push(format!("the machine has {there} of memory, and the kubelet sees {seen}"));
    }
    lines
}

fn cpu_list(cpus: &CpuSet) -> String {
    if cpus.is_empty() { "no CPUs".to_owned() } else { format!("CPUs {cpus}") }
}

/// Two amounts of bytes that differ, so that it is seen.
fn apart(one: u64, other: u64) -> (String, String) {
    let (short, others) = (Amount::Bytes(one).to_string(), Amount::Bytes(other).to_string());
    if short == others { (format!("{one} bytes"), format!("{other} bytes")) } else { (short, others) }
}
