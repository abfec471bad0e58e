//! Archives, unpacked in memory within bounds: tar, packed by zstd, gzip, xz, bzip2 or not at all, and zip. Which of them one
//! is, its first bytes say.
//!
//! Everything is bounded before it is kept, so a small archive that unpacks to a large one costs a clear error: the
//! number of entries, the size of one file and of all, the length of a name, the unpacked stream, and the window of
//! the packer. What does not lie in folders of a machine is passed over.

mod bounded;
mod limits;
mod pack;
mod placed;
mod tar_entries;
#[cfg(feature = "archives")]
mod zip_entries;
#[cfg(not(feature = "archives"))]
#[path = "archive/no_zip_entries.rs"]
mod zip_entries;

use bounded::{failed, stream};

use crate::entries::{Packer, is_tar};
use crate::memory::MemoryTree;

pub use limits::ArchiveError;
pub(crate) use limits::MAX_CONTENT;
pub use pack::PackError;
pub(crate) use pack::pack;
pub use placed::ArchiveNames;

/// Whether a file that begins with these bytes is an archive that can be read, or a damaged one. 512 bytes are enough to tell.
#[must_use]
pub fn is_archive(start: &[u8]) -> bool {
    Packer::of(start).is_some() || is_zip(start) || is_tar(start)
}

/// What the first entry of a zip archive begins with, and the end of one without entries.
const ZIP: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

fn is_zip(bytes: &[u8]) -> bool {
    ZIP.iter().any(|magic| bytes.starts_with(magic))
}

/// Unpacks the files of machines, and names what else is there.
pub(crate) fn unpack(bytes: &[u8]) -> Result<(MemoryTree, ArchiveNames), ArchiveError> {
    let placed = if let Some(packer) = Packer::of(bytes) {
        let read = tar_entries::read(stream(packer, bytes)?).map_err(|error| failed(packer, error))?;
        read.ok_or(ArchiveError::NotTar { packer: packer.name() })?
    } else if is_zip(bytes) {
        zip_entries::read(bytes)?
    } else if is_tar(bytes) {
        tar_entries::read(bytes)?.ok_or(ArchiveError::OtherForm)?
    } else if bytes.is_empty() {
        return Err(ArchiveError::Empty);
    } else {
        return Err(ArchiveError::OtherForm);
    };
    if placed.tree.len() <= 1 && placed.names.top.is_empty() {
        return Err(ArchiveError::Empty);
    }
    Ok((placed.tree, placed.names))
}
