//! Directories, pipes, sockets and devices in the place of files. They are renamed, never read and never removed.

use std::path::{Path, PathBuf};

use kubelet_checkpoint::store::{Fs, NotRegular, StateFile, Store, StoreError};
use node_state::moves::MOVES;
use node_state::{Fault, Finding, PODS, Remedy, Repair, StateFolder, is_pod_file};

use crate::unfinished::{NotWritten, Unfinished, complete_moves, put_aside};

/// A folder as it was found.
#[derive(Debug)]
pub struct FoundFolder {
    /// The files; with the change that is not written.
    pub folder: StateFolder,
    /// What was repaired for that.
    pub repairs: Vec<Repair>,
    /// A change of several pods that had been decided and cannot be written: [`Owner::behind`](crate::Owner::behind) writes it
    /// when it can.
    pub behind: Option<NotWritten>,
}

/// Reads a node's folder, whatever is in it. What is in the place of a file and is not a regular file is renamed first.
/// It counts as an empty file, which [`StateFolder::plan_repair`] takes for a corrupt one: its contents are unknown. A
/// change of several pods that had been decided is completed, or, if it cannot be read, put aside.
///
/// # Errors
/// A file cannot be read, or something cannot be renamed.
pub fn read_anything<F: Fs>(store: &Store<F>) -> Result<FoundFolder, StoreError> {
    let pods = store.list(Path::new(PODS))?.into_iter().map(|name| Path::new(PODS).join(name));
    let pods: Vec<PathBuf> = pods.filter(|path| is_pod_file(path)).collect();
    let mut aside = Vec::new();
    let own = StateFile::ALL.iter().map(|file| file.path()).chain([MOVES]);
    for path in own.map(PathBuf::from).chain(pods) {
        if let Some((other, backup)) = store.put_aside(&path)? {
            aside.push(Repair {
                finding: Finding { file: path, fault: Fault::NotRegular(NotRegular(other)) },
                assumption: None,
                remedy: Remedy::RenamedTo(backup),
                quarantined: Vec::new(),
            });
        }
    }
    let (unreadable, behind) = match complete_moves(store)? {
        Unfinished::Nothing | Unfinished::Completed(_) => (None, None),
        Unfinished::NotWritten(left) => (None, Some(left)),
        Unfinished::Damaged(error) => (Some(put_aside(store, error)?), None),
    };
    let mut found = StateFolder::read(store)?;
    for Repair { finding: Finding { file, .. }, .. } in &aside {
        match StateFile::ALL.into_iter().find(|state| Path::new(state.path()) == file) {
            Some(StateFile::Cpu) => found.cpu = Some(Vec::new()),
            Some(StateFile::Memory) => found.memory = Some(Vec::new()),
            Some(StateFile::Device) => found.device = Some(Vec::new()),
            None if Path::new(MOVES) == file => {}
            None => found.pods.push((file.clone(), Vec::new())),
        }
    }
    found.pods.sort();
    aside.extend(unreadable);
    let folder = match &behind {
        Some(NotWritten { change, .. }) => found.changed(change.clone()),
        None => found,
    };
    Ok(FoundFolder { folder, repairs: aside, behind })
}
