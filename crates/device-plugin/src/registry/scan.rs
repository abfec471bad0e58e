//! The sockets in a folder and in those below it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// How deep folders are read.
const DEPTH: usize = 8;
/// How many sockets are looked at.
const SOCKETS: usize = 1024;

/// Whether a socket is still the one that it was: one that has been made again at the same path is another plugin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
    changed: (i64, i64),
}

/// The sockets whose names do not begin with a dot. What cannot be read is not there.
pub(super) fn sockets(folder: &Path) -> BTreeMap<PathBuf, Identity> {
    let mut found = BTreeMap::new();
    collect(folder, DEPTH, &mut found);
    found
}

fn collect(folder: &Path, depth: usize, found: &mut BTreeMap<PathBuf, Identity>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if found.len() >= SOCKETS {
            return;
        }
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() && depth > 0 {
            collect(&entry.path(), depth - 1, found);
        } else if metadata.file_type().is_socket() && !entry.file_name().as_encoded_bytes().starts_with(b".")
        {
            let identity = Identity {
                device: metadata.dev(),
                inode: metadata.ino(),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
            };
            found.insert(entry.path(), identity);
        }
    }
}
