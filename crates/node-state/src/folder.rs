//! The files of a node's folder, unread.

use std::path::{Path, PathBuf};

use kubelet_checkpoint::form_of;
use kubelet_checkpoint::pods::PodFile;
use kubelet_checkpoint::store::{self, Fs, StateFile, Store, StoreError};
use kubelet_release::CheckpointForm;

use crate::files::{self, UnknownFile};
use crate::moves::{self, ChangedFile, MOVES, NewText};
use crate::record::{self, PODS};

/// The contents of a node's folder: the kubelet's state files, and one file for each pod that topolet admitted.
/// `None`: there is no such file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StateFolder {
    /// The CPU manager's file.
    pub cpu: Option<Vec<u8>>,
    /// The memory manager's file.
    pub memory: Option<Vec<u8>>,
    /// The device manager's file.
    pub device: Option<Vec<u8>>,
    /// What pods were admitted with, as a kubelet keeps it.
    pub allocated: Option<Vec<u8>>,
    /// What pods run with, as a kubelet keeps it.
    pub actuated: Option<Vec<u8>>,
    /// The pods' files, by path below the root; none in a folder of a kubelet.
    pub pods: Vec<(PathBuf, Vec<u8>)>,
}

/// Whether a look at a folder is about pods' own files too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pods {
    LookedAt,
    LeftOut,
}

/// Whether a file is a pod's. A crash leaves hidden files, and backups have other names.
#[must_use]
pub fn is_pod_file(path: &Path) -> bool {
    let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    !is_hidden && path.extension().is_some_and(|end| end == "json")
}

impl StateFolder {
    /// Reads a folder whose lock is held, and in which no change of several pods is unfinished: see [`moves`](crate::moves).
    ///
    /// # Errors
    /// A file cannot be read. A missing file is no error.
    pub fn read<F: Fs>(store: &Store<F>) -> Result<Self, StoreError> {
        let mut folder = Self {
            cpu: store.read(StateFile::Cpu)?,
            memory: store.read(StateFile::Memory)?,
            device: store.read(StateFile::Device)?,
            // They are a kubelet's: topolet writes none, and starts without them.
            allocated: None,
            actuated: None,
            pods: Vec::new(),
        };
        for name in store.list(Path::new(PODS))? {
            let path = Path::new(PODS).join(name);
            if is_pod_file(&path)
                && let Some(text) = store.read_at(&path)?
            {
                folder.pods.push((path, text));
            }
        }
        Ok(folder)
    }

    /// Reads the state files without a lock, and no file of a pod. A change of several pods that has been decided is
    /// in what is read.
    ///
    /// # Errors
    /// A file cannot be read. A missing file is no error.
    pub fn state_files(root: &Path) -> Result<Self, StoreError> {
        Self::unfinished(root)?.with_moves(root, Pods::LeftOut)
    }

    /// The state files as they are.
    fn unfinished(root: &Path) -> Result<Self, StoreError> {
        let read = |file: StateFile| store::read(&root.join(file.path()));
        Ok(Self {
            cpu: read(StateFile::Cpu)?,
            memory: read(StateFile::Memory)?,
            device: read(StateFile::Device)?,
            allocated: store::read(&root.join(PodFile::Allocated.path()))?,
            actuated: store::read(&root.join(PodFile::Actuated.path()))?,
            pods: Vec::new(),
        })
    }

    /// Reads a folder without a lock, to look at it only. A change of several pods that has been decided is in what is
    /// read.
    ///
    /// # Errors
    /// A file cannot be read. A missing file is no error.
    pub fn look(root: &Path) -> Result<Self, StoreError> {
        let mut folder = Self::unfinished(root)?;
        // Without the folder there are no pods.
        let names = std::fs::read_dir(root.join(PODS)).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = names.map(|entry| Path::new(PODS).join(entry.file_name())).collect();
        paths.sort();
        for path in paths.into_iter().filter(|path| is_pod_file(path)) {
            if let Some(text) = store::read(&root.join(&path))? {
                folder.pods.push((path, text));
            }
        }
        folder.with_moves(root, Pods::LookedAt)
    }

    /// The folder as it will be when a change that has been decided is in all files. One that cannot be read is left for
    /// who may write.
    fn with_moves(self, root: &Path, pods: Pods) -> Result<Self, StoreError> {
        let Some(found) = store::read(&root.join(MOVES))? else { return Ok(self) };
        Ok(self.after(moves::read(&found).unwrap_or_default(), pods))
    }

    /// The folder as it will be when a change that has been decided is in all files.
    #[must_use]
    pub fn changed(self, change: Vec<NewText>) -> Self {
        self.after(change, Pods::LookedAt)
    }

    fn after(mut self, change: Vec<NewText>, pods: Pods) -> Self {
        for NewText { file, text } in change {
            let text = text.map(String::into_bytes);
            match file {
                ChangedFile::State(StateFile::Cpu) => self.cpu = text,
                ChangedFile::State(StateFile::Memory) => self.memory = text,
                ChangedFile::State(StateFile::Device) => self.device = text,
                ChangedFile::Pod(_) if pods == Pods::LeftOut => {}
                ChangedFile::Pod(uid) => {
                    let path = record::path(&uid);
                    self.pods.retain(|(other, _)| *other != path);
                    self.pods.extend(text.map(|text| (path, text)));
                }
            }
        }
        self.pods.sort();
        self
    }

    /// Whether there is no file at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { cpu, memory, device, allocated, actuated, pods } = self;
        let files = [cpu, memory, device, allocated, actuated];
        files.into_iter().all(Option::is_none) && pods.is_empty()
    }

    /// Which forms of files the kubelet wrote that left this folder; `None`: no file of CPUs or memory tells. Where they
    /// differ it was upgraded, and has not changed both files since.
    #[must_use]
    pub fn form(&self) -> Option<CheckpointForm> {
        let forms = [&self.cpu, &self.memory].map(|file| file.as_deref().and_then(form_of));
        let is_newer = forms.contains(&Some(CheckpointForm::Embedded));
        if is_newer { Some(CheckpointForm::Embedded) } else { forms.into_iter().flatten().next() }
    }

    /// The contents of a state file.
    #[must_use]
    pub fn state_file(&self, file: StateFile) -> Option<&[u8]> {
        match file {
            StateFile::Cpu => self.cpu.as_deref(),
            StateFile::Memory => self.memory.as_deref(),
            StateFile::Device => self.device.as_deref(),
        }
    }

    /// The contents of a file of what pods were admitted or run with.
    #[must_use]
    pub fn pods_file(&self, file: PodFile) -> Option<&[u8]> {
        match file {
            PodFile::Allocated => self.allocated.as_deref(),
            PodFile::Actuated => self.actuated.as_deref(),
        }
    }

    /// The state files whose format is unknown: their holdings are unknown too.
    #[must_use]
    pub fn unknown(&self) -> Vec<UnknownFile> {
        let files = StateFile::ALL.into_iter().map(|file| (file, self.state_file(file)));
        files.filter_map(|(file, contents)| files::known(file, contents?).err()).collect()
    }

    /// Whether the formats of all state files are known.
    ///
    /// # Errors
    /// The first file whose format is not.
    pub fn known(&self) -> Result<(), UnknownFile> {
        self.unknown().into_iter().next().map_or(Ok(()), Err)
    }
}
