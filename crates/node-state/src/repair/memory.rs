//! Memory and huge pages: the blocks of pods, and books that agree with them.

use std::collections::{BTreeMap, BTreeSet};

use kubelet_checkpoint::PodLevel;
use kubelet_checkpoint::memory::MemoryState;
use kubelet_checkpoint::store::StateFile;
use memory_manager::{StateError, Static, Stored, StoredBlock, StoredNode, StoredTable};
use pod_spec::{PodUid, ResourceName};
use topology_model::NodeId;

use super::damage::{Doubt, Read};
use super::{Cause, Work};
use crate::files;
use crate::grants::Memory;
use crate::words;

const FILE: StateFile = StateFile::Memory;

type Held = BTreeMap<PodUid, Memory>;
type Nodes = BTreeMap<NodeId, StoredNode>;

impl Work<'_> {
    pub(super) fn memory(&mut self) {
        let pod_level = files::pod_level(self.node);
        let Read { state, fault, doubt } = self.reads.memory.clone();
        self.whole_file(FILE, fault, state.is_some(), self.found.memory.is_some());
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
        let held = self.believed(FILE, stored.as_ref().map(said), granted, shown);
        if !is_other {
            self.unproven(FILE, doubt.as_ref(), &held.keys().cloned().collect());
        }
        if let (Some(state), Some(doubt)) = (&state, &doubt) {
            let wrong = self.wrong_memory((state, doubt), &held);
            self.contradicted(FILE, wrong);
        }
        let held = self.installed(policy, held, pod_level);
        let nodes = stored.map(|stored| stored.nodes);
        let is_new = self.found.memory.is_none() && held.is_empty();
        let books = self.books(policy, nodes, held);
        self.result.start.stored.memory = (!is_new).then_some(books);
    }

    /// What does not agree with the blocks that a doubtful file has of pods that are here.
    fn wrong_memory(
        &self,
        (state, doubt): (&MemoryState, &Doubt),
        held: &Held,
    ) -> BTreeMap<String, Vec<PodUid>> {
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
            (Some(_), None) => counted.map(|(node, _)| {
                format!("the blocks that are counted on NUMA {node} are not those of its pods, so that somebody's entry is wrong")
            }),
            (None, _) => Some(
                "what its pods hold does not fit this machine, so that somebody's entry is wrong".to_owned(),
            ),
            (_, Some((node, resource, _))) => Some(format!(
                "the {resource} that is booked on NUMA {node} is not that of its pods, so that somebody's entry is wrong"
            )),
        };
        let mut wrong: BTreeMap<String, Vec<PodUid>> = BTreeMap::new();
        for (pod, memory) in held {
            if self.says_itself(pod, FILE) || doubt.cut.contains(pod) {
                continue;
            }
            let found =
                of_all.clone().or_else(|| self.strange_container(pod, FILE, memory.containers.keys()));
            if let Some(found) = found {
                wrong.entry(found).or_default().push(pod.clone());
            }
        }
        wrong
    }

    /// What a file has, without books that are null.
    fn stored(&mut self, state: &MemoryState) -> Stored {
        let mut state = state.clone();
        loop {
            match files::memory(&state) {
                Ok(stored) => return stored,
                Err(files::NullBooks(node)) => {
                    let told = [
                        format!("the books of NUMA node {node} are null"),
                        String::new(),
                        "made anew from what pods hold".to_owned(),
                    ];
                    self.add(Cause::Books, FILE, told, &[]);
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
                    let was = words_of(block);
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
                let told = [
                    format!(
                        "{} holds {}, and this machine has none of that there",
                        self.name(&pod),
                        words::list(lost)
                    ),
                    String::new(),
                    "it keeps the rest of its memory".to_owned(),
                ];
                self.add(Cause::MemoryGone, FILE, told, &[&pod]);
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
            // Told when the books are made; afterwards they are as they should be.
            self.overbooked(policy, &stored);
        }
        stored
    }

    fn compare_books(&mut self, was: &Nodes, is: &Nodes) {
        let ids: BTreeSet<NodeId> = was.keys().chain(is.keys()).copied().collect();
        let mut drifted = Vec::new();
        let mut books = Vec::new();
        for id in ids {
            match (was.get(&id), is.get(&id)) {
                (Some(_), None) => drifted.push(format!("NUMA {id} is not of this machine")),
                (None, _) => drifted.push(format!("NUMA {id} of this machine is not in it")),
                (Some(was), Some(is)) => {
                    let resources: BTreeSet<&ResourceName> =
                        was.memory.keys().chain(is.memory.keys()).collect();
                    for resource in resources {
                        match (was.memory.get(resource), is.memory.get(resource)) {
                            (Some(was), Some(is)) => {
                                compare(id, resource, *was, *is, &mut drifted, &mut books);
                            }
                            (Some(_), None) => drifted.push(format!("NUMA {id} has no {resource} any more")),
                            (None, _) => drifted.push(format!("NUMA {id} has {resource} now")),
                        }
                    }
                    if was.assignments != is.assignments || was.cells != is.cells {
                        books.push(format!(
                            "NUMA {id} counts {} blocks, and its pods have {}",
                            was.assignments, is.assignments
                        ));
                    }
                }
            }
        }
        if !drifted.is_empty() {
            let done = "the machine as it is counts; what pods hold is booked anew";
            self.add(Cause::MemoryDrifted, FILE, [told(drifted), String::new(), done.to_owned()], &[]);
        } else if !books.is_empty() {
            let done = "what pods hold counts; the sums are made anew";
            self.add(Cause::Books, FILE, [told(books), String::new(), done.to_owned()], &[]);
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
                let told = [
                    format!(
                        "pods hold {} of {resource} more than there is for pods where they hold it",
                        words::bytes(u64::try_from(held - booked).unwrap_or(u64::MAX))
                    ),
                    String::new(),
                    "they keep it; no more is given out there until enough of it is free".to_owned(),
                ];
                self.add(Cause::Overbooked, FILE, told, &[]);
            }
        }
    }
}

fn compare(
    id: NodeId,
    resource: &ResourceName,
    was: StoredTable,
    is: StoredTable,
    drifted: &mut Vec<String>,
    books: &mut Vec<String>,
) {
    for (what, was, is) in [
        ("is installed", was.total, is.total),
        ("is kept for the system", was.system_reserved, is.system_reserved),
    ] {
        if was != is {
            drifted.push(format!(
                "NUMA {id}: {} of {resource} {what}, {} before",
                words::bytes(is),
                words::bytes(was)
            ));
        }
    }
    let is_drifted = was.total != is.total || was.system_reserved != is.system_reserved;
    if !is_drifted && was.allocatable != is.allocatable {
        drifted.push(format!(
            "NUMA {id}: pods can have {} of {resource}, {} before",
            words::bytes(is.allocatable),
            words::bytes(was.allocatable)
        ));
    } else if was.reserved != is.reserved {
        books.push(format!(
            "NUMA {id}: {} of {resource} booked, and the blocks of its pods sum to {}",
            words::bytes(was.reserved),
            words::bytes(is.reserved)
        ));
    } else if !is_drifted && was.free != is.free {
        books.push(format!(
            "NUMA {id}: {} of {resource} free, and it should be {}",
            words::bytes(was.free),
            words::bytes(is.free)
        ));
    }
}

/// Longer lists are cut.
const TOLD: usize = 4;

fn told(mut what: Vec<String>) -> String {
    let more = what.len().saturating_sub(TOLD);
    what.truncate(TOLD);
    let mut told = what.join("; ");
    if more > 0 {
        told.push_str(&format!("; and {more} more"));
    }
    told
}

fn said(stored: &Stored) -> Held {
    let mut said = Held::new();
    for (pod, containers) in &stored.entries {
        said.entry(pod.clone()).or_default().containers.clone_from(containers);
    }
    for (pod, blocks) in &stored.pod_entries {
        said.entry(pod.clone()).or_default().whole = Some(blocks.clone());
    }
    said
}

fn words_of(block: &StoredBlock) -> String {
    let StoredBlock { nodes, resource, size } = block;
    let nodes = words::list(nodes.iter().map(ToString::to_string));
    format!("{} of {resource} on NUMA {nodes}", words::bytes(*size))
}

fn shown(memory: &Memory) -> String {
    let blocks: Vec<String> =
        memory.containers.values().chain(&memory.whole).flatten().map(words_of).collect();
    if blocks.is_empty() { "no memory".to_owned() } else { words::list(blocks) }
}
