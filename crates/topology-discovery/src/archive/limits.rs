//! What an archive may have, and what is wrong with one.

use std::io;

use thiserror::Error;

/// Sizes past which an archive is refused. The largest machine known unpacks to an eighth of each.
pub(super) const MAX_ENTRIES: usize = 1_000_000;
pub(super) const MAX_FILE: u64 = 32 << 20;
pub(crate) const MAX_CONTENT: usize = 64 << 20;
pub(super) const MAX_STREAM: u64 = 512 << 20;
pub(super) const MAX_NAME: u64 = 4096;
pub(super) const MAX_DEPTH: usize = 64;

/// What is wrong with an archive.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// No archive by its first bytes.
    #[error("it is neither a tar or zip archive nor packed by zstd, gzip, xz or bzip2")]
    OtherForm,
    /// What is packed is no tar archive.
    #[error("it is packed by {packer}, but what is packed is not a tar archive")]
    NotTar {
        /// The packer.
        packer: &'static str,
    },
    /// Packed in a way that is not read, such as with too large a window.
    #[error("it is packed by {packer} in a way that cannot be read: {reason}")]
    Packing {
        /// The packer.
        packer: &'static str,
        /// What is not read.
        reason: String,
    },
    /// It ends early, or its content is damaged.
    #[error("archive is damaged after {entries} entries")]
    Damaged {
        /// Entries read before.
        entries: usize,
        /// What the unpacker says.
        #[source]
        error: io::Error,
    },
    /// Nothing is in it.
    #[error("archive is empty")]
    Empty,
    /// Too many entries.
    #[error("archive has more than {MAX_ENTRIES} entries")]
    TooManyEntries,
    /// A file is too large.
    #[error("{path} in the archive has {size} bytes, more than {most} MiB", most = MAX_FILE >> 20)]
    FileTooLarge {
        /// The file.
        path: String,
        /// Its size.
        size: u64,
    },
    /// All files and their names together are too large.
    #[error("files of the archive are larger than {most} MiB", most = MAX_CONTENT >> 20)]
    TooLarge,
    /// What it unpacks to is too large, with all that is passed over.
    #[error("archive unpacks to more than {most} MiB", most = MAX_STREAM >> 20)]
    StreamTooLarge,
    /// A name is too long, or too deep.
    #[error("archive has a name longer than {MAX_NAME} bytes or deeper than {MAX_DEPTH} folders")]
    NameTooLong,
    /// A name that is no text, or climbs out of the archive.
    #[error("archive has an entry that cannot be placed: {0:?}")]
    Name(String),
}

impl ArchiveError {
    /// What failed to read entry number `entries`.
    pub(super) fn damaged(entries: usize, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::FileTooLarge => Self::StreamTooLarge,
            _ => Self::Damaged { entries, error },
        }
    }
}
