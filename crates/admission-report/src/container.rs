//! A container and what it holds: CPUs, memory and devices, and on which NUMA nodes.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use cpuset::CpuSet;
use k8s_quantity::Amount;
use memory_manager::{Block, Granted as GrantedMemory};
use numa_bitmask::NodeMask;
use pod_spec::{Container, ContainerName, PodUid, Role};
use serde::Serialize;
use topology_admission::{Ledger, Node, Placed};
use topology_hint::Hint;
use topology_model::{NodeIds, Nodes};

use crate::claim_alignment::{ContainerClaim, Own};
use crate::claims::claims_of;
use crate::decided_claims::DecidedClaims;
use crate::device_set::DeviceSet;
use crate::facts::Facts;
use crate::json;
use crate::links::LinkedDevices;
use crate::resource::Resource;
use crate::unchecked::UncheckedResource;

/// What a container was given, or holds.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContainerReport {
    /// Its name.
    #[serde(serialize_with = "json::text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: ContainerName,
    /// When it runs.
    #[serde(serialize_with = "json::role")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::role"))]
    pub role: Role,
    /// Nodes of the merged hint; `None` if any will do, and for [`ContainerReport::held`].
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::some_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub nodes: Option<NodeIds>,
    /// Its own CPUs; `None` if it shares CPUs.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::some_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub exclusive_cpus: Option<CpuSet>,
    /// The NUMA nodes of these CPUs, which need not be those of the hint; `None` for [`ContainerReport::held`].
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::some_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub cpu_nodes: Option<NodeIds>,
    /// Memory and huge pages bound to nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<MemoryBlock>,
    /// Devices by resource.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceSet>,
    /// The NUMA nodes of those devices that are on one node; `None` if there are none, and for
    /// [`ContainerReport::held`].
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::some_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub device_nodes: Option<NodeIds>,
    /// Several devices that belong together, with the link that they are on; none where links do not count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkedDevices>,
    /// What it asks for and no device plugin has registered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_checked: Vec<UncheckedResource>,
    /// The claims of devices that it uses, which were not decided on; none for [`ContainerReport::held`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<String>,
    /// The claims of devices that it uses, which were decided on or which it has, beside its CPUs and memory; none for
    /// [`ContainerReport::held`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claimed: Vec<ContainerClaim>,
}

/// Memory or huge pages bound to nodes; shown as `1Gi on NUMA 0`, `2Gi hugepages-1Gi on NUMA 0-1`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MemoryBlock {
    /// [`Resource::Memory`] or [`Resource::HugePages`].
    pub resource: Resource,
    /// How much.
    pub bytes: u64,
    /// Where; several nodes share it.
    #[serde(serialize_with = "json::text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub nodes: NodeIds,
}

impl ContainerReport {
    /// What an admitted container is given.
    pub(crate) fn new(facts: &Facts<'_>, placed: &Placed) -> Self {
        let cpus = placed.cpus.as_ref().and_then(|granted| granted.exclusive());
        let hint = placed.hint.filter(|hint| !facts.is_anywhere(placed, *hint));
        let container = facts.pod.container(&placed.name);
        let devices: Vec<DeviceSet> = placed
            .devices
            .iter()
            .map(|(resource, ids)| DeviceSet {
                resource: Resource::from(resource),
                ids: ids.iter().cloned().collect(),
            })
            .collect();
        Self {
            name: placed.name.clone(),
            role: placed.role,
            nodes: hint.and_then(|hint| hint.affinity.nodes()).map(|mask| facts.listed(mask)),
            exclusive_cpus: cpus.cloned(),
            cpu_nodes: cpus.map(|cpus| facts.listed(facts.nodes_of(cpus))),
            memory: memory_first(blocks(placed))
                .map(|block| MemoryBlock::new(facts.nodes(), block))
                .collect(),
            device_nodes: device_nodes(facts, placed),
            claims: claims_of(facts.pod, &placed.name),
            claimed: Vec::new(),
            not_checked: container.map(|container| facts.unchecked_of(container)).unwrap_or_default(),
            links: LinkedDevices::all(facts.node.links(), &devices),
            devices,
        }
    }

    /// What a container of a pod that runs holds on `ledger`.
    #[must_use]
    pub fn held(node: &Node, ledger: &Ledger, pod: &PodUid, container: &Container) -> Self {
        let name = &container.name;
        let cpus = ledger.cpus().and_then(|held| held.assigned(pod, name));
        let blocks = ledger.memory().and_then(|held| held.assigned(pod, name));
        let devices = ledger.devices().of_container(pod, name).map(|(resource, held)| DeviceSet {
            resource: Resource::from(resource),
            ids: held.devices().iter().cloned().collect(),
        });
        let devices: Vec<DeviceSet> = devices.collect();
        Self {
            name: name.clone(),
            role: container.role,
            nodes: None,
            exclusive_cpus: cpus.cloned(),
            cpu_nodes: None,
            memory: blocks.into_iter().flatten().map(|block| MemoryBlock::new(node.nodes(), block)).collect(),
            links: LinkedDevices::all(node.links(), &devices),
            devices,
            device_nodes: None,
            not_checked: Vec::new(),
            claims: Vec::new(),
            claimed: Vec::new(),
        }
    }
}

impl ContainerReport {
    /// The claims of devices that it uses, beside its CPUs and memory.
    pub(crate) fn with_claims(&mut self, decided: &DecidedClaims) {
        let own = Own {
            cpu_nodes: self.exclusive_cpus.as_ref().and(self.cpu_nodes.as_ref()),
            memory_nodes: self.memory.iter().flat_map(|block| block.nodes.iter()).collect(),
        };
        self.claimed = ContainerClaim::all(self.name.as_str(), own, decided);
    }

    /// Its exclusive CPUs, memory and devices, as `CPUs 2-5, 1Gi on NUMA 0, nvidia.com/gpu gpu-0`; `None` if it has
    /// none.
    #[must_use]
    pub fn holdings(&self) -> Option<String> {
        let cpus = self.exclusive_cpus.as_ref().filter(|cpus| !cpus.is_empty());
        let mut parts: Vec<String> = cpus.iter().map(|cpus| format!("CPUs {cpus}")).collect();
        parts.extend(self.memory.iter().map(ToString::to_string));
        parts.extend(self.devices.iter().map(ToString::to_string));
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// Of the devices that are on one node.
fn device_nodes(facts: &Facts<'_>, placed: &Placed) -> Option<NodeIds> {
    let inventory = facts.before.inventory();
    let each = placed.devices.iter().flat_map(|(resource, ids)| ids.iter().map(move |id| (resource, id)));
    let nodes = each.filter_map(|(resource, id)| match inventory.device(resource, id)?.topology.ids() {
        [only] => Some(*only),
        _ => None,
    });
    let mask = facts.nodes().mask_of(nodes);
    (!mask.is_empty()).then(|| facts.listed(mask))
}

impl MemoryBlock {
    pub(crate) fn new(nodes: &Nodes, block: &Block) -> Self {
        Self {
            resource: Resource::from(&block.resource),
            bytes: block.size,
            nodes: nodes.listed(block.nodes.mask()),
        }
    }

    /// How much of what, without where: `1Gi`, `2Gi hugepages-1Gi`.
    #[must_use]
    pub fn amount(&self) -> String {
        let bytes = Amount::Bytes(self.bytes);
        match &self.resource {
            Resource::Memory => alloc::format!("{bytes}"),
            resource => alloc::format!("{bytes} {resource}"),
        }
    }
}

impl fmt::Display for MemoryBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on NUMA {}", self.amount(), self.nodes)
    }
}

impl fmt::Display for ContainerReport {
    /// `app: NUMA 0, CPUs 2-5, 1Gi on NUMA 0, nvidia.com/gpu gpu-0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.name)?;
        match &self.nodes {
            Some(nodes) => write!(f, "NUMA {nodes}")?,
            None => f.write_str("any NUMA node")?,
        }
        match &self.exclusive_cpus {
            Some(cpus) => write!(f, ", CPUs {cpus}")?,
            None => f.write_str(", shared CPUs")?,
        }
        self.memory.iter().try_for_each(|block| write!(f, ", {block}"))?;
        self.devices.iter().try_for_each(|devices| write!(f, ", {devices}"))
    }
}

impl Facts<'_> {
    /// Whether the container holds no exclusive resources and `hint` names every node: it restricts nothing.
    pub(crate) fn is_anywhere(&self, placed: &Placed, hint: Hint) -> bool {
        let has_cpus = placed.cpus.as_ref().is_some_and(|granted| granted.exclusive().is_some());
        let is_bound = has_cpus || !blocks(placed).is_empty() || !placed.devices.is_empty();
        !is_bound && hint.affinity.nodes() == Some(self.nodes().all())
    }

    /// The NUMA nodes that have some of these CPUs.
    pub(crate) fn nodes_of(&self, cpus: &CpuSet) -> NodeMask {
        self.node.cpus().map_or(NodeMask::EMPTY, |manager| manager.nodes_of(cpus))
    }
}

fn blocks(placed: &Placed) -> &[Block] {
    match &placed.memory {
        Some(GrantedMemory::Blocks(blocks)) => blocks,
        Some(GrantedMemory::NotPinned(_)) | None => &[],
    }
}

/// Memory, then huge pages in the order in which they were allocated.
fn memory_first(blocks: &[Block]) -> impl Iterator<Item = &Block> {
    let (huge, plain): (Vec<&Block>, Vec<&Block>) =
        blocks.iter().partition(|block| block.resource.is_hugepages());
    plain.into_iter().chain(huge)
}
