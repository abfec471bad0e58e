//! What is in the files as the managers have it.

use std::collections::BTreeMap;
use std::sync::Arc;

use device_manager::{AllocateReply, DeviceId, Held, HeldOn};
use kubelet_checkpoint::cpu::CpuState;
use kubelet_checkpoint::device::DeviceState;
use kubelet_checkpoint::memory::{Block, MemoryState, MemoryTable, NodeState};
use memory_manager::{Stored, StoredBlock, StoredNode, StoredTable};
use topology_model::NodeId;

pub(super) fn of_cpus(state: &CpuState) -> cpu_manager::Holdings {
    let assigned = state.containers.iter().flat_map(|(pod, containers)| {
        containers.iter().map(|(name, cpus)| (pod.clone(), name.clone(), cpus.clone()))
    });
    let whole = state.pods.iter().map(|(pod, cpus)| (pod.clone(), cpus.clone()));
    cpu_manager::Holdings::new(state.shared.clone(), assigned)
        .with_pods(state.containers.keys().cloned())
        .with_whole_pods(whole)
}

/// The node, or the resource on it, is null; the kubelet crashes on such a file.
pub(super) struct NullBooks(pub(super) NodeId);

pub(super) fn of_memory(state: &MemoryState) -> Result<Stored, NullBooks> {
    let mut stored = Stored::default();
    for (id, node) in state.nodes.iter().flatten() {
        stored.nodes.insert(*id, of_node(node.as_ref()).ok_or(NullBooks(*id))?);
    }
    for (pod, containers) in &state.entries {
        let containers = containers.iter().flatten();
        let of_pod = containers.map(|(name, of)| (name.clone(), blocks(of.as_deref())));
        stored.entries.insert(pod.clone(), of_pod.collect());
    }
    for (pod, entry) in &state.pod_entries {
        stored.pod_entries.insert(pod.clone(), blocks(entry.blocks.as_deref()));
    }
    Ok(stored)
}

fn of_node(node: Option<&NodeState>) -> Option<StoredNode> {
    let node = node?;
    let mut memory = BTreeMap::new();
    for (resource, table) in node.memory.iter().flatten() {
        let MemoryTable { total, system_reserved, allocatable, reserved, free } = (*table)?;
        memory.insert(resource.clone(), StoredTable { total, system_reserved, allocatable, reserved, free });
    }
    Some(StoredNode { assignments: node.assignments, cells: node.cells.clone().unwrap_or_default(), memory })
}

fn blocks(blocks: Option<&[Block]>) -> Vec<StoredBlock> {
    let block = |block: &Block| StoredBlock {
        nodes: block.nodes.clone().unwrap_or_default(),
        resource: block.resource.clone(),
        size: block.size,
    };
    blocks.unwrap_or_default().iter().map(block).collect()
}

pub(super) fn of_devices(state: &DeviceState) -> device_manager::Holdings {
    device_manager::Holdings::new(state.entries.iter().flatten().map(|entry| {
        let by_node = entry.devices.iter().flatten().map(|(node, ids)| {
            let ids = ids.iter().flatten().map(|id| DeviceId::new(id)).collect();
            (HeldOn::from(NodeId(*node)), ids)
        });
        let reply = AllocateReply(Arc::from(entry.reply.as_deref().unwrap_or_default()));
        (entry.pod.clone(), entry.container.clone(), entry.resource.clone(), Held::new(by_node, reply))
    }))
}
