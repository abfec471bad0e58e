//! Backups and their names: `NAME.bak-N` beside the file, with numbers that rise from 1.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::string::ToString as _;

use super::{Disk, Doing, Fs, OtherFile, Store, StoreError, failed};

/// The file that a name is a backup of, and the backup's number. Only names that [`Store::next_backup`] gives are
/// backups: `bak-08` and `bak-+8` are not.
#[must_use]
pub fn backup_of(name: &OsStr) -> Option<(&str, u64)> {
    let (file, digits) = name.to_str()?.rsplit_once(".bak-")?;
    let number: u64 = digits.parse().ok()?;
    (number.to_string() == digits).then_some((file, number))
}

impl<F: Fs> Store<F> {
    /// The path below the root for the next backup of a file: its number is above those that are there.
    ///
    /// # Errors
    /// The folder cannot be read, or the highest number is taken.
    pub fn next_backup(&self, path: &Path) -> Result<PathBuf, StoreError> {
        next_backup(path, &self.list(path.parent().unwrap_or(Path::new("")))?)
    }

    /// Renames what is in the place of a file below the root and is not a regular file, so that one can be written.
    /// Returns what it was and its new path below the root, that of the [next backup](Self::next_backup); `None`: a
    /// regular file or nothing is there.
    pub fn put_aside(&self, path: &Path) -> Result<Option<(OtherFile, PathBuf)>, StoreError> {
        let at = self.root.join(path);
        let Some(other) = self.fs.other(&at).map_err(|error| failed(Doing::Read, &at, error))? else {
            return Ok(None);
        };
        let aside = self.next_backup(path)?;
        self.fs.rename(&at, &self.root.join(&aside)).map_err(|error| failed(Doing::Rename, &at, error))?;
        let folder = at.parent().unwrap_or(&self.root);
        self.fs.sync_folder(folder).map_err(|error| failed(Doing::SyncFolder, folder, error))?;
        Ok(Some((other, aside)))
    }
}

/// Renames what is at a path to `NAME.bak-N` beside it, with a number above those that are there, and returns that path. A
/// link is renamed itself. It is for files that no [`Store`] has and one process writes.
///
/// # Errors
/// The folder cannot be read, the highest number is taken, or it cannot be renamed.
pub fn put_aside(path: &Path) -> Result<PathBuf, StoreError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let taken = Disk.list(folder).map_err(|error| failed(Doing::Read, folder, error))?;
    let aside = next_backup(path, &taken)?;
    Disk.rename(path, &aside).map_err(|error| failed(Doing::Rename, path, error))?;
    Ok(aside)
}

fn next_backup(path: &Path, taken: &[OsString]) -> Result<PathBuf, StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = path.parent().unwrap_or(Path::new(""));
    let at = |number: u64| folder.join(std::format!("{name}.bak-{number}"));
    let own = taken.iter().filter_map(|taken| backup_of(taken)).filter(|(file, _)| *file == name);
    let highest = own.map(|(_, number)| number).max().unwrap_or(0);
    let next = highest.checked_add(1).ok_or_else(|| StoreError::HighestBackup(at(highest)))?;
    Ok(at(next))
}
