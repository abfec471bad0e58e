//! A change of several pods that had been decided when the last program stopped: it is completed before anything is read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kubelet_checkpoint::store::{Fs, Store, StoreError};
use node_state::moves::{self, ChangedFile, MOVES, MovesError, NewText};
use node_state::{Fault, FileRepair, Finding, OldContents, Remedy, Repair};
use pod_spec::PodUid;

use crate::backup::mend;

/// What was found of a change that had been decided.
#[derive(Debug)]
pub enum Unfinished {
    /// There is none.
    Nothing,
    /// It is in all files now, of these pods among others.
    Completed(Vec<PodUid>),
    /// The disk does not take all of it. It is there yet, and what is decided next is decided after it.
    NotWritten(NotWritten),
    /// It cannot be read, and is there yet.
    Damaged(MovesError),
}

/// A change that had been decided and cannot be written, such as on a full disk.
#[derive(Debug)]
pub struct NotWritten {
    /// The new texts.
    pub change: Vec<NewText>,
    /// Why not all of them are in their files.
    pub why: StoreError,
}

/// Completes a change that had been decided. Called before anything else is read.
///
/// # Errors
/// The change cannot be read.
pub fn complete_moves<F: Fs>(store: &Store<F>) -> Result<Unfinished, StoreError> {
    let Some(found) = store.read_at(Path::new(MOVES))? else { return Ok(Unfinished::Nothing) };
    let change = match moves::read(&found) {
        Ok(change) => change,
        Err(error) => return Ok(Unfinished::Damaged(error)),
    };
    if let Err(why) = write(store, &change) {
        return Ok(Unfinished::NotWritten(NotWritten { change, why }));
    }
    let pods = change.into_iter().filter_map(|new| match new.file {
        ChangedFile::Pod(uid) => Some(uid),
        ChangedFile::State(_) => None,
    });
    Ok(Unfinished::Completed(pods.collect()))
}

fn write<F: Fs>(store: &Store<F>, change: &[NewText]) -> Result<(), StoreError> {
    for NewText { file, text } in change {
        match text {
            Some(text) => store.write_at(&file.path(), text.as_bytes())?,
            None => store.remove_at(&file.path())?,
        }
    }
    store.remove_at(Path::new(MOVES))
}

/// Puts a change aside that cannot be read; what that repaired.
pub(crate) fn put_aside<F: Fs>(store: &Store<F>, error: MovesError) -> Result<Repair, StoreError> {
    let file = PathBuf::from(MOVES);
    let removal = FileRepair { path: file.clone(), text: None, old: OldContents::Kept };
    let kept = mend(store, &[removal])?.into_iter().find_map(|replaced| replaced.backup);
    Ok(Repair {
        finding: Finding { file: file.clone(), fault: Fault::UnreadableMoves(Arc::new(error)) },
        assumption: None,
        remedy: Remedy::PutAsideMoves(kept.unwrap_or(file)),
        quarantined: Vec::new(),
    })
}
