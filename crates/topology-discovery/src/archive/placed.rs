//! What is kept of an archive: the files of a machine, within bounds, and a few names of what else lies there.

use super::limits::{ArchiveError, MAX_CONTENT, MAX_DEPTH, MAX_ENTRIES, MAX_FILE, MAX_NAME};
use crate::memory::MemoryTree;
use crate::path::{MAX_ABOVE, components};

/// The folders of a machine, and that of a node file. Bundles hold gigabytes of logs beside them.
const KEPT: [&str; 3] = ["sys", "proc", "node"];
/// The most names that are kept of what else is in an archive.
const MAX_SHOWN: usize = 6;
/// How names of archives end.
const ARCHIVES: [&str; 8] = [".tar", ".tgz", ".tar.gz", ".txz", ".tar.xz", ".tar.bz2", ".tar.zst", ".zip"];

/// The first names of what an archive has.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ArchiveNames {
    /// Files and folders at its top.
    pub top: Vec<String>,
    /// Archives in it, by their paths.
    pub archives: Vec<String>,
}

/// An archive as far as it has been read.
#[derive(Default)]
pub(super) struct Placed {
    pub(super) tree: MemoryTree,
    pub(super) names: ArchiveNames,
    /// Entries read, with those that are passed over.
    pub(super) entries: usize,
    /// The last folder whose name is right, and whether what is below it is kept.
    folder: String,
    is_kept: bool,
    /// Names take memory too; those that only lead to others count once.
    names_len: usize,
}

impl Placed {
    /// Takes up an entry; whether its content is to be kept.
    pub(super) fn entry(&mut self, path: &str) -> Result<bool, ArchiveError> {
        self.entries += 1;
        if self.entries.max(self.tree.len()) > MAX_ENTRIES {
            return Err(ArchiveError::TooManyEntries);
        }
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        // Most files lie in the same folder as the one before.
        if above != self.folder {
            if components(above).count() > MAX_DEPTH {
                return Err(ArchiveError::NameTooLong);
            }
            if components(above).any(|name| name == "..") {
                return Err(ArchiveError::Name(path.to_owned()));
            }
            above.clone_into(&mut self.folder);
            self.is_kept = is_kept(above);
            note(&mut self.names.top, components(path).next());
        } else if above.is_empty() {
            note(&mut self.names.top, components(path).next());
        }
        if name == ".." {
            return Err(ArchiveError::Name(path.to_owned()));
        }
        if self.is_kept || is_kept(path) {
            self.room(path.len())?;
            self.names_len += path.len();
            return Ok(true);
        }
        if ARCHIVES.iter().any(|end| name.ends_with(end)) {
            note(&mut self.names.archives, Some(path));
        }
        Ok(false)
    }

    /// Whether a file of this size may be read.
    pub(super) fn file_fits(&self, path: &str, size: u64) -> Result<(), ArchiveError> {
        if size > MAX_FILE {
            return Err(ArchiveError::FileTooLarge { path: path.to_owned(), size });
        }
        self.room(usize::try_from(size).unwrap_or(usize::MAX))
    }

    pub(super) fn add_link(&mut self, path: &str, target: &str) -> Result<(), ArchiveError> {
        if target.len() as u64 > MAX_NAME {
            return Err(ArchiveError::NameTooLong);
        }
        self.room(target.len())?;
        self.names_len += target.len();
        self.tree.add_link(path, target);
        Ok(())
    }

    fn room(&self, more: usize) -> Result<(), ArchiveError> {
        let all = self.tree.content_len() + self.names_len;
        if all.saturating_add(more) > MAX_CONTENT { Err(ArchiveError::TooLarge) } else { Ok(()) }
    }
}

/// Whether a path is one of a machine or a node file, which lies in at most so many folders.
fn is_kept(path: &str) -> bool {
    components(path).take(MAX_ABOVE + 1).any(|name| KEPT.contains(&name))
}

fn note(names: &mut Vec<String>, name: Option<&str>) {
    let Some(name) = name else { return };
    if names.len() < MAX_SHOWN && !names.iter().any(|own| own == name) {
        names.push(name.to_owned());
    }
}
