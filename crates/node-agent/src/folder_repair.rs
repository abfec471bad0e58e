//! A repair of a folder that no program serves, written: who is quarantined is on disk before the first file is touched.

use std::path::Path;

use kubelet_checkpoint::store::{Fs, Store, StoreError};
use node_state::{FolderRepair, QUARANTINE, Quarantine};
use thiserror::Error;

use crate::backup::{KeptBackups, ReplacedFile, mend, prune};

/// Why a repair is not on disk, or not all of it.
#[derive(Debug, Error)]
pub enum RepairError {
    /// The quarantined pods cannot be written as JSON.
    #[error("failed to write down who is quarantined")]
    Quarantine(#[source] serde_json::Error),
    /// A file cannot be read or written. What was done before stays.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Puts the file of quarantined pods beside the state files. If it says nothing, there is no file.
///
/// # Errors
/// It cannot be written.
pub fn write_quarantine<F: Fs>(store: &Store<F>, quarantine: &Quarantine) -> Result<(), RepairError> {
    match quarantine.text().map_err(RepairError::Quarantine)? {
        None => Ok(store.remove_at(Path::new(QUARANTINE))?),
        Some(text) => Ok(store.write_at(Path::new(QUARANTINE), text.as_bytes())?),
    }
}

/// Writes a repair, and removes the oldest backups of each file beyond `keep`; `not_removed` is called with each of these
/// that stays. The pods that it quarantines get the paths of the new backups. Returns the files in the order of `repair`.
///
/// The quarantined pods are written first, without the backups that there will be: after a stop in between they are
/// quarantined, and what is not mended yet is found again.
///
/// # Errors
/// A file cannot be read or written.
pub fn write_repair<F: Fs>(
    store: &Store<F>,
    repair: &mut FolderRepair,
    keep: KeptBackups,
    not_removed: impl FnMut(StoreError),
) -> Result<Vec<ReplacedFile>, RepairError> {
    write_quarantine(store, &repair.all_quarantined())?;
    let replaced = mend(store, &repair.files)?;
    prune(store, keep).into_iter().for_each(not_removed);
    let backups = replaced.iter().filter_map(|file| file.backup.as_deref()).map(Path::display);
    let backups: Vec<String> = backups.map(|path| path.to_string()).collect();
    for quarantined in repair.quarantine.pods.values_mut() {
        quarantined.backups.clone_from(&backups);
    }
    write_quarantine(store, &repair.all_quarantined())?;
    Ok(replaced)
}
