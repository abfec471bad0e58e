//! Files and paths as Go's library reads and names them.

use std::io;

use thiserror::Error;

use crate::path::{LinkTarget, components};
use crate::read_error::ReadError;
use crate::tree::SysfsTree;

/// Why a file or link cannot be read, with the words of Linux and the path from sysfs's folder.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum FileFault {
    /// The link is not there.
    #[error("no such file or directory")]
    Missing,
    /// A link is wanted, and it is something else.
    #[error("invalid argument")]
    NotALink,
    /// The file is not there.
    #[error("open {0}: no such file or directory")]
    NoFile(String),
    /// It is a folder, or something else that holds no text.
    #[error("read {0}: is a directory")]
    NotAFile(String),
    /// The system does not allow it.
    #[error("open {0}: permission denied")]
    Denied(String),
    /// It is larger than any file that is read here, or the system fails.
    #[error("read {path}: {reason}")]
    Failed {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
}

/// The folder of a tree in which sysfs lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sysfs<'t> {
    pub(super) tree: &'t SysfsTree,
    pub(super) root: &'t str,
}

impl Sysfs<'_> {
    /// The content of a file without blanks around it; bytes that are no text are replaced.
    pub(super) fn text(&self, path: &str) -> Result<String, FileFault> {
        match self.tree.read(&self.path(path)) {
            Ok(Some(bytes)) => Ok(String::from_utf8_lossy(&bytes).trim().to_owned()),
            Ok(None) => Err(FileFault::NoFile(path.to_owned())),
            Err(error) => Err(fault(path.to_owned(), &error)),
        }
    }

    /// The names in a folder in lexical order; none if it is not there.
    pub(super) fn list(&self, path: &str) -> Vec<String> {
        self.tree.list(&self.path(path)).unwrap_or_default()
    }

    /// Where a link leads to.
    pub(super) fn link(&self, path: &str) -> LinkTarget {
        self.tree.link(&self.path(path))
    }

    fn path(&self, path: &str) -> String {
        format!("{}/{path}", self.root)
    }
}

fn fault(path: String, error: &ReadError) -> FileFault {
    match error {
        ReadError::NotAFile(_) => FileFault::NotAFile(path),
        ReadError::TooLarge(_) => FileFault::Failed { path, reason: "file too large".to_owned() },
        ReadError::Io { error, .. } if error.kind() == io::ErrorKind::PermissionDenied => {
            FileFault::Denied(path)
        }
        ReadError::Io { error, .. } => FileFault::Failed { path, reason: error.to_string() },
    }
}

/// A relative path with its `..` taken out as far as there are names before them.
pub(super) fn cleaned(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in components(path) {
        if name == ".." && names.last().is_some_and(|last| *last != "..") {
            names.pop();
        } else {
            names.push(name);
        }
    }
    if names.is_empty() { ".".to_owned() } else { names.join("/") }
}

/// The last name of a path.
pub(super) fn base(path: &str) -> &str {
    components(path).next_back().unwrap_or_default()
}
