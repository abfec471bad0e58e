//! Guesses at state files that their checksums prove.
//!
//! A checksum is of what was written. Where one value was changed afterwards, the value that fits the rest of the file
//! gives that checksum again, and then nothing is doubtful any more.

use std::collections::{BTreeMap, BTreeSet};

use kubelet_checkpoint::cpu::{CpuFormat, CpuState};
use kubelet_checkpoint::device::DeviceState;
use kubelet_checkpoint::form_of;
use kubelet_checkpoint::memory::{MemoryFormat, MemoryState, NodeState};
use kubelet_checkpoint::store::StateFile;
use kubelet_release::CheckpointForm;
use memory_manager::{StateError, Stored};
use pod_spec::{ContainerName, PodUid};
use topology_model::NodeId;

use super::damage::Doubt;
use super::reads::Names;
use super::{PodList, Work};
use crate::files;

/// The most guesses at one file.
const MOST: usize = 2000;
/// The most bytes of all guesses at one file. Each guess costs a checksum of the whole file, so that a larger file is guessed
/// at less often.
const MOST_BYTES: usize = 6 << 20;

impl Work<'_> {
    /// Settles what one changed value leaves in doubt.
    pub(super) fn guess(&mut self) {
        if let Some(state) = self.guessed_cpus() {
            self.reads.cpu.settle(state);
            self.reads.name_again();
        }
        if let Some(state) = self.guessed_memory() {
            self.reads.memory.settle(state);
            self.reads.name_again();
        }
        if let Some(state) = self.guessed_devices() {
            self.reads.device.settle(state);
            self.reads.name_again();
        }
        // A whole file may be another node's all the same.
        self.doubt_others();
    }

    /// A file that is about other pods only, while the other files have some that are here, is another node's.
    fn doubt_others(&mut self) {
        let PodList::Listed(here) = self.runs else { return };
        let named = StateFile::ALL.map(|file| self.reads.named(file));
        let is_others = |of: &Names| !of.is_empty() && of.keys().all(|pod| !here.contains_key(pod));
        let has_any = named.iter().any(|of| of.keys().any(|pod| here.contains_key(pod)));
        let others = named.map(is_others);
        for (file, is_others) in StateFile::ALL.into_iter().zip(others) {
            if has_any && is_others {
                let doubt = match file {
                    StateFile::Cpu => &mut self.reads.cpu.doubt,
                    StateFile::Memory => &mut self.reads.memory.doubt,
                    StateFile::Device => &mut self.reads.device.doubt,
                };
                doubt.get_or_insert_with(Doubt::of_all);
            }
        }
    }

    /// Pods of a file that are not here, and pods that are and are not in it: the one may be the other, misspelt.
    fn renamings(&self, file: StateFile) -> Vec<(PodUid, PodUid)> {
        let named = self.reads.named(file);
        let strange: Vec<&PodUid> = named.keys().filter(|pod| !self.pods.contains_key(*pod)).collect();
        let candidates = self.candidates();
        let without: Vec<&PodUid> = candidates.iter().filter(|pod| !named.contains_key(*pod)).collect();
        let is_few = strange.len() * without.len() <= MOST;
        let pairs = strange.iter().flat_map(|from| without.iter().map(|to| ((*from).clone(), (*to).clone())));
        pairs.filter(|_| is_few).collect()
    }

    /// Whether a kubelet up to 1.36 wrote a file: no guess is of a newer form.
    fn is_plain(&self, file: StateFile) -> bool {
        self.found.state_file(file).and_then(form_of) == Some(CheckpointForm::Plain)
    }

    /// How often a file is guessed at.
    fn guesses(&self, file: StateFile) -> usize {
        let bytes = self.found.state_file(file).map_or(0, <[u8]>::len);
        (MOST_BYTES / bytes.max(1)).min(MOST)
    }

    fn guessed_cpus(&self) -> Option<CpuState> {
        let (state, doubt) = (self.reads.cpu.state.as_ref()?, self.reads.cpu.doubt.as_ref()?);
        doubt.seal.as_ref()?;
        let policy = self.node.cpus()?;
        let managed = policy.initial().shared().clone();
        let owned = super::cpus::owned(state);
        let gap = &(&managed - &state.shared) - &owned;
        let pool = CpuState { shared: &managed - &owned, policy: "static".to_owned(), ..state.clone() };
        let containers = self.candidates().into_iter().flat_map(|pod| {
            let mut names = self.containers_of(&pod, StateFile::Cpu);
            names.extend(state.containers.get(&pod).into_iter().flat_map(BTreeMap::keys).cloned());
            names.into_iter().map(move |name| (pod.clone(), name))
        });
        let others_cpus = containers.map(|(pod, name)| {
            let mut guess = state.clone();
            let others = &super::cpus::owned_but(state, &pod, &name) | &state.shared;
            let own = guess.containers.entry(pod).or_default().entry(name).or_default();
            *own = &(&*own | &gap) - &others;
            guess
        });
        let renamed = self.renamings(StateFile::Cpu).into_iter().map(|(from, to)| {
            let mut guess = state.clone();
            if let Some(own) = guess.containers.remove(&from) {
                guess.containers.insert(to.clone(), own);
            }
            if let Some(own) = guess.pods.remove(&from) {
                guess.pods.insert(to, own);
            }
            guess
        });
        let mut formats = BTreeSet::from([files::forms(self.node).cpu(), CpuFormat::V2, CpuFormat::V4]);
        if self.is_plain(StateFile::Cpu) {
            formats.remove(&CpuFormat::V4);
        }
        let is_it =
            |guess: &CpuState| formats.iter().any(|format| doubt.is_settled_by(&guess.encode(*format)));
        let most = self.guesses(StateFile::Cpu);
        std::iter::once(pool).chain(others_cpus.take(most)).chain(renamed.take(most)).find(is_it)
    }

    fn guessed_memory(&self) -> Option<MemoryState> {
        let (state, doubt) = (self.reads.memory.state.as_ref()?, self.reads.memory.doubt.as_ref()?);
        doubt.seal.as_ref()?;
        // One block of another size: the books say which.
        let books = self.books_of(state).zip(state.nodes.as_ref());
        let sized = books.iter().flat_map(|(now, was)| other_sizes(state, now, was)).map(|other| {
            let mut guess = state.clone();
            let blocks = guess.entries.get_mut(other.pod).and_then(Option::as_mut);
            let blocks = blocks.and_then(|of_pod| of_pod.get_mut(other.container)).and_then(Option::as_mut);
            if let Some(block) = blocks.and_then(|blocks| blocks.get_mut(other.at)) {
                block.size = other.size;
            }
            guess
        });
        let renamed = self.renamings(StateFile::Memory).into_iter().map(|(from, to)| {
            let mut guess = state.clone();
            if let Some(own) = guess.entries.remove(&from) {
                guess.entries.insert(to.clone(), own);
            }
            if let Some(own) = guess.pod_entries.remove(&from) {
                guess.pod_entries.insert(to, own);
            }
            guess
        });
        let mut formats =
            BTreeSet::from([files::forms(self.node).memory(), MemoryFormat::V1, MemoryFormat::V3]);
        if self.is_plain(StateFile::Memory) {
            formats.remove(&MemoryFormat::V3);
        }
        let most = self.guesses(StateFile::Memory);
        let as_it_is = std::iter::once(state.clone());
        as_it_is.chain(sized.take(most)).chain(renamed.take(most)).find_map(|guess| {
            let books = self.books_of(&guess).map(|stored| MemoryState {
                policy: files::memory_policy(self.node).to_owned(),
                nodes: Some(files::node_states(stored.nodes)),
                ..guess.clone()
            });
            let both = [Some(guess), books];
            both.into_iter()
                .flatten()
                .find(|guess| formats.iter().any(|format| doubt.is_settled_by(&guess.encode(*format))))
        })
    }

    /// The entries of a file with the books that they give on this machine; `None`: they do not fit it.
    pub(super) fn books_of(&self, state: &MemoryState) -> Option<Stored> {
        let policy = self.node.memory()?;
        let without = MemoryState { nodes: None, ..state.clone() };
        let mut stored = files::memory(&without).ok()?;
        stored.nodes = policy.stored(&policy.initial()).nodes;
        match policy.restore(&stored) {
            Ok(_) => Some(stored),
            Err(StateError::OtherMachine { expected }) => Some(expected),
            Err(_) => None,
        }
    }

    fn guessed_devices(&self) -> Option<DeviceState> {
        let (state, doubt) = (self.reads.device.state.as_ref()?, self.reads.device.doubt.as_ref()?);
        doubt.seal.as_ref()?;
        let exchanged = other_devices(state).map(|other| {
            let mut guess = state.clone();
            let entry = guess.entries.as_mut().and_then(|entries| entries.get_mut(other.entry));
            let ids = entry.and_then(|entry| entry.devices.as_mut()?.get_mut(&other.node)?.as_mut());
            if let Some(id) = ids.and_then(|ids| ids.get_mut(other.at)) {
                id.clone_from(other.id);
            }
            guess
        });
        let renamed = self.renamings(StateFile::Device).into_iter().map(|(from, to)| {
            let mut guess = state.clone();
            for entry in guess.entries.iter_mut().flatten().filter(|entry| entry.pod == from) {
                entry.pod = to.clone();
            }
            guess
        });
        let most = self.guesses(StateFile::Device);
        let mut all = exchanged.take(most).chain(renamed.take(most));
        all.find(|guess| doubt.is_settled_by(&guess.encode()))
    }
}

/// A block that the books of a file take for one of another size.
struct OtherSize<'a> {
    pod: &'a PodUid,
    container: &'a ContainerName,
    /// The block's place among those of the container.
    at: usize,
    size: u64,
}

/// Blocks of a file with the size that its books, `was`, leave for them beside the other blocks, whose books are `now`.
fn other_sizes<'a>(
    state: &'a MemoryState,
    now: &'a Stored,
    was: &'a BTreeMap<NodeId, Option<NodeState>>,
) -> impl Iterator<Item = OtherSize<'a>> {
    let containers = state.entries.iter().flat_map(|(pod, of_pod)| {
        of_pod.iter().flatten().map(move |(container, blocks)| (pod, container, blocks))
    });
    let blocks = containers.flat_map(|(pod, container, blocks)| {
        blocks.iter().flatten().enumerate().map(move |(at, block)| (pod, container, at, block))
    });
    blocks.filter_map(move |(pod, container, at, block)| {
        let [node] = block.nodes.as_deref()? else { return None };
        let was = was.get(node)?.as_ref()?.memory.as_ref()?.get(&block.resource).copied()??;
        let booked = now.nodes.get(node)?.memory.get(&block.resource)?;
        let size = block.size.checked_add(was.reserved)?.checked_sub(booked.reserved)?;
        (size != block.size).then_some(OtherSize { pod, container, at, size })
    })
}

/// A healthy device that may stand in a file where one that is not healthy does.
struct OtherDevice<'a> {
    entry: usize,
    node: i64,
    /// The place among the devices of that node.
    at: usize,
    id: &'a String,
}

/// Devices that are not healthy, each with every healthy one of its resource.
fn other_devices(state: &DeviceState) -> impl Iterator<Item = OtherDevice<'_>> {
    let all = state.entries.iter().flatten().enumerate().filter_map(|(at, entry)| {
        let healthy = state.registered.as_ref()?.get(&entry.resource)?.as_ref()?;
        Some((at, entry, healthy))
    });
    all.flat_map(|(entry, of, healthy)| {
        let known: BTreeSet<&String> = healthy.iter().collect();
        let held =
            of.devices.iter().flatten().flat_map(|(node, ids)| {
                ids.iter().flatten().enumerate().map(move |(at, id)| (*node, at, id))
            });
        let strange = held.filter(move |(_, _, id)| !known.contains(id));
        strange
            .flat_map(move |(node, at, _)| healthy.iter().map(move |id| OtherDevice { entry, node, at, id }))
    })
}
