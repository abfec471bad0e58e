//! What a machine has, counted: of its hardware, or of what cAdvisor reports where nothing else is known.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use cpuset::CpuSet;
use serde::{Serialize, Serializer};
use topology_model::{
    CpuTable, DeviceKind, HugePages, Machine, MachineInfo, MachineNode, NodeId, PciDevice, Sriov,
};

use crate::labels;

/// A machine in numbers. As JSON, what is not known is `null`.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MachineSummary {
    /// How many packages.
    pub packages: usize,
    /// How many cores.
    pub cores: usize,
    /// How many online CPUs.
    pub cpus: usize,
    /// `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub offline_cpus: Option<CpuSet>,
    /// CPUs that the scheduler leaves alone; empty if there are none, `None` if that is not known.
    #[serde(serialize_with = "optional_text")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub isolated_cpus: Option<CpuSet>,
    /// Caches of the second level and above.
    pub caches: Vec<CacheSummary>,
    /// Bytes.
    pub memory: Option<u64>,
    /// In ascending order of id.
    pub nodes: Vec<NodeSummary>,
    /// PCI devices of which no NUMA node is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devices_without_node: Vec<DeviceGroup>,
    /// Devices that people have a word for, by word.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub device_counts: Vec<DeviceCount>,
    /// Whether PCI devices are known at all.
    #[serde(skip)]
    pub has_pci: bool,
}

/// Caches of one level and size.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CacheSummary {
    /// `L2`.
    pub name: String,
    /// How many.
    pub count: usize,
    /// Bytes; `None` if not known.
    pub size: Option<u64>,
}

/// A NUMA node in numbers.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeSummary {
    /// The kernel's number.
    #[serde(serialize_with = "number")]
    #[cfg_attr(feature = "schema", schemars(with = "i64"))]
    pub id: NodeId,
    /// Numbers of the packages that its CPUs are in, ascending; `None` if the firmware does not number them.
    pub packages: Option<Vec<i64>>,
    /// Empty for a node of memory or devices alone.
    #[serde(serialize_with = "text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub cpus: CpuSet,
    /// How many cores.
    pub cores: usize,
    /// How many L3 caches its CPUs use.
    pub l3_caches: usize,
    /// Bytes; `None` if not known.
    pub memory: Option<u64>,
    /// By size.
    pub hugepages: Vec<PageCount>,
    /// PCI devices near the node.
    pub devices: Vec<DeviceGroup>,
    /// Whether something other than a CPU, such as an accelerator, starts memory traffic here.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub generic_initiator: bool,
    /// To all nodes in ascending order of id; `None` if not known.
    pub distances: Option<Vec<u32>>,
}

/// Huge pages of one size.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PageCount {
    /// Bytes.
    pub page_size: u64,
    /// How many.
    pub pages: u64,
}

/// How many devices of one kind there are.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DeviceCount {
    /// `GPU`, `NIC`, `NVMe`, `accelerator`.
    #[serde(serialize_with = "word")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "device_kind"))]
    pub kind: DeviceKind,
    /// Physical ones: ordinary functions, and cards that are shared.
    pub count: usize,
    /// Virtual functions of them.
    #[serde(skip_serializing_if = "is_zero")]
    pub virtual_functions: usize,
}

/// PCI functions of one kind.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceGroup {
    /// `NIC VF Intel E810-C for QSFP`.
    pub what: String,
    /// How many.
    pub count: usize,
    /// What the kernel calls them, by address.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

#[cfg(feature = "schema")]
fn device_kind(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "string", "enum": DeviceKind::ALL.map(DeviceKind::word) })
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields on by reference")]
fn word<S: Serializer>(kind: &DeviceKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.word())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields on by reference")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn text<S: Serializer>(cpus: &CpuSet, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(cpus)
}

#[expect(clippy::ref_option, reason = "serde hands fields on by reference")]
fn optional_text<S: Serializer>(cpus: &Option<CpuSet>, serializer: S) -> Result<S::Ok, S::Error> {
    match cpus {
        Some(cpus) => text(cpus, serializer),
        None => serializer.serialize_none(),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields on by reference")]
fn number<S: Serializer>(id: &NodeId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(id.0)
}

impl NodeSummary {
    /// Whether the node is known to have no CPUs, no memory and no PCI devices.
    pub fn is_bare(&self) -> bool {
        self.cpus.is_empty() && self.memory == Some(0) && self.devices.is_empty()
    }
}

impl MachineSummary {
    /// Of the hardware.
    pub fn of_hardware(machine: &Machine) -> Self {
        let initiators = machine.node_lists().has_generic_initiator.as_deref().unwrap_or_default();
        let nodes = machine.nodes().iter().map(|node| NodeSummary {
            id: node.id,
            packages: numbers(
                machine
                    .packages()
                    .iter()
                    .filter(|package| !package.cpus.is_disjoint(&node.cpus))
                    .map(|package| package.id.0),
            ),
            cpus: node.cpus.clone(),
            cores: machine.cores().iter().filter(|core| !core.cpus.is_disjoint(&node.cpus)).count(),
            l3_caches: machine.caches_at(3).filter(|cache| !cache.cpus.is_disjoint(&node.cpus)).count(),
            memory: node.memory,
            hugepages: pages(&node.hugepages),
            devices: groups(machine.devices().iter().filter(|device| device.node.id() == Some(node.id))),
            generic_initiator: initiators.contains(&node.id),
            distances: node.distances.clone(),
        });
        Self {
            packages: machine.packages().len(),
            cores: machine.cores().len(),
            cpus: machine.online().len(),
            offline_cpus: Some(machine.offline().clone()).filter(|list| !list.is_empty()),
            isolated_cpus: machine.cpus().isolated.clone(),
            caches: caches(machine),
            memory: machine.memory(),
            nodes: nodes.collect(),
            devices_without_node: groups(
                machine.devices().iter().filter(|device| device.node.id().is_none()),
            ),
            device_counts: device_counts(machine.devices()),
            has_pci: !machine.devices().is_empty(),
        }
    }

    /// Of what cAdvisor reports to the kubelet, for a machine of which nothing else is known.
    ///
    /// `cpus` is the table of the same machine. cAdvisor reports 0 bytes for nodes whose memory it could not read:
    /// `unknown_memory` are the nodes of which that is the case.
    pub fn of_machine_info(info: &MachineInfo, cpus: &CpuTable, unknown_memory: &[NodeId]) -> Self {
        let mut listed: Vec<&MachineNode> = info.topology.iter().flatten().collect();
        listed.sort_by_key(|node| node.id);
        let nodes = listed.into_iter().map(|node| {
            let own = cpus.cpus_in_node(NodeId(node.id)).cloned().unwrap_or_default();
            NodeSummary {
                id: NodeId(node.id),
                packages: numbers(cpus.sockets().filter(|(_, of)| !of.is_disjoint(&own)).map(|(id, _)| id.0)),
                cores: cpus.cores().filter(|(_, of)| !of.is_disjoint(&own)).count(),
                l3_caches: cpus.caches().filter(|(_, of)| !of.is_disjoint(&own)).count(),
                cpus: own,
                memory: Some(node.memory).filter(|_| !unknown_memory.contains(&NodeId(node.id))),
                hugepages: pages(node.hugepages.as_deref().unwrap_or_default()),
                devices: Vec::new(),
                generic_initiator: false,
                distances: node
                    .distances
                    .as_ref()
                    .and_then(|row| row.iter().map(|distance| u32::try_from(*distance).ok()).collect()),
            }
        });
        Self {
            packages: cpus.num_sockets(),
            cores: cpus.num_cores(),
            cpus: cpus.num_cpus(),
            memory: Some(info.memory_capacity).filter(|bytes| *bytes > 0),
            nodes: nodes.collect(),
            ..Self::default()
        }
    }
}

/// Ascending, each once; `None` if the firmware numbers none of them.
fn numbers(ids: impl Iterator<Item = i64>) -> Option<Vec<i64>> {
    let ids: BTreeSet<i64> = ids.collect();
    let known: Vec<i64> = ids.iter().copied().filter(|id| *id >= 0).collect();
    (ids.is_empty() || !known.is_empty()).then_some(known)
}

fn pages(pages: &[HugePages]) -> Vec<PageCount> {
    let shown = pages.iter().map(|pages| PageCount {
        page_size: pages.page_size_kib.saturating_mul(1024),
        pages: pages.num_pages,
    });
    shown.collect()
}

fn caches(machine: &Machine) -> Vec<CacheSummary> {
    let mut counted: BTreeMap<(u8, Option<u64>), usize> = BTreeMap::new();
    for level in 2..=4 {
        for cache in machine.caches_at(level) {
            *counted.entry((level, cache.size_kib)).or_default() += 1;
        }
    }
    let shown = counted.into_iter().map(|((level, kib), count)| CacheSummary {
        name: format!("L{level}"),
        count,
        size: kib.map(|kib| kib.saturating_mul(1024)),
    });
    shown.collect()
}

fn device_counts(devices: &[PciDevice]) -> Vec<DeviceCount> {
    let mut counted: BTreeMap<DeviceKind, DeviceCount> = BTreeMap::new();
    for device in devices {
        let Some(kind) = device.kind() else { continue };
        let none = DeviceCount { kind, count: 0, virtual_functions: 0 };
        let counts = counted.entry(kind).or_insert(none);
        match device.sriov {
            Sriov::Virtual(_) => counts.virtual_functions += 1,
            Sriov::None | Sriov::Physical(_) => counts.count += 1,
        }
    }
    counted.into_values().collect()
}

/// Devices that do work, by what they are. Bridges and the like are left out.
fn groups<'a>(devices: impl Iterator<Item = &'a PciDevice>) -> Vec<DeviceGroup> {
    let mut groups: BTreeMap<String, DeviceGroup> = BTreeMap::new();
    for device in devices.filter(|device| device.does_work()) {
        let what = labels::device(device);
        let none = DeviceGroup { what: what.clone(), count: 0, names: Vec::new() };
        let group = groups.entry(what).or_insert(none);
        group.count += 1;
        group.names.extend(device.kernel_names.iter().cloned());
    }
    groups.into_values().collect()
}
