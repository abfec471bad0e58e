//! What a kubelet has written, with what is added to its machine, which is free.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use k8s_quantity::Amount;
use kubelet_checkpoint::memory::{MemoryState, MemoryTable, NodeState};
use node_state::{Contents, StateFolder};
use pod_spec::ResourceName;
use topology_model::NodeId;

use crate::addition::{Addition, More};
use crate::imagined::{Imagined, too_little};

/// The files as the kubelet would have them on the imagined machine. A file that cannot be read stays as it is.
///
/// # Errors
/// Containers hold the memory that added huge pages would take.
pub(crate) fn with_more(folder: StateFolder, imagined: &Imagined) -> anyhow::Result<StateFolder> {
    let Contents { cpu, memory, .. } = folder.contents_of_any();
    let mut folder = folder;
    if let Some(Ok(file)) = cpu
        && let Ok(mut state) = file.state()
        && state.policy == "static"
    {
        state.shared |= &imagined.cpus;
        folder.cpu = Some(state.encode(file.format).into_bytes());
    }
    if let Some(Ok(mut file)) = memory {
        for addition in imagined.in_order() {
            add(&mut file.state, addition).with_context(|| format!("--add {addition}"))?;
        }
        folder.memory = Some(file.state.encode(file.format).into_bytes());
    }
    Ok(folder)
}

/// Adds to the books of a node.
fn add(state: &mut MemoryState, Addition { what, node }: &Addition) -> anyhow::Result<()> {
    let memory = ResourceName::new("memory");
    match what {
        More::Memory(bytes) => {
            if let Some(table) = table(state, *node, &memory) {
                table.total = table.total.saturating_add(*bytes);
                add_free(table, *bytes);
            }
        }
        More::HugePages { page, bytes } => {
            if let Some(table) = table(state, *node, &memory) {
                ensure!(table.free >= *bytes, too_little(*node, table.free, *bytes));
                table.allocatable = table.allocatable.saturating_sub(*bytes);
                table.free -= bytes;
            }
            let pages = ResourceName::new(&format!("hugepages-{}", Amount::Bytes(*page)));
            let nodes: Vec<NodeId> = state.nodes.iter().flatten().map(|(id, _)| *id).collect();
            for id in nodes {
                if let Some(table) = table(state, id, &pages).filter(|_| id == *node) {
                    table.total = table.total.saturating_add(*bytes);
                    add_free(table, *bytes);
                }
            }
        }
        More::Cpus(_) | More::Devices(..) => {}
    }
    Ok(())
}

fn add_free(table: &mut MemoryTable, bytes: u64) {
    table.allocatable = table.allocatable.saturating_add(bytes);
    table.free = table.free.saturating_add(bytes);
}

/// The table of a resource on a node, which is empty where there was none; `None`: the file does not have the node.
fn table<'s>(
    state: &'s mut MemoryState,
    node: NodeId,
    resource: &ResourceName,
) -> Option<&'s mut MemoryTable> {
    let books: &mut NodeState = state.nodes.as_mut()?.get_mut(&node)?.as_mut()?;
    let tables = books.memory.get_or_insert_with(BTreeMap::new);
    tables.entry(resource.clone()).or_insert_with(|| Some(MemoryTable::default())).as_mut()
}
