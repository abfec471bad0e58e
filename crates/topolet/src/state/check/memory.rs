//! `memory_manager_state`: who has which memory, and whether the books agree.

use std::collections::BTreeSet;

use kubelet_checkpoint::PodLevel;
use kubelet_checkpoint::memory::{MemoryError, MemoryFile};
use kubelet_checkpoint::store::StateFile;
use memory_manager::{StateError, Stored, StoredBlock, StoredNode, StoredTable};
use node_state::{files, words};
use pod_spec::{PodUid, ResourceName};
use topology_model::NodeId;

use super::super::Problem;
use super::{Checking, DELETE, kubelets, no_start};
use crate::render::Amount;

const FILE: StateFile = StateFile::Memory;

/// More differences are counted and not told.
const TOLD: usize = 4;

impl Checking<'_> {
    pub(super) fn memory(&mut self, file: &[u8]) {
        let policy = if self.node.memory().is_some() { "Static" } else { "None" };
        let refused = |error: &MemoryError| no_start("memory", error.refused(&kubelets(FILE)));
        let read = match MemoryFile::read(file, self.pod_level) {
            Ok(read) => read,
            Err(error) => {
                let what = words::damage(&error, file);
                let refused = refused(&error.into());
                if !self.is_unknown(FILE, file, &refused) {
                    self.unreadable_memory(file, what, refused);
                }
                return;
            }
        };
        let refusal = read.restore(policy).err();
        let kubelet = refusal.as_ref().map_or_else(|| "takes it for empty".to_owned(), refused);
        if self.is_unknown(FILE, file, &kubelet) {
            return;
        }
        self.odd(FILE, &read.oddities);
        if let Some(MemoryError::OtherPolicy { configured, stored }) = &refusal {
            let what = format!(
                "written under memory manager policy {stored:?}, and the configuration has {configured:?}"
            );
            let help = format!("set memoryManagerPolicy to {stored:?} again, or {DELETE}");
            self.add(Problem::OtherPolicy, FILE, what, kubelet, &help);
        }
        match files::memory(&read.state) {
            Ok(stored) => self.books(&stored, refusal.is_none()),
            Err(files::NullBooks(node)) => {
                let what = format!("the books of NUMA node {node} are null");
                self.add(Problem::Unreadable, FILE, what, "crashes when it starts".to_owned(), DELETE);
            }
        }
    }

    fn unreadable_memory(&mut self, file: &[u8], what: String, refused: String) {
        let (other, gate) = match self.pod_level {
            PodLevel::Off => (PodLevel::On, "on"),
            PodLevel::On => (PodLevel::Off, "off"),
        };
        if MemoryFile::read(file, other).is_ok() {
            let what = format!(
                "written with feature gate PodLevelResourceManagers {gate}, which the configuration has not"
            );
            let help = format!("turn the gate {gate} again, or {DELETE}");
            self.add(Problem::OtherGate, FILE, what, refused, &help);
        } else {
            self.add(Problem::Unreadable, FILE, what, refused, DELETE);
        }
    }

    fn books(&mut self, stored: &Stored, has_policy: bool) {
        let pods: BTreeSet<&PodUid> = stored.entries.keys().chain(stored.pod_entries.keys()).collect();
        self.gone(FILE, pods.into_iter().map(|pod| (pod, held(stored, pod))));
        let (Some(manager), true) = (self.node.memory(), has_policy) else { return };
        let Err(error) = manager.restore(stored) else { return };
        let refused = no_start("memory", &error);
        match error {
            StateError::OtherMachine { expected } => {
                let differences = differences(stored, &expected);
                let more = differences.len().saturating_sub(TOLD);
                let mut what = differences.into_iter().take(TOLD).collect::<Vec<_>>().join("; ");
                if more > 0 {
                    what.push_str(&format!("; and {more} more"));
                }
                let help = format!("give the machine the memory and the reservation of then, or {DELETE}");
                self.add(Problem::Sums, FILE, what, refused, &help);
            }
            StateError::UnknownNode { ref pod, .. } => {
                let what = format!(
                    "{} holds memory on a NUMA node that this machine does not have",
                    self.names.name(pod)
                );
                self.add(Problem::Unknown, FILE, what, refused, DELETE);
            }
            StateError::UnknownResource { ref pod, .. } => {
                let what = format!(
                    "{} holds huge pages of a size that its NUMA node does not have",
                    self.names.name(pod)
                );
                self.add(Problem::Unknown, FILE, what, refused, DELETE);
            }
            _ => self.add(Problem::Sums, FILE, error.to_string(), refused, DELETE),
        }
    }
}

/// What a pod holds, in words.
fn held(stored: &Stored, pod: &PodUid) -> String {
    let whole = stored.pod_entries.get(pod).into_iter().flatten();
    let containers = stored.entries.get(pod).into_iter().flat_map(|of| of.values().flatten());
    let block = |block: &StoredBlock| {
        let nodes = crate::render::ranges(block.nodes.iter().map(|id| id.0));
        format!("{} {} on NUMA {nodes}", block.resource.amount(block.size), block.resource)
    };
    let blocks: Vec<String> = whole.chain(containers).map(block).collect();
    if blocks.is_empty() { "nothing".to_owned() } else { blocks.join(", ") }
}

/// Where the books of the file are not what this machine and the file's own blocks give.
fn differences(stored: &Stored, expected: &Stored) -> Vec<String> {
    let mut found = Vec::new();
    let ids: BTreeSet<NodeId> = stored.nodes.keys().chain(expected.nodes.keys()).copied().collect();
    for id in ids {
        match (stored.nodes.get(&id), expected.nodes.get(&id)) {
            (Some(stored), Some(expected)) => of_node(id, stored, expected, &mut found),
            (Some(_), None) => found.push(format!("NUMA {id} is not of this machine")),
            (None, _) => found.push(format!("NUMA {id} of this machine is not in the file")),
        }
    }
    found
}

fn of_node(id: NodeId, stored: &StoredNode, expected: &StoredNode, found: &mut Vec<String>) {
    let resources: BTreeSet<&ResourceName> = stored.memory.keys().chain(expected.memory.keys()).collect();
    for resource in resources {
        match (stored.memory.get(resource), expected.memory.get(resource)) {
            (Some(stored), Some(expected)) => of_table(id, resource, stored, expected, found),
            (Some(_), None) => found.push(format!("NUMA {id} has no {resource} here")),
            (None, _) => found.push(format!("NUMA {id} has {resource} here, and not in the file")),
        }
    }
    let groups = |node: &StoredNode| node.cells.iter().copied().collect::<BTreeSet<NodeId>>();
    if groups(stored) != groups(expected) {
        let shown = |node: &StoredNode| crate::render::ranges(groups(node).into_iter().map(|id| id.0));
        found.push(format!(
            "NUMA {id} is bound to {} in its books, and to {} by the blocks of its pods",
            shown(stored),
            shown(expected)
        ));
    }
    if stored.assignments != expected.assignments {
        found.push(format!(
            "NUMA {id} counts {} blocks, and its pods have {}",
            stored.assignments, expected.assignments
        ));
    }
}

fn of_table(
    id: NodeId,
    resource: &ResourceName,
    stored: &StoredTable,
    expected: &StoredTable,
    found: &mut Vec<String>,
) {
    let shown = |bytes: u64| {
        // An amount that is rounded would look the same on both sides.
        if bytes.trailing_zeros() >= 20 { Amount::Bytes(bytes).to_string() } else { format!("{bytes} bytes") }
    };
    for (what, then, now) in [
        ("is installed", stored.total, expected.total),
        ("is kept for the system", stored.system_reserved, expected.system_reserved),
    ] {
        if then != now {
            found.push(format!(
                "NUMA {id}: {} of {resource} {what} here, {} in the file",
                shown(now),
                shown(then)
            ));
        }
    }
    if stored.reserved != expected.reserved {
        found.push(format!(
            "NUMA {id}: {} of {resource} booked, and the blocks of its pods sum to {}",
            shown(stored.reserved),
            shown(expected.reserved)
        ));
    } else if stored.free != expected.free && stored.total == expected.total {
        found.push(format!(
            "NUMA {id}: {} of {resource} free, and it should be {}",
            shown(stored.free),
            shown(expected.free)
        ));
    }
}
