//! Files are put in order, and what was there is kept beside them.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use kubelet_checkpoint::store::{Fs, StateFile, Store, StoreError, backup_of};

use node_state::{FileRepair, OldContents, PODS};

/// How many old contents of one file are kept; the newest stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeptBackups(pub NonZeroUsize);

impl Default for KeptBackups {
    /// Five backups of each file.
    fn default() -> Self {
        Self(NonZeroUsize::MIN.saturating_add(4))
    }
}

/// A file that was put in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplacedFile {
    /// Its path below the root.
    pub path: PathBuf,
    /// Where its old contents are now, below the root; `None`: there were none, or they are not needed.
    pub backup: Option<PathBuf>,
}

/// Puts files in order. The old contents of each are safe beside it, as `NAME.bak-N` with a number above those that
/// are there, before it is touched.
///
/// # Errors
/// A file cannot be read or written. What was done before stays, and the rest is found again at the next start.
pub fn mend<F: Fs>(store: &Store<F>, mended: &[FileRepair]) -> Result<Vec<ReplacedFile>, StoreError> {
    mended.iter().map(|mended| mend_one(store, mended)).collect()
}

/// Removes the oldest backups of each file. Only regular files are removed: directories, pipes, sockets and links that
/// were renamed stay. Returns the failures, which harm nothing: the backups stay, and are tried again with the next
/// repair.
#[must_use]
pub fn prune<F: Fs>(store: &Store<F>, keep: KeptBackups) -> Vec<StoreError> {
    let folders = StateFile::ALL.map(|file| folder_of(Path::new(file.path())));
    let folders: BTreeSet<PathBuf> = folders.into_iter().chain([PathBuf::from(PODS)]).collect();
    let mut failures = Vec::new();
    for folder in folders {
        match surplus(store, &folder, keep) {
            Ok(surplus) => failures.extend(surplus.iter().filter_map(|path| store.remove_at(path).err())),
            Err(error) => failures.push(error),
        }
    }
    failures
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).to_path_buf()
}

fn mend_one<F: Fs>(
    store: &Store<F>,
    FileRepair { path, text, old }: &FileRepair,
) -> Result<ReplacedFile, StoreError> {
    let before = store.read_at(path)?.filter(|_| *old == OldContents::Kept);
    let backup = match &before {
        Some(before) => {
            let backup = store.next_backup(path)?;
            store.write_at(&backup, before)?;
            Some(backup)
        }
        None => None,
    };
    match text {
        Some(text) => store.write_at(path, text.as_bytes())?,
        None => store.remove_at(path)?,
    }
    Ok(ReplacedFile { path: path.clone(), backup })
}

/// The oldest backups, beyond `keep` of each file, of the files in a folder that topolet writes.
fn surplus<F: Fs>(store: &Store<F>, folder: &Path, keep: KeptBackups) -> Result<Vec<PathBuf>, StoreError> {
    let is_own = |file: &str| {
        let path = folder.join(file);
        folder == Path::new(PODS) || StateFile::ALL.iter().any(|own| Path::new(own.path()) == path)
    };
    let mut backups: BTreeMap<String, BTreeMap<u64, PathBuf>> = BTreeMap::new();
    for name in store.list(folder)? {
        let path = folder.join(&name);
        if let Some((file, number)) = backup_of(&name)
            && is_own(file)
            && store.is_regular_at(&path)?
        {
            backups.entry(file.to_owned()).or_default().insert(number, path);
        }
    }
    let oldest = |of_file: BTreeMap<u64, PathBuf>| of_file.into_values().rev().skip(keep.0.get());
    Ok(backups.into_values().flat_map(oldest).collect())
}
