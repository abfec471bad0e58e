//! The three state files as far as they can be read, and guesses that their checksums prove.
//!
//! A checksum is of what was written. Where one value was changed afterwards, the value that fits the rest of the file
//! gives that checksum again, and then nothing is doubtful any more.

use std::collections::{BTreeMap, BTreeSet};

use kubelet_checkpoint::PodLevel;
use kubelet_checkpoint::cpu::{CpuFormat, CpuState};
use kubelet_checkpoint::device::DeviceState;
use kubelet_checkpoint::memory::{MemoryFormat, MemoryState};
use kubelet_checkpoint::store::StateFile;
use memory_manager::{StateError, Stored};
use pod_spec::{ContainerName, PodUid};

use super::damage::{self, Doubt, Read};
use super::{PodList, Work};
use crate::files;
use crate::folder::StateFolder;

/// The state files.
pub(super) struct Reads {
    pub(super) cpu: Read<CpuState>,
    pub(super) memory: Read<MemoryState>,
    pub(super) device: Read<DeviceState>,
}

/// Files with more entries are not guessed at: each guess costs a checksum of the whole file.
const MOST: usize = 2000;

impl Reads {
    pub(super) fn of(found: &StateFolder, pod_level: PodLevel) -> Self {
        let StateFolder { cpu, memory, device, .. } = found;
        // Without a device plugin there is no file of devices.
        let no_devices = Read { state: Some(DeviceState::default()), fault: None, doubt: None };
        Self {
            cpu: cpu.as_deref().map_or_else(Read::of_nothing, |file| damage::cpus(file, pod_level)),
            memory: memory.as_deref().map_or_else(Read::of_nothing, |file| damage::memory(file, pod_level)),
            device: device.as_deref().map_or(no_devices, damage::devices),
        }
    }

    /// The pods and containers of a file.
    pub(super) fn named(&self, file: StateFile) -> BTreeMap<PodUid, BTreeSet<ContainerName>> {
        let mut named: BTreeMap<PodUid, BTreeSet<ContainerName>> = BTreeMap::new();
        match file {
            StateFile::Cpu => {
                if let Some(state) = &self.cpu.state {
                    for (pod, of) in &state.containers {
                        named.entry(pod.clone()).or_default().extend(of.keys().cloned());
                    }
                    for pod in state.pods.keys() {
                        named.entry(pod.clone()).or_default();
                    }
                }
            }
            StateFile::Memory => {
                if let Some(state) = &self.memory.state {
                    for (pod, of) in &state.entries {
                        let names = of.iter().flat_map(BTreeMap::keys);
                        named.entry(pod.clone()).or_default().extend(names.cloned());
                    }
                    for pod in state.pod_entries.keys() {
                        named.entry(pod.clone()).or_default();
                    }
                }
            }
            StateFile::Device => {
                for entry in self.device.state.iter().flat_map(|state| state.entries.iter().flatten()) {
                    named.entry(entry.pod.clone()).or_default().insert(entry.container.clone());
                }
            }
        }
        named
    }
}

impl Work<'_> {
    /// Settles what one changed value leaves in doubt.
    pub(super) fn guess(&mut self) {
        if let Some(state) = self.guessed_cpus() {
            self.reads.cpu.settle(state);
        }
        if let Some(state) = self.guessed_memory() {
            self.reads.memory.settle(state);
        }
        if let Some(state) = self.guessed_devices() {
            self.reads.device.settle(state);
        }
        // A whole file may be another node's all the same.
        self.doubt_others();
    }

    /// A file that is about other pods only, while the other files have some that are here, is another node's.
    fn doubt_others(&mut self) {
        let PodList::Listed(here) = self.runs else { return };
        let named = StateFile::ALL.map(|file| self.reads.named(file));
        let is_others =
            |of: &BTreeMap<PodUid, _>| !of.is_empty() && of.keys().all(|pod| !here.contains_key(pod));
        let has_any = named.iter().any(|of| of.keys().any(|pod| here.contains_key(pod)));
        for (file, named) in StateFile::ALL.into_iter().zip(&named) {
            if has_any && is_others(named) {
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

    fn guessed_cpus(&self) -> Option<CpuState> {
        let (state, doubt) = (self.reads.cpu.state.as_ref()?, self.reads.cpu.doubt.as_ref()?);
        let policy = self.node.cpus()?;
        let mut guesses: Vec<CpuState> = Vec::new();
        let managed = policy.initial().shared().clone();
        let owned = super::cpus::owned(state);
        guesses.push(CpuState { shared: &managed - &owned, policy: "static".to_owned(), ..state.clone() });
        let gap = &(&managed - &state.shared) - &owned;
        for pod in self.candidates() {
            let mut names = self.containers_of(&pod, StateFile::Cpu);
            names.extend(state.containers.get(&pod).into_iter().flat_map(BTreeMap::keys).cloned());
            for name in names.into_iter().take(MOST.saturating_sub(guesses.len())) {
                let mut guess = state.clone();
                let others = &super::cpus::owned_but(state, &pod, &name) | &state.shared;
                let own = guess.containers.entry(pod.clone()).or_default().entry(name).or_default();
                *own = &(&*own | &gap) - &others;
                guesses.push(guess);
            }
        }
        for (from, to) in self.renamings(StateFile::Cpu) {
            let mut guess = state.clone();
            if let Some(own) = guess.containers.remove(&from) {
                guess.containers.insert(to.clone(), own);
            }
            if let Some(own) = guess.pods.remove(&from) {
                guess.pods.insert(to, own);
            }
            guesses.push(guess);
        }
        let formats = [files::forms(self.node).cpu(), CpuFormat::V2, CpuFormat::V4];
        guesses
            .into_iter()
            .find(|guess| formats.into_iter().any(|format| doubt.is_settled_by(&guess.encode(format))))
    }

    fn guessed_memory(&self) -> Option<MemoryState> {
        let (state, doubt) = (self.reads.memory.state.as_ref()?, self.reads.memory.doubt.as_ref()?);
        let mut guesses = vec![state.clone()];
        // One block of another size: the books say which.
        if let (Some(now), Some(was)) = (self.books_of(state), &state.nodes) {
            for (pod, of_pod) in &state.entries {
                for (name, blocks) in of_pod.iter().flatten() {
                    for (at, block) in blocks.iter().flatten().enumerate() {
                        let Some([node]) = block.nodes.as_deref() else { continue };
                        let table =
                            |id| was.get(id)?.as_ref()?.memory.as_ref()?.get(&block.resource).copied()?;
                        let booked = now.nodes.get(node).and_then(|node| node.memory.get(&block.resource));
                        let (Some(was), Some(booked)) = (table(node), booked) else { continue };
                        let size = (block.size + was.reserved).checked_sub(booked.reserved);
                        let Some(size) = size.filter(|size| *size != block.size) else { continue };
                        let mut guess = state.clone();
                        let blocks = guess.entries.get_mut(pod).and_then(Option::as_mut);
                        let blocks = blocks.and_then(|of_pod| of_pod.get_mut(name)).and_then(Option::as_mut);
                        if let Some(block) = blocks.and_then(|blocks| blocks.get_mut(at)) {
                            block.size = size;
                        }
                        guesses.push(guess);
                        if guesses.len() > MOST {
                            return None;
                        }
                    }
                }
            }
        }
        for (from, to) in self.renamings(StateFile::Memory) {
            let mut guess = state.clone();
            if let Some(own) = guess.entries.remove(&from) {
                guess.entries.insert(to.clone(), own);
            }
            if let Some(own) = guess.pod_entries.remove(&from) {
                guess.pod_entries.insert(to, own);
            }
            guesses.push(guess);
        }
        let formats = [files::forms(self.node).memory(), MemoryFormat::V1, MemoryFormat::V3];
        guesses.into_iter().find_map(|guess| {
            let books = self.books_of(&guess).map(|stored| MemoryState {
                policy: files::memory_policy(self.node).to_owned(),
                nodes: Some(files::node_states(stored.nodes)),
                ..guess.clone()
            });
            let both = [Some(guess), books];
            both.into_iter()
                .flatten()
                .find(|guess| formats.into_iter().any(|format| doubt.is_settled_by(&guess.encode(format))))
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
        let mut guesses = Vec::new();
        let held = state.entries.as_deref().unwrap_or_default();
        let registered = state.registered.clone().unwrap_or_default();
        for (at, entry) in held.iter().enumerate() {
            let healthy = registered.get(&entry.resource).and_then(Option::as_ref);
            for (node, ids) in entry.devices.iter().flatten() {
                for (which, id) in ids.iter().flatten().enumerate() {
                    let strange = healthy.filter(|healthy| !healthy.contains(id));
                    for other in strange.into_iter().flatten().take(MOST.saturating_sub(guesses.len())) {
                        let mut guess = state.clone();
                        let entry = guess.entries.as_mut().and_then(|entries| entries.get_mut(at));
                        let ids = entry.and_then(|entry| entry.devices.as_mut()?.get_mut(node)?.as_mut());
                        if let Some(id) = ids.and_then(|ids| ids.get_mut(which)) {
                            id.clone_from(other);
                        }
                        guesses.push(guess);
                    }
                }
            }
        }
        for (from, to) in self.renamings(StateFile::Device) {
            let mut guess = state.clone();
            for entry in guess.entries.iter_mut().flatten().filter(|entry| entry.pod == from) {
                entry.pod = to.clone();
            }
            guesses.push(guess);
        }
        guesses.into_iter().find(|guess| doubt.is_settled_by(&guess.encode()))
    }
}
