//! Folders of state that are evidently another machine's, and a machine that has what such files name.

use cpuset::CpuSet;
use k8s_quantity::Quantity;
use kubelet_checkpoint::memory::{MemoryState, NodeState};
use topology_model::{HugePages, MachineCore, MachineInfo, MachineNode, NodeId};

use crate::implied::Written;
use crate::machine::LoadedMachine;

/// Why the files are evidently not of a machine with these CPUs and NUMA nodes, as text to be shown; `None`: they may be.
pub(crate) fn evidence(written: &Written, here: &CpuSet, nodes: &[NodeId]) -> Option<String> {
    let named = written.cpus();
    let absent = &named - here;
    if !absent.is_empty() {
        return Some(format!("they name CPUs {named}, and this machine has {here}"));
    }
    if !named.is_empty() && named.len() * 2 < here.len() {
        return Some(format!("they name CPUs {named} alone, and this machine has {here}"));
    }
    let books = written.memory().and_then(|state| state.nodes.as_ref()).filter(|nodes| !nodes.is_empty())?;
    let is_same = books.keys().copied().eq(nodes.iter().copied());
    (!is_same).then(|| {
        let shown = |ids: &mut dyn Iterator<Item = NodeId>| {
            ids.map(|id| id.to_string()).collect::<Vec<_>>().join(", ")
        };
        let (theirs, ours) = (shown(&mut books.keys().copied()), shown(&mut nodes.iter().copied()));
        format!("they name NUMA nodes {theirs}, and this machine has {ours}")
    })
}

/// Memory of nodes of which no file says it.
const ANY_MEMORY: u64 = 1 << 40;

/// A machine that has the CPUs and the memory that the files name. How its CPUs lie is not known: all are cores of one
/// NUMA node.
pub(crate) fn machine_of(written: &Written) -> LoadedMachine {
    let cpus = written.cpus();
    let cpus: Vec<i64> = if cpus.is_empty() {
        vec![0]
    } else {
        cpus.iter().filter_map(|cpu| i64::try_from(cpu.get()).ok()).collect()
    };
    let core = |id: &i64| MachineCore { core_id: *id, thread_ids: Some(vec![*id]), ..MachineCore::default() };
    let mut nodes: Vec<MachineNode> = written.memory().map(nodes_of).unwrap_or_default();
    if nodes.is_empty() {
        nodes.push(MachineNode { memory: ANY_MEMORY, ..MachineNode::default() });
    }
    let count = i64::try_from(cpus.len()).unwrap_or(i64::MAX);
    if let Some(first) = nodes.first_mut() {
        first.cores = Some(cpus.iter().map(core).collect());
    }
    let mut hugepages: Vec<HugePages> = Vec::new();
    for pages in nodes.iter().flat_map(|node| node.hugepages.iter().flatten()) {
        match hugepages.iter_mut().find(|all| all.page_size_kib == pages.page_size_kib) {
            Some(all) => all.num_pages += pages.num_pages,
            None => hugepages.push(*pages),
        }
    }
    let info = MachineInfo {
        num_cpus: count,
        num_physical_cores: count,
        num_sockets: 1,
        memory_capacity: nodes.iter().map(|node| node.memory).fold(0, u64::saturating_add),
        hugepages: Some(hugepages),
        topology: Some(nodes),
        ..MachineInfo::default()
    };
    LoadedMachine::new("files".to_owned(), info, None, Vec::new())
}

fn nodes_of(state: &MemoryState) -> Vec<MachineNode> {
    let nodes = state.nodes.iter().flatten();
    nodes.map(|(id, books)| node_of(*id, books.as_ref())).collect()
}

fn node_of(id: NodeId, books: Option<&NodeState>) -> MachineNode {
    let tables = books.iter().flat_map(|books| books.memory.iter().flatten());
    let mut node = MachineNode { id: id.0, hugepages: Some(Vec::new()), ..MachineNode::default() };
    for (resource, table) in tables {
        let Some(total) = table.as_ref().map(|table| table.total) else { continue };
        let size =
            resource.as_str().strip_prefix("hugepages-").and_then(|size| size.parse::<Quantity>().ok());
        let size = size.and_then(|size| u64::try_from(size.value()).ok()).filter(|size| *size >= 1024);
        match size {
            Some(size) => node
                .hugepages
                .get_or_insert_default()
                .push(HugePages { page_size_kib: size / 1024, num_pages: total / size }),
            None => node.memory = total,
        }
    }
    node
}
