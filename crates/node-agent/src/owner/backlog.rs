//! What the disk did not take: changes and pods that are tried again with the next timer, and files that may not be what
//! they should be.

use std::collections::BTreeSet;

use super::change::Change;
use super::pending::PendingPod;
use crate::effect::{FileName, Write};

/// Everything that is left for later.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    changes: Vec<Change>,
    pods: Vec<PendingPod>,
    files: BTreeSet<FileName>,
    left: Option<LeftChange>,
    why: String,
}

/// A change that is not in all its files: of several pods, which a start may find yet, or of one that the start found cut
/// short.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LeftChange {
    /// It was made, and some of its files are behind. They are written before anything else.
    Made,
    /// It was not made, and has to be gone before anything else is written.
    NotMade,
}

/// Something that is tried again.
#[derive(Debug)]
pub(super) enum Deferred {
    /// A change of a pod of the folder.
    Change(Change),
    /// A pod of the folder that is decided on again.
    Pod(PendingPod),
}

impl Backlog {
    /// Why files are behind; `None`: they are not.
    pub(super) fn why(&self) -> Option<&str> {
        (!self.files.is_empty() || self.left.is_some()).then_some(self.why.as_str())
    }

    /// Files that may not be what they should be.
    pub(super) fn files(&self) -> impl Iterator<Item = &FileName> {
        self.files.iter()
    }

    /// The change that is not in all its files.
    pub(super) const fn left(&self) -> Option<LeftChange> {
        self.left
    }

    /// Sets what is left of a change; `None`: every change is in its files or was not begun.
    pub(super) const fn leave(&mut self, left: Option<LeftChange>) {
        self.left = left;
    }

    /// These files are behind, because of `why`.
    pub(super) fn add_files(&mut self, files: impl IntoIterator<Item = FileName>, why: &str) {
        self.files.extend(files.into_iter().filter(|file| *file != FileName::Moves));
        why.clone_into(&mut self.why);
    }

    /// These files are safe.
    pub(super) fn remove_files(&mut self, writes: &[Write]) {
        for write in writes {
            self.files.remove(&write.file);
        }
    }

    pub(super) fn defer(&mut self, deferred: Deferred) {
        match deferred {
            Deferred::Change(change) => self.changes.push(change),
            Deferred::Pod(waiting) => self.pods.push(waiting),
        }
    }

    /// The pods that are decided on again.
    pub(super) fn pods(&self) -> impl Iterator<Item = &PendingPod> {
        self.pods.iter()
    }

    /// Keeps the pods for which `keeps` holds.
    pub(super) fn retain_pods(&mut self, keeps: impl FnMut(&mut PendingPod) -> bool) {
        self.pods.retain_mut(keeps);
    }

    /// What is tried again now.
    pub(super) fn take(&mut self) -> (Vec<Change>, Vec<PendingPod>) {
        (std::mem::take(&mut self.changes), std::mem::take(&mut self.pods))
    }
}
