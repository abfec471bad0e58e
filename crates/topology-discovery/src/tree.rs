//! One reader over the live root, any folder, and an archive in memory.
//!
//! Paths are relative to the root of the tree, without a leading `/`. Links are followed inside the tree only: an
//! absolute target starts at the root of the tree, and a link that climbs out of it leads nowhere.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use thiserror::Error;

use crate::archive::{self, ArchiveError, ArchiveNames};
use crate::directory::Directory;
use crate::memory::MemoryTree;
use crate::path::{CPUS, LinkTarget, MAX_ABOVE};
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
    /// The archive has no machine.
    #[error(
        "no machine is in the archive: {CPUS} is neither at its top nor up to {MAX_ABOVE} folders below; at its top are {}",
        listed(&.0.top)
    )]
    NoMachine(ArchiveNames),
    /// Several machines are there, in these folders.
    #[error("{} machines are in it, in {}: expected one of these folders", .0.len(), listed(.0))]
    ManyMachines(Vec<String>),
}

/// The most names that are looked at to find a machine, and that are shown.
const MAX_NAMES: usize = 20_000;
const MAX_SHOWN: usize = 5;

fn listed(names: &[String]) -> String {
    let more = if names.len() > MAX_SHOWN { ", …" } else { "" };
    format!("{}{more}", names.get(..MAX_SHOWN).unwrap_or(names).join(", "))
}

impl SysfsTree {
    /// The running machine. Nothing is read yet.
    #[must_use]
    pub fn live() -> Self {
        Source::Directory(Directory::new(Path::new("/"))).into()
    }

    /// A folder that holds `sys` and `proc`, or has one that does at most three folders below.
    pub fn directory(path: impl AsRef<Path>) -> Result<Self, TreeError> {
        let path = path.as_ref();
        let shown = path.display().to_string();
        let metadata = path.metadata().map_err(|error| TreeError::Open { path: shown.clone(), error })?;
        if !metadata.is_dir() {
            return Err(TreeError::NotAFolder(shown));
        }
        let tree = Self::from(Source::Directory(Directory::new(path)));
        let folder = tree.machine_folder()?.unwrap_or_default();
        Ok(tree.below(&folder))
    }

    /// The bytes of an archive that holds `sys` and `proc`, in at most three folders: tar, packed by zstd, gzip, xz, bzip2 or
    /// not at all, or zip. Unpacked in memory; only what lies in folders called `sys`, `proc` and `node` is kept.
    pub fn archive(bytes: &[u8]) -> Result<Self, TreeError> {
        let (files, names) = archive::unpack(bytes)?;
        let tree = Self::from(files);
        let folder = tree.machine_folder()?.ok_or(TreeError::NoMachine(names))?;
        Ok(tree.below(&folder))
    }

    /// The folder that holds `sys` and `proc`; `None`: the files are in memory.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        match &self.source {
            Source::Directory(directory) => Some(directory.root()),
            Source::Memory(_) => None,
        }
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

impl SysfsTree {
    /// The driver of the device in a folder, by its link, which may lead to what was not recorded.
    pub(crate) fn driver(&self, device: &str) -> Option<String> {
        let LinkTarget::Link(target) = self.link(&format!("{device}/driver")) else { return None };
        let (above, name) = target.rsplit_once('/')?;
        (above.ends_with("/drivers") && !name.is_empty()).then(|| name.to_owned())
    }
}

impl SysfsTree {
    /// The folder on the way to another, or that itself, which may not be looked into; empty for the top. `None`: each may.
    pub(crate) fn denied(&self, path: &str) -> Option<String> {
        let Source::Directory(directory) = &self.source else { return None };
        let root = directory.root();
        let is_denied = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        let mut above = "";
        for way in ends.filter_map(|end| path.get(..end)) {
            if root.join(way).symlink_metadata().is_err_and(is_denied) {
                return Some(above.to_owned());
            }
            above = way;
        }
        std::fs::read_dir(root.join(path)).is_err_and(is_denied).then(|| path.to_owned())
    }
}

impl SysfsTree {
    /// The one folder in which a machine lies; empty if that is the top, below which no other is looked for. Links are not
    /// followed.
    fn machine_folder(&self) -> Result<Option<String>, TreeError> {
        let mut found = Vec::new();
        let mut left = MAX_NAMES;
        let mut folders = vec![String::new()];
        for above in 0..=MAX_ABOVE {
            let mut next = Vec::new();
            for folder in folders {
                if self.target(&below(&folder, CPUS)).is_some() {
                    found.push(folder);
                } else if above < MAX_ABOVE {
                    let names = self.list(&folder).unwrap_or_default();
                    next.extend(names.iter().take(left).map(|name| below(&folder, name)));
                    left = left.saturating_sub(names.len());
                }
            }
            next.retain(|path| self.link(path) == LinkTarget::NotALink);
            folders = next;
        }
        if found.len() > 1 { Err(TreeError::ManyMachines(found)) } else { Ok(found.pop()) }
    }

    /// The tree below a folder, whose path has no links.
    fn below(self, folder: &str) -> Self {
        if folder.is_empty() {
            return self;
        }
        match self.source {
            Source::Directory(directory) => {
                Source::Directory(Directory::new(&directory.root().join(folder))).into()
            }
            Source::Memory(memory) => memory.below(folder).into(),
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
