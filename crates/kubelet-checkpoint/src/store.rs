//! State files on disk. Feature `std`.
//!
//! A file is written beside the old one, synced, renamed over it, and then the folder is synced: whenever the machine
//! stops, the old file or the new one is there, whole, and once [`Store::write`] has returned it is the new one. A
//! store holds a lock on its folder, so that two programs cannot write in turns; the kubelet does not look at the
//! lock, so it must not run.

mod backup;
mod fs;
mod regular;
#[cfg(feature = "testing")]
mod simulated;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::vec::Vec;

use thiserror::Error;

pub use backup::{backup_of, put_aside};
pub use fs::{Disk, Fs};
pub use regular::{NotRegular, OtherFile, open_regular};
#[cfg(feature = "testing")]
pub use simulated::{Fault, SimulatedDisk};

/// A larger file is neither read nor written: 64 MiB.
pub const MAX_SIZE: usize = 64 << 20;

/// One of the three files.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StateFile {
    /// `cpu_manager_state`
    Cpu,
    /// `memory_manager_state`
    Memory,
    /// `device-plugins/kubelet_internal_checkpoint`
    Device,
}

impl StateFile {
    /// All, in the order in which a kubelet reads them.
    pub const ALL: [Self; 3] = [Self::Cpu, Self::Memory, Self::Device];

    /// The path below the kubelet's root folder.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Cpu => "cpu_manager_state",
            Self::Memory => "memory_manager_state",
            Self::Device => "device-plugins/kubelet_internal_checkpoint",
        }
    }
}

/// What was being done with a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Doing {
    /// Reading it.
    Read,
    /// Creating it.
    Create,
    /// Writing to it.
    Write,
    /// Making its contents durable.
    Sync,
    /// Renaming it over the old one.
    Rename,
    /// Making the rename durable.
    SyncFolder,
    /// Removing it.
    Remove,
    /// Taking the lock.
    Lock,
}

impl core::fmt::Display for Doing {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Create => "create",
            Self::Write => "write",
            Self::Sync | Self::SyncFolder => "sync",
            Self::Rename => "rename",
            Self::Remove => "remove",
            Self::Lock => "lock",
        })
    }
}

/// Why a file could not be read or written. After a failed write the old file is there, or, if only the folder could
/// not be synced, the new one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file system error.
    #[error("failed to {doing} {path}")]
    Io {
        /// What it was asked.
        doing: Doing,
        /// Of which file or folder.
        path: PathBuf,
        /// Why not.
        #[source]
        error: io::Error,
    },
    /// More than [`MAX_SIZE`].
    #[error("{0} is larger than 64 MiB")]
    TooLarge(PathBuf),
    /// Another program has the folder.
    #[error("{0} is locked: another program writes state there")]
    Locked(PathBuf),
    /// A backup has the highest number, so that the next one would replace it.
    #[error("{0} has the highest number of a backup, so that no other can be made: rename it")]
    HighestBackup(PathBuf),
}

/// The state files below one folder, which is the kubelet's root or a copy of it.
#[derive(Debug)]
pub struct Store<F: Fs = Disk> {
    root: PathBuf,
    fs: F,
    /// Held as long as the store lives.
    _lock: F::Lock,
}

/// Its name begins with a dot, as the kubelet's own passing files do, which it overlooks.
const LOCK: &str = ".topolet.lock";

impl Store {
    /// The store in a folder, which must be there.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        Self::on(Disk, root)
    }
}

impl<F: Fs> Store<F> {
    /// The store in a folder of another file system.
    pub fn on(fs: F, root: &Path) -> Result<Self, StoreError> {
        let path = root.join(LOCK);
        let lock = fs.lock(&path).map_err(|error| failed(Doing::Lock, &path, error))?;
        let lock = lock.ok_or_else(|| StoreError::Locked(root.to_path_buf()))?;
        Ok(Self { root: root.to_path_buf(), fs, _lock: lock })
    }

    /// A file's contents; `None` if there is none.
    pub fn read(&self, file: StateFile) -> Result<Option<Vec<u8>>, StoreError> {
        self.read_at(Path::new(file.path()))
    }

    /// The contents of another file below the root.
    pub fn read_at(&self, path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
        read_with(&self.fs, &self.root.join(path))
    }

    /// The names in a folder below the root, in order; none if there is no such folder.
    pub fn list(&self, folder: &Path) -> Result<Vec<OsString>, StoreError> {
        let path = self.root.join(folder);
        match self.fs.list(&path) {
            Ok(mut names) => {
                names.sort();
                Ok(names)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(failed(Doing::Read, &path, error)),
        }
    }

    /// Puts new contents in the place of a file. When this returns they are there to stay.
    pub fn write(&self, file: StateFile, contents: &[u8]) -> Result<(), StoreError> {
        self.write_at(Path::new(file.path()), contents)
    }

    /// Removes a file below the root; one that is not there is removed already. When this returns it is gone for
    /// good.
    pub fn remove_at(&self, path: &Path) -> Result<(), StoreError> {
        let path = self.root.join(path);
        match self.fs.remove(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed(Doing::Remove, &path, error));
            }
            _ => {}
        }
        let folder = path.parent().unwrap_or(&self.root);
        self.fs.sync_folder(folder).map_err(|error| failed(Doing::SyncFolder, folder, error))
    }

    /// Whether a path below the root is a regular file itself: a link is not, whatever it leads to.
    pub fn is_regular_at(&self, path: &Path) -> Result<bool, StoreError> {
        let path = self.root.join(path);
        self.fs.is_regular(&path).map_err(|error| failed(Doing::Read, &path, error))
    }

    /// Puts new contents in the place of another file below the root, whose folder is there.
    pub fn write_at(&self, path: &Path, contents: &[u8]) -> Result<(), StoreError> {
        let path = self.root.join(path);
        if contents.len() > MAX_SIZE {
            return Err(StoreError::TooLarge(path));
        }
        let folder = path.parent().unwrap_or(&self.root);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // The lock is held, so the name is ours; what a crash left under it is replaced.
        let passing = folder.join(std::format!(".{name}.new"));
        let written = self.write_passing(&passing, contents).and_then(|()| {
            self.fs.rename(&passing, &path).map_err(|error| failed(Doing::Rename, &path, error))
        });
        if written.is_err() {
            // Nothing is lost if it stays.
            let _ = self.fs.remove(&passing);
        }
        written?;
        self.fs.sync_folder(folder).map_err(|error| failed(Doing::SyncFolder, folder, error))
    }

    fn write_passing(&self, path: &Path, contents: &[u8]) -> Result<(), StoreError> {
        let mut file = self.fs.create(path).map_err(|error| failed(Doing::Create, path, error))?;
        self.fs.write(&mut file, contents).map_err(|error| failed(Doing::Write, path, error))?;
        self.fs.sync(&mut file).map_err(|error| failed(Doing::Sync, path, error))
    }
}

/// The contents of a file, read without a lock: of a copy, or to look at; `None` if there is none.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    read_with(&Disk, path)
}

fn read_with(fs: &impl Fs, path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match fs.read(path, MAX_SIZE + 1) {
        Ok(contents) if contents.len() > MAX_SIZE => Err(StoreError::TooLarge(path.to_path_buf())),
        Ok(contents) => Ok(Some(contents)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(Doing::Read, path, error)),
    }
}

fn failed(doing: Doing, path: &Path, error: io::Error) -> StoreError {
    StoreError::Io { doing, path: path.to_path_buf(), error }
}
