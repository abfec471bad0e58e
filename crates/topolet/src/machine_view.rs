//! A machine as it is shown: the hardware where it is known, else what cAdvisor says of it.

use std::collections::BTreeMap;

use serde::Serialize;
use topology_discovery::fold;
use topology_model::{HugePages, KubeletView, Machine, NodeId, PciDevice, Sriov};

use crate::node::LoadedMachine;
use crate::render::{Amount, ranges};
use crate::state::ContainerLine;

/// What `topolet topology` shows.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineView {
    pub(crate) machine: String,
    pub(crate) packages: usize,
    pub(crate) cores: usize,
    pub(crate) cpus: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offline_cpus: Option<String>,
    /// Caches of the second level and above.
    pub(crate) caches: Vec<CacheView>,
    /// Bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory: Option<u64>,
    pub(crate) nodes: Vec<NodeView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) devices_without_node: Vec<DeviceGroup>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) kubelet_differs: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) problems: Vec<String>,
    /// What each container holds, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) containers: Option<Vec<ContainerLine>>,
}

/// Caches of one level and size.
#[derive(Debug, Serialize)]
pub(crate) struct CacheView {
    pub(crate) name: String,
    pub(crate) count: usize,
    /// Bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<u64>,
}

/// A NUMA node.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeView {
    pub(crate) id: i64,
    pub(crate) packages: Vec<i64>,
    pub(crate) cpus: String,
    pub(crate) cores: usize,
    pub(crate) l3_caches: usize,
    /// Bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory: Option<u64>,
    pub(crate) hugepages: Vec<PagesView>,
    pub(crate) devices: Vec<DeviceGroup>,
    /// To all nodes in ascending order of id.
    #[serde(skip_serializing_if = "Option::is_none")]
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
    /// Whether the node is a number and nothing else.
    pub(crate) fn is_empty(&self) -> bool {
        self.cpus.is_empty() && self.memory.unwrap_or(0) == 0 && self.devices.is_empty()
    }
}

impl MachineView {
    pub(crate) fn new(loaded: &LoadedMachine, kubelet: Option<&KubeletView>) -> Self {
        let mut view = match (&loaded.machine, kubelet) {
            (Some(machine), _) => of_hardware(machine),
            (None, Some(kubelet)) => of_kubelet(kubelet),
            (None, None) => Self::nothing(),
        };
        view.machine.clone_from(&loaded.name);
        view.problems = fold(&loaded.problems);
        if loaded.other_hugepages {
            let memory = kubelet.map(KubeletView::node_memory).unwrap_or_default();
            for node in &mut view.nodes {
                if let Some(other) = memory.iter().find(|other| other.id.0 == node.id) {
                    node.hugepages = pages(&other.hugepages);
                }
            }
        }
        if let (Some(machine), Some(kubelet)) = (&loaded.machine, kubelet) {
            view.kubelet_differs = differences(machine, kubelet);
        }
        view
    }

    fn nothing() -> Self {
        Self {
            machine: String::new(),
            packages: 0,
            cores: 0,
            cpus: 0,
            offline_cpus: None,
            caches: Vec::new(),
            memory: None,
            nodes: Vec::new(),
            devices_without_node: Vec::new(),
            kubelet_differs: Vec::new(),
            problems: Vec::new(),
            containers: None,
        }
    }
}

fn of_hardware(machine: &Machine) -> MachineView {
    let nodes = machine.nodes().iter().map(|node| NodeView {
        id: node.id.0,
        packages: machine
            .packages()
            .iter()
            .filter(|package| !package.cpus.is_disjoint(&node.cpus))
            .map(|package| package.id.0)
            .collect(),
        cpus: node.cpus.to_string(),
        cores: machine.cores().iter().filter(|core| !core.cpus.is_disjoint(&node.cpus)).count(),
        l3_caches: machine.caches_at(3).filter(|cache| !cache.cpus.is_disjoint(&node.cpus)).count(),
        memory: node.memory,
        hugepages: pages(&node.hugepages),
        devices: groups(machine.devices().iter().filter(|device| device.node.id() == Some(node.id))),
        distances: node.distances.clone(),
    });
    MachineView {
        packages: machine.packages().len(),
        cores: machine.cores().len(),
        cpus: machine.online().len(),
        offline_cpus: Some(machine.offline().to_string()).filter(|list| !list.is_empty()),
        caches: caches(machine),
        memory: machine.memory(),
        nodes: nodes.collect(),
        devices_without_node: groups(machine.devices().iter().filter(|device| device.node.id().is_none())),
        ..MachineView::nothing()
    }
}

fn of_kubelet(view: &KubeletView) -> MachineView {
    let cpus = view.cpus();
    let nodes = view.node_memory().iter().map(|node| {
        let own = cpus.cpus_in_node(node.id).cloned().unwrap_or_default();
        NodeView {
            id: node.id.0,
            packages: cpus.sockets().filter(|(_, of)| !of.is_disjoint(&own)).map(|(id, _)| id.0).collect(),
            cores: cpus.cores().filter(|(_, of)| !of.is_disjoint(&own)).count(),
            l3_caches: cpus.caches().filter(|(_, of)| !of.is_disjoint(&own)).count(),
            cpus: own.to_string(),
            memory: Some(node.memory),
            hugepages: pages(&node.hugepages),
            devices: Vec::new(),
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
        memory: Some(view.memory_capacity()),
        nodes: nodes.collect(),
        ..MachineView::nothing()
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
fn differences(machine: &Machine, kubelet: &KubeletView) -> Vec<String> {
    let cpus = kubelet.cpus();
    let mut lines = Vec::new();
    let counts = [
        ("CPUs", machine.online().len(), cpus.num_cpus()),
        ("cores", machine.cores().len(), cpus.num_cores()),
        ("packages", machine.packages().len(), cpus.num_sockets()),
        ("NUMA nodes", machine.nodes().len(), kubelet.nodes().len()),
    ];
    for (what, there, seen) in counts {
        if there != seen {
            lines.push(format!("{there} {what}, of which it counts {seen}"));
        }
    }
    let id = |node: NodeId| node.0;
    let otherwise = |differs: &dyn Fn(&topology_model::NodeMemory, &topology_model::Node) -> bool| {
        let pairs = kubelet.node_memory().iter().filter_map(|seen| Some((seen, machine.node(seen.id)?)));
        ranges(pairs.filter(|(seen, there)| differs(seen, there)).map(|(seen, _)| id(seen.id)))
    };
    let cpu_lists = otherwise(&|seen, there| {
        cpus.cpus_in_node(seen.id).is_some_and(|list| *list != there.cpus)
            || (cpus.cpus_in_node(seen.id).is_none() && !there.cpus.is_empty())
    });
    let memory = otherwise(&|seen, there| there.memory.is_some_and(|bytes| bytes != seen.memory));
    for (what, ids) in [("CPUs", cpu_lists), ("memory", memory)] {
        if !ids.is_empty() {
            lines.push(format!("other {what} on NUMA {ids}"));
        }
    }
    if let Some(bytes) = machine.memory().filter(|bytes| *bytes != kubelet.memory_capacity()) {
        let (there, seen) = (Amount::Bytes(bytes), Amount::Bytes(kubelet.memory_capacity()));
        lines.push(format!("{there} of memory, of which it sees {seen}"));
    }
    lines
}
