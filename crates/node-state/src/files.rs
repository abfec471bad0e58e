//! A ledger as the kubelet's three state files, and what such files hold as the managers have it.

use std::collections::BTreeMap;
use std::sync::Arc;

use device_manager::{AllocateReply, DeviceId, Held, HeldOn, Inventory};
use kubelet_checkpoint::cpu::{CpuFile, CpuState};
use kubelet_checkpoint::device::{DeviceEntry, DeviceFile, DeviceState};
use kubelet_checkpoint::memory::{Block, MemoryFile, MemoryState, MemoryTable, NodeState, PodEntry};
use kubelet_checkpoint::store::StateFile;
use kubelet_checkpoint::{Baselines, Forms, PodLevel, UnknownFormat, form_of};
use kubelet_release::CheckpointForm;
use memory_manager::{StateError, Stored, StoredBlock, StoredNode, StoredTable};
use pod_spec::{ContainerName, PodUid};
use topology_admission::{Ledger, Node};
use topology_model::NodeId;

/// The gate that decides on the files' formats.
#[must_use]
pub const fn pod_level(node: &Node) -> PodLevel {
    match node.pod_level() {
        topology_admission::PodLevel::Managed => PodLevel::On,
        topology_admission::PodLevel::Ignored
        | topology_admission::PodLevel::Unread
        | topology_admission::PodLevel::NotPinned => PodLevel::Off,
    }
}

/// How a kubelet of the node's release reads and writes its files.
#[must_use]
pub fn forms(node: &Node) -> Forms {
    let baselines = match node.cpus().map(cpu_manager::Static::baselines) {
        Some(cpu_manager::Baselines::Kept) => Baselines::On,
        Some(cpu_manager::Baselines::Forgotten) | None => Baselines::Off,
    };
    Forms { checkpoint: node.kubelet_rules().checkpoints, pod_level: pod_level(node), baselines }
}

/// How a kubelet of the release that wrote a file reads it: the form of the file tells.
#[must_use]
pub fn found(file: &[u8], pod_level: PodLevel) -> Forms {
    match form_of(file) {
        Some(CheckpointForm::Embedded) => Forms { baselines: Baselines::On, ..Forms::embedded(pod_level) },
        Some(CheckpointForm::Single | CheckpointForm::Plain) | None => Forms::plain(pod_level),
    }
}

/// The policy that the CPU manager's file names.
#[must_use]
pub const fn cpu_policy(node: &Node) -> &'static str {
    if node.cpus().is_some() { "static" } else { "none" }
}

/// The policy that the memory manager's file names.
#[must_use]
pub const fn memory_policy(node: &Node) -> &'static str {
    if node.memory().is_some() { "Static" } else { "None" }
}

/// The text of a state file, as a kubelet with that ledger would write it.
#[must_use]
pub fn text(file: StateFile, node: &Node, ledger: &Ledger) -> String {
    match file {
        StateFile::Cpu => cpu_state(node, ledger).encode(forms(node).cpu()),
        StateFile::Memory => memory_state(node, ledger).encode(forms(node).memory()),
        StateFile::Device => device_text(ledger.devices(), ledger.inventory()),
    }
}

/// The text of the device file with these holdings and the plugins of that inventory.
#[must_use]
pub fn device_text(held: &device_manager::Holdings, inventory: &Inventory) -> String {
    device_state(held, inventory).encode()
}

/// A state file whose format is not known. What it holds is not known either, so nothing may be given out beside it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{} is {format}. It is left as it is: run the kubelet that wrote it, or move the file away if no container on \
     this node holds anything",
    .file.path()
)]
pub struct UnknownFile {
    /// Which.
    pub file: StateFile,
    /// What is in it.
    pub format: UnknownFormat,
}

/// Whether the format of a state file is known; of one that is torn it is.
///
/// # Errors
/// It is not.
pub fn known(file: StateFile, contents: &[u8]) -> Result<(), UnknownFile> {
    let unknown = match file {
        StateFile::Cpu => CpuFile::unknown_format(contents),
        StateFile::Memory => MemoryFile::unknown_format(contents),
        StateFile::Device => DeviceFile::unknown_format(contents),
    };
    unknown.map_or(Ok(()), |format| Err(UnknownFile { file, format }))
}

/// Whether a state file is the same after a change of the ledger.
#[must_use]
pub fn is_same(file: StateFile, before: &Ledger, after: &Ledger) -> bool {
    match file {
        StateFile::Cpu => before.cpus() == after.cpus(),
        StateFile::Memory => before.memory() == after.memory(),
        StateFile::Device => before.devices() == after.devices() && before.inventory() == after.inventory(),
    }
}

/// What the CPU manager's file has on a node with that ledger, in whichever form.
#[must_use]
pub fn cpu_state(node: &Node, ledger: &Ledger) -> CpuState {
    let mut state = CpuState { policy: cpu_policy(node).to_owned(), ..CpuState::default() };
    if let Some(held) = ledger.cpus() {
        state.shared = held.shared().clone();
        for (pod, container, cpus) in held.iter() {
            state.containers.entry(pod.clone()).or_default().insert(container.clone(), cpus.clone());
        }
        state.pods = held.whole_pods().map(|(pod, cpus)| (pod.clone(), cpus.clone())).collect();
        for (pod, container, cpus) in held.baselines() {
            state.baselines.entry(pod.clone()).or_default().insert(container.clone(), cpus.clone());
        }
    }
    state
}

/// The same of the memory manager's file.
#[must_use]
pub fn memory_state(node: &Node, ledger: &Ledger) -> MemoryState {
    let mut state = MemoryState {
        policy: memory_policy(node).to_owned(),
        nodes: Some(BTreeMap::new()),
        ..MemoryState::default()
    };
    if let (Some(policy), Some(held)) = (node.memory(), ledger.memory()) {
        let Stored { nodes, entries, pod_entries } = policy.stored(held);
        state.nodes = Some(node_states(nodes));
        state.entries = entries
            .into_iter()
            .map(|(pod, containers)| {
                let containers = containers.into_iter().map(|(name, blocks)| (name, Some(written(blocks))));
                (pod, Some(containers.collect::<BTreeMap<ContainerName, _>>()))
            })
            .collect();
        state.pod_entries = pod_entries
            .into_iter()
            .map(|(pod, blocks)| {
                let blocks = written(blocks);
                (pod, PodEntry { blocks: (!blocks.is_empty()).then_some(blocks) })
            })
            .collect();
    }
    state
}

/// What the memory manager's file has where containers hold these blocks and no others, with the books that they give on the
/// node; under policy `None` it has no blocks.
///
/// # Errors
/// The blocks do not fit the node.
pub fn memory_state_of(
    node: &Node,
    entries: BTreeMap<PodUid, BTreeMap<ContainerName, Vec<Block>>>,
) -> Result<MemoryState, StateError> {
    let Some(policy) = node.memory() else { return Ok(memory_state(node, &node.empty_ledger())) };
    let named = |(name, blocks): (ContainerName, Vec<Block>)| (name, stored_blocks(Some(&blocks)));
    let of_pod = |(pod, containers): (PodUid, BTreeMap<ContainerName, Vec<Block>>)| {
        (pod, containers.into_iter().map(named).collect())
    };
    let mut stored = policy.stored(&policy.initial());
    stored.entries = entries.into_iter().map(of_pod).collect();
    let Stored { nodes, entries, .. } = match policy.restore(&stored) {
        Ok(_) => stored,
        Err(StateError::OtherMachine { expected }) => expected,
        Err(error) => return Err(error),
    };
    let entries = entries.into_iter().map(|(pod, containers)| {
        let containers = containers.into_iter().map(|(name, blocks)| (name, Some(written(blocks))));
        (pod, Some(containers.collect::<BTreeMap<ContainerName, _>>()))
    });
    Ok(MemoryState {
        policy: memory_policy(node).to_owned(),
        nodes: Some(node_states(nodes)),
        entries: entries.collect(),
        ..MemoryState::default()
    })
}

/// Books as they are written.
pub(crate) fn node_states(nodes: BTreeMap<NodeId, StoredNode>) -> BTreeMap<NodeId, Option<NodeState>> {
    nodes.into_iter().map(|(id, node)| (id, Some(node_state(node)))).collect()
}

fn node_state(node: StoredNode) -> NodeState {
    let table = |table: StoredTable| {
        let StoredTable { total, system_reserved, allocatable, reserved, free } = table;
        MemoryTable { total, system_reserved, allocatable, reserved, free }
    };
    NodeState {
        assignments: node.assignments,
        memory: Some(node.memory.into_iter().map(|(resource, of)| (resource, Some(table(of)))).collect()),
        cells: Some(node.cells),
    }
}

fn written(blocks: Vec<StoredBlock>) -> Vec<Block> {
    let block = |StoredBlock { nodes, resource, size }| Block { nodes: Some(nodes), resource, size };
    blocks.into_iter().map(block).collect()
}

fn device_state(held: &device_manager::Holdings, inventory: &Inventory) -> DeviceState {
    let entries: Vec<DeviceEntry> = held
        .iter()
        .map(|(pod, container, resource, held)| {
            let devices = held.by_node().map(|(on, ids)| {
                (on.id().0, Some(ids.iter().map(|id| id.as_str().to_owned()).collect::<Vec<_>>()))
            });
            DeviceEntry {
                pod: pod.clone(),
                container: container.clone(),
                resource: resource.clone(),
                devices: Some(devices.collect()),
                reply: Some(held.reply.0.to_vec()),
            }
        })
        .collect();
    let registered = inventory.registered().map(|resource| {
        let healthy = inventory.healthy(resource).map(|id| id.as_str().to_owned());
        (resource.clone(), Some(healthy.collect::<Vec<_>>()))
    });
    DeviceState { entries: (!entries.is_empty()).then_some(entries), registered: Some(registered.collect()) }
}

/// The CPUs of a file.
#[must_use]
pub fn cpus(state: &CpuState) -> cpu_manager::Holdings {
    let assigned = state.containers.iter().flat_map(|(pod, containers)| {
        containers.iter().map(|(name, cpus)| (pod.clone(), name.clone(), cpus.clone()))
    });
    let whole = state.pods.iter().map(|(pod, cpus)| (pod.clone(), cpus.clone()));
    let baselines = state.baselines.iter().flat_map(|(pod, containers)| {
        containers.iter().map(|(name, cpus)| (pod.clone(), name.clone(), cpus.clone()))
    });
    cpu_manager::Holdings::new(state.shared.clone(), assigned)
        .with_pods(state.containers.keys().cloned())
        .with_whole_pods(whole)
        .with_baselines(baselines)
}

/// A node, or a resource on it, is null in a file; the kubelet crashes on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("books of NUMA node {0} are null")]
pub struct NullBooks(pub NodeId);

/// The memory of a file.
///
/// # Errors
/// Books that are null.
pub fn memory(state: &MemoryState) -> Result<Stored, NullBooks> {
    let mut stored = Stored::default();
    for (id, node) in state.nodes.iter().flatten() {
        stored.nodes.insert(*id, stored_node(node.as_ref()).ok_or(NullBooks(*id))?);
    }
    for (pod, containers) in &state.entries {
        let containers = containers.iter().flatten();
        let of_pod = containers.map(|(name, of)| (name.clone(), stored_blocks(of.as_deref())));
        stored.entries.insert(pod.clone(), of_pod.collect());
    }
    for (pod, entry) in &state.pod_entries {
        stored.pod_entries.insert(pod.clone(), stored_blocks(entry.blocks.as_deref()));
    }
    Ok(stored)
}

fn stored_node(node: Option<&NodeState>) -> Option<StoredNode> {
    let node = node?;
    let mut memory = BTreeMap::new();
    for (resource, table) in node.memory.iter().flatten() {
        let MemoryTable { total, system_reserved, allocatable, reserved, free } = (*table)?;
        memory.insert(resource.clone(), StoredTable { total, system_reserved, allocatable, reserved, free });
    }
    Some(StoredNode { assignments: node.assignments, cells: node.cells.clone().unwrap_or_default(), memory })
}

fn stored_blocks(blocks: Option<&[Block]>) -> Vec<StoredBlock> {
    let block = |block: &Block| StoredBlock {
        nodes: block.nodes.clone().unwrap_or_default(),
        resource: block.resource.clone(),
        size: block.size,
    };
    blocks.unwrap_or_default().iter().map(block).collect()
}

/// The devices of a file.
#[must_use]
pub fn devices(state: &DeviceState) -> device_manager::Holdings {
    device_manager::Holdings::new(state.entries.iter().flatten().map(|entry| {
        let by_node = entry.devices.iter().flatten().map(|(node, ids)| {
            let ids = ids.iter().flatten().map(|id| DeviceId::new(id)).collect();
            (HeldOn::from(NodeId(*node)), ids)
        });
        let reply = AllocateReply(Arc::from(entry.reply.as_deref().unwrap_or_default()));
        (entry.pod.clone(), entry.container.clone(), entry.resource.clone(), Held::new(by_node, reply))
    }))
}
