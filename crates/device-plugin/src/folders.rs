//! Folders with permissions that do not depend on the process' mask.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

/// Makes a folder, and those above it that are missing. A folder that is there stays as it is. At no moment does the
/// folder have permissions that are not in `mode`; those above it get `mode` less the process' mask.
///
/// # Errors
/// As the operating system has them.
pub fn make_folder(path: &Path, mode: u32) -> io::Result<()> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(mode).create(parent)?;
    }
    make_last(path, mode)
}

/// The same, in a folder that is there.
pub(crate) fn make_last(path: &Path, mode: u32) -> io::Result<()> {
    match DirBuilder::new().mode(mode).create(path) {
        // The mask has taken some away.
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(mode)),
        Err(_) if path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}
