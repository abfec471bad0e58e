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
            cpu: self.parsed_cpu(pod_level),
            memory: self.parsed_memory(pod_level),
            device: self.device.as_deref().map(DeviceFile::read),
            unknown: self.unknown(),
        }
    }

    fn parsed_cpu(&self, pod_level: PodLevel) -> Option<Result<CpuFile, CpuError>> {
        let file = self.cpu.as_deref()?;
        Some(CpuFile::read(file, files::found(file, pod_level), &ContainerIds::new()))
    }

    fn parsed_memory(&self, pod_level: PodLevel) -> Option<Result<MemoryFile, MemoryError>> {
        let file = self.memory.as_deref()?;
        Some(MemoryFile::read(file, files::found(file, pod_level)).map_err(Into::into))
    }

    /// The files, with either value of the gate.
    #[must_use]
    pub fn contents_of_any(&self) -> Contents {
        Contents {
            cpu: either(|pod_level| self.parsed_cpu(pod_level)),
            memory: either(|pod_level| self.parsed_memory(pod_level)),
            device: self.device.as_deref().map(DeviceFile::read),
            unknown: self.unknown(),
        }
    }

    /// The pods that hold anything by the state files; `None`: a file cannot be parsed.
    #[must_use]
    pub fn holders(&self) -> Option<BTreeSet<PodUid>> {
        self.contents_of_any().holders()
    }
}

impl Contents {
    /// The pods that hold anything; `None`: a file cannot be parsed.
    #[must_use]
    pub fn holders(&self) -> Option<BTreeSet<PodUid>> {
        let Self { cpu, memory, device, unknown } = self;
        if !unknown.is_empty() {
            return None;
        }
        let mut all = BTreeSet::new();
        if let Some(read) = cpu {
            let read = read.as_ref().ok()?;
            all.extend(read.entries.keys().chain(read.pod_entries.keys()).cloned());
        }
        if let Some(read) = memory {
            let state = &read.as_ref().ok()?.state;
            all.extend(state.entries.keys().chain(state.pod_entries.keys()).cloned());
        }
        if let Some(read) = device {
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
fn either<T, E>(parsed: impl Fn(PodLevel) -> Option<Result<T, E>>) -> Option<Result<T, E>> {
    match parsed(PodLevel::On) {
        Some(Ok(read)) => Some(Ok(read)),
        _ => parsed(PodLevel::Off),
    }
}
