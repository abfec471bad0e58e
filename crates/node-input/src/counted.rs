//! The machine as its running kubelet counts it.
//!
//! A kubelet reads the machine once, when it starts, and goes on with that: memory that is plugged, ballooned or brought up
//! later, and huge pages that are changed, count after its next start only. The memory manager's file has the totals of
//! that moment, by NUMA node. Its next start compares them with the machine, and fails where they differ.

use k8s_quantity::{Amount, Quantity};
use kubelet_checkpoint::memory::NodeState;
use node_state::{Contents, StateFolder};
use topology_model::{HugePages, MachineInfo, MachineNode};

use crate::packed::Running;

/// What a kubelet counts that has started on another state of the machine.
#[derive(Clone)]
pub(crate) struct Counted {
    pub(crate) info: MachineInfo,
    /// In what the machine differs now, as text to be shown.
    differences: Vec<String>,
    running: Running,
}

impl Counted {
    /// By the memory manager's file; `None`: the kubelet keeps none, it cannot be read, or the machine has what it says.
    pub(crate) fn of(info: &MachineInfo, state: &StateFolder, running: Running) -> Option<Self> {
        let Contents { memory, .. } = state.contents_of_any();
        let file = memory?.ok()?.state;
        let mut counted = info.clone();
        let mut differences = Vec::new();
        for node in counted.topology.iter_mut().flatten() {
            let own = file.nodes.iter().flatten().find(|(id, _)| id.0 == node.id);
            let Some((_, Some(own))) = own else { continue };
            differences.extend(count(node, own));
        }
        if differences.is_empty() || !is_plausible(&counted) {
            return None;
        }
        let sum = |info: &MachineInfo| {
            info.topology.iter().flatten().map(|node| node.memory).fold(0, u64::saturating_add)
        };
        // A kernel that brings memory up by and by counts all of it from the start.
        if sum(info) == info.memory_capacity {
            counted.memory_capacity = sum(&counted);
        }
        for pages in counted.hugepages.iter_mut().flatten() {
            let nodes = counted.topology.iter().flatten().flat_map(|node| node.hugepages.iter().flatten());
            let own = nodes.filter(|own| own.page_size_kib == pages.page_size_kib);
            pages.num_pages = own.map(|own| own.num_pages).fold(0, u64::saturating_add);
        }
        Some(Self { info: counted, differences, running })
    }

    /// That the machine has changed, as text to be shown.
    pub(crate) fn note(&self) -> String {
        let differences = self.differences.join(", ");
        let who = match self.running {
            Running::Yes => {
                "the kubelet that runs goes on with what it counted when it started, which decides here"
            }
            Running::No | Running::NotKnown => {
                "a kubelet that has run since then goes on with what it counted when it started, which decides here; whether \
                 one runs is not known"
            }
        };
        format!("the machine has changed since the state of its kubelet was written: {differences}; {who}")
    }
}

/// Whether a machine can have so much memory; a file with other totals is judged as one of another machine.
fn is_plausible(info: &MachineInfo) -> bool {
    let mut totals = info.topology.iter().flatten().map(|node| node.memory);
    let sum = totals.try_fold(0_u64, u64::checked_add);
    // The kubelet computes with 64 bits and a sign.
    sum.is_some_and(|sum| sum > 0 && i64::try_from(sum).is_ok())
}

/// Gives a node what a kubelet counted; says what differs.
fn count(node: &mut MachineNode, counted: &NodeState) -> Vec<String> {
    let mut differences = Vec::new();
    let mut differs = |what: &str, was: u64, is: u64| {
        if was != is {
            let [was, is] = Amount::told_apart([was, is].map(Amount::Bytes));
            differences.push(format!("NUMA {} had {was} of {what} and has {is}", node.id));
        }
    };
    for (resource, table) in counted.memory.iter().flatten() {
        let Some(table) = table else { continue };
        if resource.as_str() == "memory" {
            differs("memory", table.total, node.memory);
            node.memory = table.total;
            continue;
        }
        let Some(size) = page_size(resource.as_str()) else { continue };
        let kib = size / 1024;
        let pages = node.hugepages.iter_mut().flatten().find(|pages| pages.page_size_kib == kib);
        let num_pages = table.total / size;
        match pages {
            Some(pages) => {
                differs(resource.as_str(), table.total, pages.num_pages.saturating_mul(size));
                pages.num_pages = num_pages;
            }
            None if num_pages > 0 => {
                differs(resource.as_str(), table.total, 0);
                node.hugepages.get_or_insert_default().push(HugePages { page_size_kib: kib, num_pages });
            }
            None => {}
        }
    }
    differences
}

/// The bytes of a page of `hugepages-1Gi`.
fn page_size(resource: &str) -> Option<u64> {
    let size: Quantity = resource.strip_prefix("hugepages-")?.parse().ok()?;
    u64::try_from(size.value()).ok().filter(|size| *size >= 1024)
}
