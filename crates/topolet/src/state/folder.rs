//! The three files of a kubelet's root folder, or of a copy of it.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use kubelet_checkpoint::PodLevel;
use kubelet_checkpoint::cpu::{ContainerIds, CpuError, CpuFile};
use kubelet_checkpoint::device::DeviceFile;
use kubelet_checkpoint::memory::{MemoryError, MemoryFile};
use kubelet_checkpoint::store::{self, StateFile};
use node_agent::files::{self, UnknownFile};
use pod_spec::PodUid;

/// The files as they are; `None` where there is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StateFolder {
    pub(crate) cpu: Option<Vec<u8>>,
    pub(crate) memory: Option<Vec<u8>>,
    pub(crate) device: Option<Vec<u8>>,
}

/// What is in the files.
pub(crate) struct Contents {
    pub(crate) cpu: Option<Result<CpuFile, CpuError>>,
    pub(crate) memory: Option<Result<MemoryFile, MemoryError>>,
    pub(crate) device: Option<DeviceFile>,
    /// Files of formats that are not known: what was read of them is not what they hold.
    pub(crate) unknown: Vec<UnknownFile>,
}

/// Whether there is such a folder; what is there instead if not.
pub(crate) fn must_be_folder(root: &Path) -> anyhow::Result<()> {
    let shown = root.display();
    match root.metadata() {
        Ok(about) if about.is_dir() => Ok(()),
        Ok(_) => bail!("{shown} is a file; the state is a kubelet's root folder, such as /var/lib/kubelet"),
        Err(error) if error.kind() == ErrorKind::NotFound => bail!("state folder {shown} does not exist"),
        Err(error) => Err(error).with_context(|| format!("failed to read state folder {shown}")),
    }
}

impl StateFolder {
    /// The files of a folder in which there must be some.
    pub(crate) fn read(root: &Path) -> anyhow::Result<Self> {
        must_be_folder(root)?;
        let folder = Self::of(root)?;
        if folder.is_empty() {
            let names = StateFile::ALL.map(StateFile::path).join(", ");
            bail!("{} holds no state of a kubelet: none of {names} is there", root.display());
        }
        Ok(folder)
    }

    /// What there is of them in a folder.
    pub(crate) fn of(root: &Path) -> anyhow::Result<Self> {
        let read = |file| -> anyhow::Result<Option<Vec<u8>>> {
            let path: PathBuf = root.join(StateFile::path(file));
            store::read(&path).with_context(|| format!("failed to read the state in {}", root.display()))
        };
        Ok(Self {
            cpu: read(StateFile::Cpu)?,
            memory: read(StateFile::Memory)?,
            device: read(StateFile::Device)?,
        })
    }

    /// Whether there is no file at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.cpu.is_none() && self.memory.is_none() && self.device.is_none()
    }

    /// What a kubelet reads whose feature gate `PodLevelResourceManagers` is as given.
    pub(crate) fn contents(&self, pod_level: PodLevel) -> Contents {
        Contents {
            cpu: self.cpu.as_deref().map(|file| CpuFile::read(file, pod_level, &ContainerIds::new())),
            memory: self.memory.as_deref().map(|file| Ok(MemoryFile::read(file, pod_level)?)),
            device: self.device.as_deref().map(DeviceFile::read),
            unknown: self.unknown(),
        }
    }

    /// The files of formats that are not known.
    pub(crate) fn unknown(&self) -> Vec<UnknownFile> {
        let files = StateFile::ALL.into_iter().zip([&self.cpu, &self.memory, &self.device]);
        files.filter_map(|(file, contents)| files::known(file, contents.as_deref()?).err()).collect()
    }

    /// What is in the files, whichever kubelet wrote them.
    pub(crate) fn contents_of_any(&self) -> Contents {
        let off = self.contents(PodLevel::Off);
        let on = self.contents(PodLevel::On);
        Contents {
            cpu: either(off.cpu, on.cpu),
            memory: either(off.memory, on.memory),
            device: off.device,
            unknown: off.unknown,
        }
    }

    /// Everybody who holds something; `None`: a file cannot be read.
    pub(crate) fn holders(&self) -> Option<BTreeSet<PodUid>> {
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

/// The first that could be read; of two refusals the first.
fn either<T, E>(first: Option<Result<T, E>>, second: Option<Result<T, E>>) -> Option<Result<T, E>> {
    match (first, second) {
        (Some(Err(_)), Some(Ok(read))) => Some(Ok(read)),
        (first, _) => first,
    }
}
