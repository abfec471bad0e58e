//! Files are put in order, and what was there is kept beside them.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use kubelet_checkpoint::store::{Fs, StateFile, Store, StoreError};

use super::Mended;
use crate::effect::PODS;

/// How many old contents of one file are kept; the newest stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeptBackups(pub NonZeroUsize);

impl Default for KeptBackups {
    /// Five.
    fn default() -> Self {
        Self(NonZeroUsize::MIN.saturating_add(4))
    }
}

/// What becomes of the old contents of a file that is put in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Old {
    /// They are kept beside it: nothing else may have what is in them.
    Kept,
    /// They go: a change that was cut short is completed, and all of them are in other files.
    Dropped,
}

/// A file that was put in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept {
    /// Its path below the root.
    pub path: PathBuf,
    /// Where its old contents are now, below the root; `None`: there were none, or nobody needs them.
    pub backup: Option<PathBuf>,
}

/// Puts files in order. The old contents of each are safe beside it, as `NAME.bak-N` with a number above those that
/// are there, before it is touched. Of each file's backups the newest are kept.
///
/// # Errors
/// A file cannot be read or written. What was done before stays, and the rest is found again at the next start.
pub fn mend<F: Fs>(store: &Store<F>, mended: &[Mended], keep: KeptBackups) -> Result<Vec<Kept>, StoreError> {
    let kept = mended.iter().map(|mended| mend_one(store, mended)).collect::<Result<Vec<Kept>, _>>()?;
    let folders = StateFile::ALL.map(|file| folder_of(Path::new(file.path())));
    let folders: BTreeSet<PathBuf> = folders.into_iter().chain([PathBuf::from(PODS)]).collect();
    for folder in folders {
        prune(store, &folder, keep)?;
    }
    Ok(kept)
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).to_path_buf()
}

fn mend_one<F: Fs>(store: &Store<F>, Mended { path, text, old }: &Mended) -> Result<Kept, StoreError> {
    let before = store.read_at(path)?.filter(|_| *old == Old::Kept);
    let backup = match &before {
        Some(before) => {
            let backup = next(store, path)?;
            store.write_at(&backup, before)?;
            Some(backup)
        }
        None => None,
    };
    match text {
        Some(text) => store.write_at(path, text.as_bytes())?,
        None => store.remove_at(path)?,
    }
    Ok(Kept { path: path.clone(), backup })
}

/// The file that a name is a backup of, and which.
fn parsed(name: &str) -> Option<(&str, u64)> {
    let (file, number) = name.rsplit_once(".bak-")?;
    Some((file, number.parse().ok()?))
}

/// The name beside a file for its next backup.
fn next<F: Fs>(store: &Store<F>, path: &Path) -> Result<PathBuf, StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = folder_of(path);
    let taken = store.list(&folder)?;
    let numbers = taken.iter().filter_map(|taken| {
        let (file, number) = parsed(taken.to_str()?)?;
        (file == name).then_some(number)
    });
    let next = numbers.max().unwrap_or(0).saturating_add(1);
    Ok(folder.join(format!("{name}.bak-{next}")))
}

/// Removes the oldest backups of the files in a folder that topolet writes.
fn prune<F: Fs>(store: &Store<F>, folder: &Path, keep: KeptBackups) -> Result<(), StoreError> {
    let is_own = |file: &str| {
        let path = folder.join(file);
        folder == Path::new(PODS) || StateFile::ALL.iter().any(|own| Path::new(own.path()) == path)
    };
    let mut names: Vec<(String, u64)> = Vec::new();
    for name in store.list(folder)? {
        if let Some((file, number)) = name.to_str().and_then(parsed)
            && is_own(file)
        {
            names.push((file.to_owned(), number));
        }
    }
    // By file, the newest first.
    names.sort_by(|(file, number), (other, later)| file.cmp(other).then(later.cmp(number)));
    let mut of_file = 0;
    for (at, (file, number)) in names.iter().enumerate() {
        let is_same = at > 0 && names.get(at - 1).is_some_and(|(before, _)| before == file);
        of_file = if is_same { of_file + 1 } else { 1 };
        if of_file > keep.0.get() {
            store.remove_at(&folder.join(format!("{file}.bak-{number}")))?;
        }
    }
    Ok(())
}
