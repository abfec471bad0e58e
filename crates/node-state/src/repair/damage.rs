//! State files that a kubelet does not take: what is wrong, and what can be read all the same.

use std::collections::BTreeSet;

use kubelet_checkpoint::cpu::{ContainerIds, CpuError, CpuFile, CpuFormat, CpuState};
use kubelet_checkpoint::device::{DeviceFile, DeviceState};
use kubelet_checkpoint::memory::{MemoryFile, MemoryFormat, MemoryState};
use kubelet_checkpoint::salvage::{Rest, Salvaged, Seal};
use kubelet_checkpoint::{EmbeddedFault, FileError, Oddities, PodLevel};
use pod_spec::PodUid;

use super::Assumption;
use crate::fault::{Damage, Fault};
use crate::files;

/// A file as far as it can be read.
#[derive(Clone)]
pub(super) struct Read<T> {
    /// `None`: nothing of it can be believed.
    pub(super) state: Option<T>,
    /// What is wrong with it, if anything.
    pub(super) fault: Option<FileFault>,
    /// `None`: its checksum proves it.
    pub(super) doubt: Option<Doubt>,
}

/// A fault of a file as a whole.
#[derive(Clone)]
pub(super) struct FileFault {
    pub(super) fault: Fault,
    /// What is taken for true of its contents all the same.
    pub(super) assumption: Option<Assumption>,
}

/// What keeps a file from being believed as it is.
#[derive(Clone, Debug)]
pub(super) struct Doubt {
    /// Pods of which not all can be read.
    pub(super) cut: BTreeSet<PodUid>,
    /// Whether the rest, by which entries are checked, is there.
    pub(super) rest: Rest,
    /// Whether every pod of the file is known.
    pub(super) pods: Rest,
    /// The checksum, which may prove a guess.
    pub(super) seal: Option<Seal>,
}

impl Doubt {
    /// Nothing can be read.
    pub(super) const fn of_all() -> Self {
        Self { cut: BTreeSet::new(), rest: Rest::Cut, pods: Rest::Cut, seal: None }
    }

    /// Whether a guess, a file with this text, would have the checksum that is in the file.
    pub(super) fn is_settled_by(&self, text: &str) -> bool {
        self.seal.as_ref().is_some_and(|seal| seal.proves_guess(text))
    }

    /// Of a file that a kubelet takes: it is doubtful if it has no checksum.
    fn of(oddities: &Oddities) -> Option<Self> {
        oddities.has_no_checksum().then(|| Self {
            cut: BTreeSet::new(),
            rest: Rest::Read,
            pods: Rest::Read,
            seal: None,
        })
    }
}

impl<T> Read<T> {
    /// The file was written with this.
    pub(super) fn settle(&mut self, state: T) {
        self.state = Some(state);
        self.doubt = None;
        if let Some(fault) = &mut self.fault {
            fault.assumption = None;
        }
    }

    /// There is no file.
    pub(super) const fn of_nothing() -> Self {
        Self { state: None, fault: None, doubt: Some(Doubt::of_all()) }
    }

    fn unreadable(fault: Fault) -> Self {
        let fault = FileFault { fault, assumption: None };
        Self { state: None, fault: Some(fault), doubt: Some(Doubt::of_all()) }
    }

    /// What could be salvaged; `texts` are the files of that, as kubelets write them.
    fn salvaged<const N: usize>(
        file: &[u8],
        fault: Fault,
        Salvaged { state, cut, rest, pods }: Salvaged<T>,
        texts: impl Fn(&T) -> [String; N],
    ) -> Self {
        let seal = Seal::of(file);
        let is_proven = seal.as_ref().is_some_and(|seal| texts(&state).iter().any(|text| seal.proves(text)));
        let assumption = (!is_proven).then_some(Assumption::EntriesAreTrue);
        let fault = FileFault { fault, assumption };
        let doubt = (!is_proven).then_some(Doubt { cut, rest, pods, seal });
        Self { state: Some(state), fault: Some(fault), doubt }
    }
}

pub(super) fn cpus(file: &[u8], pod_level: PodLevel) -> Read<CpuState> {
    if let Some(format) = CpuFile::unknown_format(file) {
        return Read::unreadable(Fault::UnknownFormat(format));
    }
    let read = |pod_level| CpuFile::read(file, files::found(file, pod_level), &ContainerIds::new());
    let state = |read: CpuFile| {
        let (odd, doubt) = (odd(&read.oddities), Doubt::of(&read.oddities));
        read.state().map(|state| (state, odd, doubt))
    };
    let error = match read(pod_level).and_then(state) {
        Ok((state, odd, doubt)) => return Read { state: Some(state), fault: odd, doubt },
        Err(error) => error,
    };
    if let Ok((state, _, doubt)) = read(other(pod_level)).and_then(state) {
        return Read { state: Some(state), fault: Some(other_gate(pod_level)), doubt };
    }
    // What the kubelet reports is what is wrong with the oldest format, whichever it is of.
    let formats = [files::found(file, pod_level).cpu(), CpuFormat::V2];
    let changed = formats.into_iter().find_map(|format| CpuFile::fault_as(format, file).filter(is_changed));
    let fault = match (changed, &error) {
        (Some(error), _) => Fault::Damaged(Damage::new(error, file)),
        (None, CpuError::File(error)) => Fault::Damaged(Damage::new(error.clone(), file)),
        (None, other) => Fault::NotCpus(other.clone()),
    };
    let salvaged = Salvaged::cpus(file);
    // Entries of format V1 are not pods'.
    if matches!(error, CpuError::UnknownContainer { .. }) || salvaged.state == CpuState::default() {
        return Read::unreadable(fault);
    }
    Read::salvaged(file, fault, salvaged, |state| {
        [CpuFormat::V2, CpuFormat::V3, CpuFormat::V4].map(|format| state.encode(format))
    })
}

pub(super) fn memory(file: &[u8], pod_level: PodLevel) -> Read<MemoryState> {
    if let Some(format) = MemoryFile::unknown_format(file) {
        return Read::unreadable(Fault::UnknownFormat(format));
    }
    let error = match MemoryFile::read(file, files::found(file, pod_level)) {
        Ok(read) => {
            let doubt = Doubt::of(&read.oddities);
            return Read { fault: odd(&read.oddities), doubt, state: Some(read.state) };
        }
        Err(error) => error,
    };
    if let Ok(read) = MemoryFile::read(file, files::found(file, other(pod_level))) {
        let doubt = Doubt::of(&read.oddities);
        return Read { state: Some(read.state), fault: Some(other_gate(pod_level)), doubt };
    }
    let fault = Fault::Damaged(Damage::new(error, file));
    let salvaged = Salvaged::memory(file);
    if salvaged.state.policy.is_empty() && salvaged.state.entries.is_empty() && salvaged.rest == Rest::Cut {
        return Read::unreadable(fault);
    }
    Read::salvaged(file, fault, salvaged, |state| {
        [MemoryFormat::V1, MemoryFormat::V2, MemoryFormat::V3].map(|format| state.encode(format))
    })
}

pub(super) fn devices(file: &[u8]) -> Read<DeviceState> {
    if let Some(format) = DeviceFile::unknown_format(file) {
        return Read::unreadable(Fault::UnknownFormat(format));
    }
    let read = DeviceFile::read(file);
    let Some(error) = read.fault else {
        return Read {
            fault: odd(&read.oddities),
            doubt: Doubt::of(&read.oddities),
            state: Some(read.state),
        };
    };
    let fault = Fault::Damaged(Damage::new(error, file));
    let salvaged = Salvaged::devices(file);
    if salvaged.state.entries.as_ref().is_none_or(Vec::is_empty) && salvaged.rest == Rest::Cut {
        return Read::unreadable(fault);
    }
    Read::salvaged(file, fault, salvaged, |state| [state.encode()])
}

/// Whether a file is whole, and not what was written.
fn is_changed(error: &FileError) -> bool {
    match error {
        FileError::Corrupt { .. } => true,
        FileError::Embedded { fault, .. } => matches!(**fault, EmbeddedFault::Corrupt { .. }),
        _ => false,
    }
}

const fn other(pod_level: PodLevel) -> PodLevel {
    match pod_level {
        PodLevel::Off => PodLevel::On,
        PodLevel::On => PodLevel::Off,
    }
}

const fn other_gate(configured: PodLevel) -> FileFault {
    FileFault { fault: Fault::OtherGate(configured), assumption: None }
}

/// A kubelet accepts the file and did not write it so.
fn odd(oddities: &Oddities) -> Option<FileFault> {
    let all: Vec<_> = oddities.iter().map(|(offset, oddity)| (offset, oddity.clone())).collect();
    let assumption = Some(Assumption::EntriesAreTrue);
    (!all.is_empty()).then_some(FileFault { fault: Fault::Odd(all), assumption })
}
