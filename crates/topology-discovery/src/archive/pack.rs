//! A tree as a `.tar.zst` archive that is the same each time: sorted, without times and owners.

use std::io;

use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use tar::{Builder, EntryType, Header};
use thiserror::Error;

use crate::memory::{Content, MemoryTree};

/// An entry that does not fit an archive: a name too long for it.
#[derive(Debug, Error)]
#[error("failed to pack {path}")]
pub struct PackError {
    /// The entry.
    path: String,
    /// What the packer says.
    #[source]
    error: io::Error,
}

/// The bytes of the archive.
pub(crate) fn pack(tree: &MemoryTree) -> Result<Vec<u8>, PackError> {
    let mut archive = Builder::new(Vec::new());
    tree.visit(&mut |path, content| {
        let added = match content {
            Content::Folder => archive.append_data(
                &mut header(EntryType::Directory, 0o755, 0),
                format!("{path}/"),
                io::empty(),
            ),
            Content::File(bytes) => {
                archive.append_data(&mut header(EntryType::Regular, 0o644, bytes.len() as u64), path, bytes)
            }
            Content::Link(target) => {
                archive.append_link(&mut header(EntryType::Symlink, 0o777, 0), path, target)
            }
        };
        added.map_err(|error| PackError { path: path.to_owned(), error })
    })?;
    let whole = |error| PackError { path: "the end".to_owned(), error };
    let bytes = archive.into_inner().map_err(whole)?;
    Ok(compress_to_vec(&*bytes, CompressionLevel::Fastest))
}

fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}
