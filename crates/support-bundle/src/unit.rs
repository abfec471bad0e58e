//! Files that are about one node, before it is known which.

use std::path::PathBuf;

use topology_discovery::MemoryTree;

use crate::bundle::{Document, DocumentKind, StateName};
use crate::log::LogRead;

/// What names the files of one node in a bundle.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum UnitKey {
    /// A folder `nodes/NAME`: its path, and the name.
    Node { folder: String, name: String },
    /// A folder with the root of a node.
    Root(String),
    /// Loose files: the number of the path that was given, where that is a folder, and the first folder in it.
    Loose { path: Option<usize>, top: String },
}

/// Files that are about one node.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    pub(crate) documents: Vec<Document>,
    pub(crate) logs: Vec<LogRead>,
    /// A folder with `sys`, as it is shown, and where it is.
    pub(crate) folder: Option<(String, PathBuf)>,
    /// The same in an archive, by its path there.
    pub(crate) trees: Vec<(String, MemoryTree)>,
}

/// Files of which a node has one each.
const SINGLE: [DocumentKind; 4] = [
    DocumentKind::State(StateName::Cpu),
    DocumentKind::State(StateName::Memory),
    DocumentKind::State(StateName::Device),
    DocumentKind::Hostname,
];

impl Unit {
    /// Whether both have what a node has once, so that they are those of two nodes.
    pub(crate) fn excludes(&self, other: &Self) -> bool {
        let has = |unit: &Self, kind| unit.documents.iter().any(|document| document.kind == kind);
        self.has_tree() && other.has_tree() || SINGLE.iter().any(|kind| has(self, *kind) && has(other, *kind))
    }

    fn has_tree(&self) -> bool {
        self.folder.is_some() || !self.trees.is_empty()
    }

    /// Takes the files of another.
    pub(crate) fn join(&mut self, other: Self) {
        let Self { documents, logs, folder, trees } = other;
        self.documents.extend(documents);
        self.logs.extend(logs);
        self.trees.extend(trees);
        self.folder = self.folder.take().or(folder);
    }

    /// What the node calls itself, by its files.
    pub(crate) fn hostname(&self) -> Option<String> {
        let document = self.documents.iter().find(|document| document.kind == DocumentKind::Hostname)?;
        Some(String::from_utf8_lossy(&document.text).trim().to_owned())
    }
}
