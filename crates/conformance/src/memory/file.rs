//! The memory manager's state file, as far as starts need it.

use std::collections::BTreeMap;

use kubelet_checkpoint::Forms;
use kubelet_checkpoint::memory::{
    Block, MemoryError, MemoryFile, MemoryState, MemoryTable, NodeState, PodEntry,
};
use memory_manager::{Stored, StoredBlock, StoredNode, StoredTable};

/// Where cases say that it is.
const PATH: &str = "$DIR/memory_manager_state";

/// What a manager of that policy starts with; else the kubelet's message.
pub(super) fn read(file: &str, policy: &str, forms: Forms) -> Result<Stored, String> {
    let read = MemoryFile::read(file.as_bytes(), forms).map_err(MemoryError::from);
    let state = read.as_ref().map_err(|error| error.refused(PATH).to_string())?.restore(policy);
    state.map(stored).map_err(|error| error.refused(PATH).to_string())
}

/// Whether a manager may go on with what another policy wrote; else the kubelet's message.
pub(super) fn check_policy(policy: &str, written_by: &str) -> Result<(), String> {
    if policy == written_by {
        return Ok(());
    }
    let (configured, stored) = (policy.to_owned(), written_by.to_owned());
    Err(MemoryError::OtherPolicy { configured, stored }.refused(PATH).to_string())
}

/// The file that such a manager writes.
pub(super) fn written(stored: &Stored, policy: &str, forms: Forms) -> String {
    let state = MemoryState {
        policy: policy.to_owned(),
        nodes: Some(stored.nodes.iter().map(|(id, node)| (*id, Some(written_node(node)))).collect()),
        entries: stored
            .entries
            .iter()
            .map(|(pod, of)| {
                let each = of.iter().map(|(name, blocks)| (name.clone(), Some(written_blocks(blocks))));
                (pod.clone(), Some(each.collect()))
            })
            .collect(),
        pod_entries: stored
            .pod_entries
            .iter()
            .map(|(pod, blocks)| {
                let blocks = (!blocks.is_empty()).then(|| written_blocks(blocks));
                (pod.clone(), PodEntry { blocks })
            })
            .collect(),
    };
    state.encode(forms.memory())
}

fn stored(state: &MemoryState) -> Stored {
    let node = |node: &Option<NodeState>| node.as_ref().map(stored_node).unwrap_or_default();
    let nodes = state.nodes.iter().flatten().map(|(id, of)| (*id, node(of)));
    let entries = state.entries.iter().map(|(pod, containers)| {
        let each =
            containers.iter().flatten().map(|(name, blocks)| (name.clone(), stored_blocks(blocks.as_ref())));
        (pod.clone(), each.collect())
    });
    let pod_entries =
        state.pod_entries.iter().map(|(pod, of)| (pod.clone(), stored_blocks(of.blocks.as_ref())));
    Stored { nodes: nodes.collect(), entries: entries.collect(), pod_entries: pod_entries.collect() }
}

fn stored_node(node: &NodeState) -> StoredNode {
    let table = |table: MemoryTable| StoredTable {
        total: table.total,
        system_reserved: table.system_reserved,
        allocatable: table.allocatable,
        reserved: table.reserved,
        free: table.free,
    };
    let memory = node.memory.iter().flatten();
    StoredNode {
        assignments: node.assignments,
        cells: node.cells.clone().unwrap_or_default(),
        memory: memory.map(|(resource, of)| (resource.clone(), of.map(table).unwrap_or_default())).collect(),
    }
}

fn stored_blocks(blocks: Option<&Vec<Block>>) -> Vec<StoredBlock> {
    let block = |block: &Block| StoredBlock {
        nodes: block.nodes.clone().unwrap_or_default(),
        resource: block.resource.clone(),
        size: block.size,
    };
    blocks.into_iter().flatten().map(block).collect()
}

fn written_node(node: &StoredNode) -> NodeState {
    let table = |table: &StoredTable| MemoryTable {
        total: table.total,
        system_reserved: table.system_reserved,
        allocatable: table.allocatable,
        reserved: table.reserved,
        free: table.free,
    };
    let memory: BTreeMap<_, _> =
        node.memory.iter().map(|(resource, of)| (resource.clone(), Some(table(of)))).collect();
    NodeState { assignments: node.assignments, memory: Some(memory), cells: Some(node.cells.clone()) }
}

fn written_blocks(blocks: &[StoredBlock]) -> Vec<Block> {
    let block = |block: &StoredBlock| Block {
        nodes: Some(block.nodes.clone()),
        resource: block.resource.clone(),
        size: block.size,
    };
    blocks.iter().map(block).collect()
}
