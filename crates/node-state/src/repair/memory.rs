//! Memory and huge pages: the blocks of pods, and books that agree with them.

use std::collections::BTreeMap;

use kubelet_checkpoint::PodLevel;
use kubelet_checkpoint::memory::MemoryState;
use kubelet_checkpoint::store::StateFile;
use memory_manager::{StateError, Static, Stored, StoredBlock, StoredNode};
use pod_spec::{PodUid, ResourceName};
use topology_model::NodeId;

use super::damage::{Doubt, Read};
use super::{Remedy, Work};
use crate::books::BookDifference;
use crate::fault::{Fault, Holding, Kind, Unproven};
use crate::files;
use crate::grants::Memory;

const FILE: StateFile = StateFile::Memory;

type Held = BTreeMap<PodUid, Memory>;
type Nodes = BTreeMap<NodeId, StoredNode>;

impl Work<'_> {
    pub(super) fn memory(&mut self) {
        let pod_level = files::pod_level(self.node);
        let read = self.reads.memory.clone();
        self.whole_file(FILE, &read);
        let Read { state, doubt, .. } = read;
        let configured = files::memory_policy(self.node);
        let Some(policy) = self.node.memory() else {
            self.other_policy(FILE, state.as_ref().map(|state| state.policy.as_str()), configured);
            return;
        };
        // The policy of a damaged file may be what is damaged.
        let stored = state.as_ref().map(|state| state.policy.as_str()).filter(|_| doubt.is_none());
        let is_other = self.other_policy(FILE, stored, configured);
        let state = state.filter(|_| !is_other);
        let stored = state.as_ref().map(|state| self.stored(state));
        let granted: Held = self.granted(|grants| grants.memory.clone());
        if self.found.memory.is_none() && granted.values().any(|memory| !memory.containers.is_empty()) {
            self.missing(FILE);
        }
        let held = self.believed(FILE, stored.as_ref().map(stored_of), granted, shown);
        if !is_other {
            self.unproven(FILE, doubt.as_ref(), &held.keys().cloned().collect());
        }
        if let (Some(state), Some(doubt)) = (&state, &doubt) {
            let wrong = self.wrong_memory(state, doubt, &held);
            self.contradicted(FILE, wrong);
        }
        let held = self.installed(policy, held, pod_level);
        let nodes = stored.map(|stored| stored.nodes);
        let is_new = self.found.memory.is_none() && held.is_empty();
        let books = self.books(policy, nodes, held);
        self.result.start.stored.memory = (!is_new).then_some(books);
    }

    /// What does not agree with the blocks that a doubtful file has of pods that are here.
    fn wrong_memory(&self, state: &MemoryState, doubt: &Doubt, held: &Held) -> Vec<(Unproven, Vec<PodUid>)> {
        let expected = self.books_of(state);
        let was = state.nodes.clone().unwrap_or_default();
        let booked = |node: &NodeId, resource: &ResourceName| {
            let tables = was.get(node).and_then(Option::as_ref).and_then(|node| node.memory.as_ref());
            tables.and_then(|tables| tables.get(resource).copied().flatten()).map(|table| table.reserved)
        };
        let tables = expected.iter().flat_map(|stored| &stored.nodes);
        let mut tables =
            tables.flat_map(|(id, node)| node.memory.iter().map(move |(of, table)| (id, of, table)));
        let other = tables.find(|(node, resource, table)| booked(node, resource) != Some(table.reserved));
        let mut nodes = expected.iter().flat_map(|stored| &stored.nodes);
        let counted = nodes.find(|(id, node)| {
            let was = was.get(id).and_then(Option::as_ref);
            was.is_none_or(|was| {
                was.assignments != node.assignments || was.cells.as_ref() != Some(&node.cells)
            })
        });
        let of_all = match (&expected, other) {
            (Some(_), None) => counted.map(|(node, _)| Unproven::OtherBlocks(*node)),
            (None, _) => Some(Unproven::NoFit),
            (_, Some((node, resource, _))) => Some(Unproven::OtherAmount(*node, resource.clone())),
        };
        // Keyed by sentence, so that pods with the same one share a finding.
        let mut wrong: BTreeMap<String, (Unproven, Vec<PodUid>)> = BTreeMap::new();
        for (pod, memory) in held {
            if self.says_itself(pod, FILE) || doubt.cut.contains(pod) {
                continue;
            }
            let found =
                of_all.clone().or_else(|| self.strange_container(pod, FILE, memory.containers.keys()));
            if let Some(found) = found {
                let same = wrong.entry(found.to_string()).or_insert_with(|| (found, Vec::new()));
                same.1.push(pod.clone());
            }
        }
        wrong.into_values().collect()
    }

    /// What a file has, without books that are null.
    fn stored(&mut self, state: &MemoryState) -> Stored {
        let mut state = state.clone();
        loop {
            match files::memory(&state) {
                Ok(stored) => return stored,
                Err(files::NullBooks(node)) => {
                    let fault = Fault::NullBooks(files::NullBooks(node));
                    self.add(FILE, fault, None, Remedy::Rebook, &[]);
                    state.nodes.as_mut().and_then(|nodes| nodes.remove(&node));
                }
            }
        }
    }

    /// Blocks only where this machine has the resource.
    fn installed(&mut self, policy: &Static, mut held: Held, pod_level: PodLevel) -> Held {
        let tables = policy.stored(&policy.initial()).nodes;
        let pods: Vec<PodUid> = held.keys().cloned().collect();
        for pod in pods {
            let Some(memory) = held.get_mut(&pod) else { continue };
            if pod_level == PodLevel::Off {
                memory.whole = None;
            }
            let mut lost = Vec::new();
            for blocks in memory.containers.values_mut().chain(&mut memory.whole) {
                blocks.retain_mut(|block| {
                    let before = block.nodes.len();
                    let was = block.clone();
                    let has = |id: &NodeId| {
                        tables.get(id).is_some_and(|node| node.memory.contains_key(&block.resource))
                    };
                    block.nodes.retain(has);
                    if block.nodes.len() < before {
                        lost.push(was);
                    }
                    !block.nodes.is_empty() || before == 0
                });
            }
            if !lost.is_empty() {
                let fault = Fault::MemoryGone { pod: self.named(&pod), blocks: lost };
                self.add(FILE, fault, None, Remedy::KeepRest(Kind::Memory), &[&pod]);
            }
        }
        held
    }

    /// The blocks with books that agree with them on this machine.
    fn books(&mut self, policy: &Static, nodes: Option<Nodes>, held: Held) -> Stored {
        let mut stored = Stored::default();
        for (pod, memory) in held {
            if !memory.containers.is_empty() {
                stored.entries.insert(pod.clone(), memory.containers);
            }
            if let Some(whole) = memory.whole {
                stored.pod_entries.insert(pod, whole);
            }
        }
        let was = nodes.clone().unwrap_or_default();
        stored.nodes = nodes.unwrap_or_default();
        if stored.nodes.is_empty() && !stored.entries.is_empty() {
            // No machine is like this one, so that the books are worked out.
            stored.nodes = policy.stored(&policy.initial()).nodes;
        }
        // All blocks are on nodes that have the resource, so that nothing else can be wrong.
        if let Err(StateError::OtherMachine { expected }) = policy.restore(&stored) {
            if !was.is_empty() {
                self.compare_books(&was, &expected.nodes);
            }
            stored = expected;
            // Found only when the books are rebuilt; afterwards they agree.
            self.overbooked(policy, &stored);
        }
        stored
    }

    fn compare_books(&mut self, was: &Nodes, is: &Nodes) {
        let (drift, sums): (Vec<_>, Vec<_>) =
            BookDifference::all(was, is).into_iter().partition(BookDifference::is_drift);
        if !drift.is_empty() {
            self.add(FILE, Fault::MemoryDrifted(drift), None, Remedy::RebookForMachine, &[]);
        } else if !sums.is_empty() {
            self.add(FILE, Fault::Books(sums), None, Remedy::Rebook, &[]);
        }
    }

    /// Pods hold more than there is.
    fn overbooked(&mut self, policy: &Static, stored: &Stored) {
        for resource in policy.resources() {
            let of = |blocks: &Vec<StoredBlock>| -> u128 {
                let own = blocks.iter().filter(|block| block.resource == *resource);
                own.map(|block| u128::from(block.size)).sum()
            };
            let held: u128 = stored
                .entries
                .iter()
                .map(|(pod, containers)| {
                    match stored.pod_entries.get(pod).filter(|whole| !whole.is_empty()) {
                        Some(whole) => of(whole),
                        None => containers.values().map(of).sum(),
                    }
                })
                .sum();
            let booked = stored.nodes.values().filter_map(|node| node.memory.get(resource));
            let booked: u128 = booked.map(|table| u128::from(table.reserved)).sum();
            if held > booked {
                let bytes = u64::try_from(held - booked).unwrap_or(u64::MAX);
                let fault = Fault::Overbooked { resource: resource.clone(), bytes };
                self.add(FILE, fault, None, Remedy::Wait, &[]);
            }
        }
    }
}

fn stored_of(stored: &Stored) -> Held {
    let mut held = Held::new();
    for (pod, containers) in &stored.entries {
        held.entry(pod.clone()).or_default().containers.clone_from(containers);
    }
    for (pod, blocks) in &stored.pod_entries {
        held.entry(pod.clone()).or_default().whole = Some(blocks.clone());
    }
    held
}

fn shown(memory: &Memory) -> Holding {
    Holding::Memory(memory.containers.values().chain(&memory.whole).flatten().cloned().collect())
}
