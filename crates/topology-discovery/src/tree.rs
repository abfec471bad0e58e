//! One reader over the live root, any folder, and an archive in memory.
//!
//! Paths are relative to the root of the tree, without a leading `/`. Links are followed inside the tree only: an
//! absolute target starts at the root of the tree, and a link that climbs out of it leads nowhere.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use thiserror::Error;

use crate::archive::{self, ArchiveError};
use crate::directory::Directory;
use crate::memory::MemoryTree;
use crate::path::LinkTarget;
use crate::read_error::ReadError;

/// The files of a machine.
#[derive(Debug)]
pub struct SysfsTree {
    source: Source,
    /// The files that have been read, in order.
    #[cfg(test)]
    reads: parking_lot::Mutex<Vec<String>>,
}

#[derive(Debug)]
enum Source {
    Directory(Directory),
    Memory(MemoryTree),
}

/// Why there is no tree.
#[derive(Debug, Error)]
pub enum TreeError {
    /// The folder cannot be read.
    #[error("failed to read {path}")]
    Open {
        /// The folder.
        path: String,
        /// What the system says.
        #[source]
        error: io::Error,
    },
    /// It is something else than a folder.
    #[error("{0} is not a folder")]
    NotAFolder(String),
    /// The archive is broken, or too large.
    #[error("failed to unpack the archive")]
    Archive(#[from] ArchiveError),
}

impl SysfsTree {
    /// The running machine. Nothing is read yet.
    #[must_use]
    pub fn live() -> Self {
        Source::Directory(Directory::new(Path::new("/"))).into()
    }

    /// A folder that holds `sys` and `proc`.
    pub fn directory(path: impl AsRef<Path>) -> Result<Self, TreeError> {
        let path = path.as_ref();
        let shown = path.display().to_string();
        let metadata = path.metadata().map_err(|error| TreeError::Open { path: shown.clone(), error })?;
        if !metadata.is_dir() {
            return Err(TreeError::NotAFolder(shown));
        }
        Ok(Source::Directory(Directory::new(path)).into())
    }

    /// The bytes of a `.tar.zst` archive that holds `sys` and `proc`; unpacked in memory.
    pub fn archive(bytes: &[u8]) -> Result<Self, TreeError> {
        Ok(archive::unpack(bytes)?.into())
    }

    /// The content of a file; `None` if it is not there.
    pub fn read(&self, path: &str) -> Result<Option<Cow<'_, [u8]>>, ReadError> {
        #[cfg(test)]
        self.reads.lock().push(path.to_owned());
        match &self.source {
            Source::Directory(directory) => Ok(directory.read(path)?.map(Cow::Owned)),
            Source::Memory(memory) => Ok(memory.read(path)?.map(Cow::Borrowed)),
        }
    }

    /// The names in a folder in lexical order; `None` if it is not there, or no folder.
    #[must_use]
    pub fn list(&self, path: &str) -> Option<Vec<String>> {
        match &self.source {
            Source::Directory(directory) => directory.list(path),
            Source::Memory(memory) => memory.list(path),
        }
    }

    /// The path without links that a path leads to; `None` if it leads nowhere inside the tree.
    #[must_use]
    pub fn target(&self, path: &str) -> Option<String> {
        match &self.source {
            Source::Directory(directory) => directory.target(path),
            Source::Memory(memory) => memory.target(path),
        }
    }
}

impl SysfsTree {
    /// Where the link at a path leads to as it is written; links on the way to it are followed.
    pub(crate) fn link(&self, path: &str) -> LinkTarget {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let Some(above) = self.target(above) else { return LinkTarget::Nothing };
        match &self.source {
            Source::Directory(directory) => directory.link(&below(&above, name)),
            Source::Memory(memory) => memory.link(&above, name),
        }
    }
}

/// A name in a folder; the root's path is empty.
fn below(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

impl From<MemoryTree> for SysfsTree {
    fn from(memory: MemoryTree) -> Self {
        Source::Memory(memory).into()
    }
}

impl From<Source> for SysfsTree {
    fn from(source: Source) -> Self {
        Self {
            source,
            #[cfg(test)]
            reads: parking_lot::Mutex::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::SysfsTree;
    use crate::machine::read;

    /// Two answers are made of the files, and some lead to one by several paths.
    #[test]
    fn no_file_is_read_twice_and_none_outside_of_sys_and_proc() {
        for name in ["spr-hbm-flat-snc4-16node", "turin-9755-nps4-l3numa-32node", "epyc-2s-96cpu-16l3-8gpu"] {
            let tree = SysfsTree::archive(machine_fixtures::archive(name).unwrap()).unwrap();
            let machine = read(&tree).unwrap().machine;
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            let reads = tree.reads.lock().clone();
            for path in &reads {
                assert!(path.starts_with("sys/") || path.starts_with("proc/"), "{name}: {path}");
                assert!(!path.split('/').any(|part| part == ".."), "{name}: {path}");
                *counts.entry(tree.target(path).unwrap_or_else(|| path.clone())).or_default() += 1;
            }
            let twice: Vec<_> = counts.iter().filter(|(_, count)| **count > 1).collect();
            assert!(twice.is_empty(), "{name}: {twice:?}");
            let cpus = machine.online().len();
            assert!(reads.len() > 10 * cpus && reads.len() < 60 * cpus, "{name}: {} reads", reads.len());
            println!("{name}: {} files of {cpus} CPUs", reads.len());
        }
    }
}
