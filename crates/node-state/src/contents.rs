//! The contents of the three state files, parsed, whichever kubelet wrote them.

use std::collections::BTreeSet;

use kubelet_checkpoint::PodLevel;
use kubelet_checkpoint::cpu::{ContainerIds, CpuError, CpuFile};
use kubelet_checkpoint::device::DeviceFile;
use kubelet_checkpoint::memory::{MemoryError, MemoryFile};
use pod_spec::PodUid;

use crate::files::{self, UnknownFile};
use crate::folder::StateFolder;

/// The parsed files; `None`: there is no such file.
#[derive(Debug)]
pub struct Contents {
    /// The CPU manager's file.
    pub cpu: Option<Result<CpuFile, CpuError>>,
    /// The memory manager's file.
    pub memory: Option<Result<MemoryFile, MemoryError>>,
    /// The device manager's file.
    pub device: Option<DeviceFile>,
    /// Files of unknown formats: the parsed contents are not all that they hold.
    pub unknown: Vec<UnknownFile>,
}

impl StateFolder {
    /// The files as a kubelet of the release that wrote them parses them, with that feature gate
    /// `PodLevelResourceManagers`.
    #[must_use]
    pub fn contents(&self, pod_level: PodLevel) -> Contents {
        Contents {
            cpu: self
                .cpu
                .as_deref()
                .map(|file| CpuFile::read(file, files::found(file, pod_level), &ContainerIds::new())),
            memory: self
                .memory
                .as_deref()
                .map(|file| Ok(MemoryFile::read(file, files::found(file, pod_level))?)),
            device: self.device.as_deref().map(DeviceFile::read),
            unknown: self.unknown(),
        }
    }

    /// The files, with either value of the gate.
    #[must_use]
    pub fn contents_of_any(&self) -> Contents {
        let off = self.contents(PodLevel::Off);
        let on = self.contents(PodLevel::On);
        Contents {
            cpu: either(off.cpu, on.cpu),
            memory: either(off.memory, on.memory),
            device: off.device,
            unknown: off.unknown,
        }
    }

    /// The pods that hold anything by the state files; `None`: a file cannot be parsed.
    #[must_use]
    pub fn holders(&self) -> Option<BTreeSet<PodUid>> {
        let contents = self.contents_of_any();
        if !contents.unknown.is_empty() {
            return None;
        }
        let mut all = BTreeSet::new();
        if let Some(read) = contents.cpu {
            let read = read.ok()?;
            all.extend(read.entries.into_keys().chain(read.pod_entries.into_keys()));
        }
        if let Some(read) = contents.memory {
            let state = read.ok()?.state;
            all.extend(state.entries.into_keys().chain(state.pod_entries.into_keys()));
        }
        if let Some(read) = contents.device {
            if read.fault.is_some() {
                return None;
            }
            all.extend(files::devices(&read.state).iter().map(|(pod, ..)| pod.clone()));
        }
        Some(all)
    }
}

/// What could be parsed, with the gate on if either way will do: with it off, what pods have as a whole is not read. Of
/// two errors that with the gate off.
fn either<T, E>(off: Option<Result<T, E>>, on: Option<Result<T, E>>) -> Option<Result<T, E>> {
    match (off, on) {
        (_, Some(Ok(read))) => Some(Ok(read)),
        (off, _) => off,
    }
}
