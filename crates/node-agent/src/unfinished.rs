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
    /// It cannot be read, and is there yet.
    Damaged(MovesError),
}

/// Completes a change that had been decided. Called before anything else is read.
///
/// # Errors
/// A file cannot be read or written. The next call completes it then.
pub fn complete_moves<F: Fs>(store: &Store<F>) -> Result<Unfinished, StoreError> {
    let Some(found) = store.read_at(Path::new(MOVES))? else { return Ok(Unfinished::Nothing) };
    let change = match moves::read(&found) {
        Ok(change) => change,
        Err(error) => return Ok(Unfinished::Damaged(error)),
    };
    for NewText { file, text } in &change {
        match text {
            Some(text) => store.write_at(&file.path(), text.as_bytes())?,
            None => store.remove_at(&file.path())?,
        }
    }
    store.remove_at(Path::new(MOVES))?;
    let pods = change.into_iter().filter_map(|new| match new.file {
        ChangedFile::Pod(uid) => Some(uid),
        ChangedFile::State(_) => None,
    });
    Ok(Unfinished::Completed(pods.collect()))
}

/// The same, and puts a change aside that cannot be read; what that repaired.
pub(crate) fn complete_or_put_aside<F: Fs>(store: &Store<F>) -> Result<Option<Repair>, StoreError> {
    let Unfinished::Damaged(error) = complete_moves(store)? else { return Ok(None) };
    let file = PathBuf::from(MOVES);
    let removal = FileRepair { path: file.clone(), text: None, old: OldContents::Kept };
    let kept = mend(store, &[removal])?.into_iter().find_map(|replaced| replaced.backup);
    Ok(Some(Repair {
        finding: Finding { file: file.clone(), fault: Fault::UnreadableMoves(Arc::new(error)) },
        assumption: None,
        remedy: Remedy::PutAsideMoves(kept.unwrap_or(file)),
        quarantined: Vec::new(),
    }))
}
