//! Files are put in order, and what was there is kept beside them.

use std::path::{Path, PathBuf};

use kubelet_checkpoint::store::{Fs, Store, StoreError};

use super::Mended;

/// A file that was put in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept {
    /// Its path below the root.
    pub path: PathBuf,
    /// Where its old contents are now, below the root; `None`: there were none.
    pub backup: Option<PathBuf>,
}

/// Puts files in order. The old contents of each are safe beside it, as `NAME.bak-1` or with the first number that is
/// free, before it is touched.
///
/// # Errors
/// A file cannot be read or written. What was done before stays, and the rest is found again at the next start.
pub fn mend<F: Fs>(store: &Store<F>, mended: &[Mended]) -> Result<Vec<Kept>, StoreError> {
    mended.iter().map(|mended| mend_one(store, mended)).collect()
}

fn mend_one<F: Fs>(store: &Store<F>, Mended { path, text }: &Mended) -> Result<Kept, StoreError> {
    let before = store.read_at(path)?;
    let backup = match &before {
        Some(before) => {
            let backup = free(store, path)?;
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

/// A name beside a file that nothing has.
fn free<F: Fs>(store: &Store<F>, path: &Path) -> Result<PathBuf, StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = path.parent().unwrap_or(Path::new(""));
    let taken = store.list(folder)?;
    let names = (1_u32..).map(|number| format!("{name}.bak-{number}"));
    let free = names.into_iter().find(|name| !taken.iter().any(|taken| *taken == **name));
    Ok(folder.join(free.unwrap_or_default()))
}
