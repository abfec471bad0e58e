//! What a store asks of a file system, so that a test can be one that fails.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::vec::Vec;

use super::regular::{OtherFile, open_lock, open_regular};

/// The operations of a store.
pub trait Fs {
    /// An open file.
    type File;
    /// A lock that ends when it is dropped.
    type Lock;

    /// A new, empty file in the place of whatever is there, with permissions [`MODE`](crate::MODE).
    fn create(&self, path: &Path) -> io::Result<Self::File>;
    /// Appends all of it.
    fn write(&self, file: &mut Self::File, contents: &[u8]) -> io::Result<()>;
    /// Returns when what was written is durable.
    fn sync(&self, file: &mut Self::File) -> io::Result<()>;
    /// Gives a file another name, in the place of whatever has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Returns when names given and taken in a folder are durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// At most so many bytes of a regular file. It never waits, whatever is there.
    fn read(&self, path: &Path, at_most: usize) -> io::Result<Vec<u8>>;
    /// What is there, if it is not a regular file. A link counts as what it leads to.
    fn other(&self, path: &Path) -> io::Result<Option<OtherFile>>;
    /// Whether a name is that of a regular file. A link is not followed.
    fn is_regular(&self, path: &Path) -> io::Result<bool>;
    /// The names in a folder, in any order.
    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>>;
    /// Locks a file, which is created if missing; `None` if it is locked already.
    fn lock(&self, path: &Path) -> io::Result<Option<Self::Lock>>;
}

/// The operating system's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Fs for Disk {
    type File = File;
    type Lock = File;

    fn create(&self, path: &Path) -> io::Result<File> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, crate::MODE);
        options.open(path)
    }

    fn write(&self, file: &mut File, contents: &[u8]) -> io::Result<()> {
        file.write_all(contents)
    }

    fn sync(&self, file: &mut File) -> io::Result<()> {
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn read(&self, path: &Path, at_most: usize) -> io::Result<Vec<u8>> {
        let mut contents = Vec::new();
        open_regular(path)?.take(at_most as u64).read_to_end(&mut contents)?;
        Ok(contents)
    }

    fn other(&self, path: &Path) -> io::Result<Option<OtherFile>> {
        match fs::metadata(path) {
            Ok(about) => Ok(OtherFile::of(&about)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn is_regular(&self, path: &Path) -> io::Result<bool> {
        Ok(fs::symlink_metadata(path)?.is_file())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect()
    }

    fn lock(&self, path: &Path) -> io::Result<Option<File>> {
        let file = open_lock(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}
