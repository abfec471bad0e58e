//! Archives: `.tar.zst`, unpacked in memory within bounds.
//!
//! Everything is bounded before it is kept, so a small archive that unpacks to a large one costs a clear error: the
//! number of entries, the size of one file and of all, the length of a name, the unpacked stream, and the window of
//! the packer.

mod blocks;
mod pack;

use std::borrow::Cow;
use std::io::{self, Read};

use ruzstd::decoding::StreamingDecoder;
use tar::EntryType;
use thiserror::Error;

use crate::memory::MemoryTree;
use crate::path::components;
use blocks::Blocks;

pub use pack::PackError;
pub(crate) use pack::pack;

/// Sizes past which an archive is refused. The largest machine known unpacks to an eighth of each.
const MAX_ENTRIES: usize = 1_000_000;
const MAX_FILE: u64 = 32 << 20;
pub(crate) const MAX_CONTENT: usize = 64 << 20;
const MAX_STREAM: u64 = 512 << 20;
const MAX_WINDOW: u64 = 64 << 20;
const MAX_NAME: u64 = 4096;
const MAX_DEPTH: usize = 64;

/// What everything begins with that zstd packs.
const ZSTD: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();

/// What is wrong with an archive.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// Not packed by zstd.
    #[error("it is not packed by zstd")]
    NotZstd,
    /// Packed by zstd in a way that is not read, such as with too large a window.
    #[error("it is packed by zstd in a way that cannot be read: {0}")]
    Packing(String),
    /// It ends early, or its content is damaged, or no tar archive.
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
    /// A name is too long, or too deep.
    #[error("archive has a name longer than {MAX_NAME} bytes or deeper than {MAX_DEPTH} folders")]
    NameTooLong,
    /// A name that is no text, or climbs out of the archive.
    #[error("archive has an entry that cannot be placed: {0:?}")]
    Name(String),
}

/// Unpacks an archive. Devices, sockets and other things that are neither file, folder nor link are left out.
pub(crate) fn unpack(bytes: &[u8]) -> Result<MemoryTree, ArchiveError> {
    if bytes.is_empty() {
        return Err(ArchiveError::Empty);
    }
    if !bytes.starts_with(&ZSTD) {
        return Err(ArchiveError::NotZstd);
    }
    let decoder = StreamingDecoder::new_with_max_window_size(bytes, MAX_WINDOW)
        .map_err(|error| ArchiveError::Packing(error.to_string()))?;
    let mut blocks = Blocks::new(BoundedReader { inner: decoder, left: MAX_STREAM });
    let mut tree = MemoryTree::new();
    let mut names = LongNames::default();
    let mut content = Vec::new();
    // The last folder whose name is right.
    let mut folder = String::new();
    // Names take memory too; those that only lead to others count once.
    let mut names_len = 0;
    let damaged = |entries: usize| move |error: io::Error| ArchiveError::Damaged { entries, error };
    while let Some((header, size)) = blocks.next().map_err(damaged(tree.len()))? {
        let at = tree.len();
        if at > MAX_ENTRIES {
            return Err(ArchiveError::TooManyEntries);
        }
        let kind = header.entry_type();
        if kind.is_gnu_longname() || kind.is_gnu_longlink() || kind.is_pax_local_extensions() {
            if size > 2 * MAX_NAME {
                return Err(ArchiveError::NameTooLong);
            }
            blocks.content(size, &mut content).map_err(damaged(at))?;
            names.keep(kind, &text_of(Cow::Borrowed(&content))?);
            continue;
        }
        let (long_path, long_link) = names.take();
        let path = match long_path {
            Some(path) => path.into(),
            None => text_of(header.path_bytes())?,
        };
        let (above, name) = path.rsplit_once('/').unwrap_or(("", &path));
        // Most files lie in the same folder as the one before.
        if above != folder {
            if components(above).count() > MAX_DEPTH {
                return Err(ArchiveError::NameTooLong);
            }
            if components(above).any(|name| name == "..") {
                return Err(ArchiveError::Name(path.clone().into_owned()));
            }
            above.clone_into(&mut folder);
        }
        if name == ".." {
            return Err(ArchiveError::Name(path.clone().into_owned()));
        }
        names_len += path.len() + long_link.as_ref().map_or(0, String::len);
        if tree.content_len() + names_len > MAX_CONTENT {
            return Err(ArchiveError::TooLarge);
        }
        match kind {
            EntryType::Directory => tree.add_folder(&path),
            EntryType::Regular | EntryType::Continuous => {
                if size > MAX_FILE {
                    return Err(ArchiveError::FileTooLarge { path: path.into_owned(), size });
                }
                blocks.content(size, &mut content).map_err(damaged(at))?;
                if tree.content_len() + names_len + content.len() > MAX_CONTENT {
                    return Err(ArchiveError::TooLarge);
                }
                tree.add_file(&path, &content);
            }
            EntryType::Symlink => {
                let own = header.link_name_bytes();
                let target = match (long_link, own) {
                    (Some(target), _) => target.into(),
                    (None, Some(target)) => text_of(target)?,
                    (None, None) => return Err(ArchiveError::Name(path.into_owned())),
                };
                tree.add_link(&path, &target);
            }
            // A hard link is a file that came before, by its path from the root.
            EntryType::Link => {
                let own = header.link_name_bytes();
                let target = long_link.or(own.and_then(|name| Some(text_of(name).ok()?.into_owned())));
                let target = target.ok_or_else(|| ArchiveError::Name(path.to_string()))?;
                tree.add_link(&path, &format!("/{target}"));
            }
            _ => {}
        }
    }
    if tree.len() <= 1 {
        return Err(ArchiveError::Empty);
    }
    Ok(tree)
}

/// A name as text; most of an archive's names are not copied for it.
fn text_of(bytes: Cow<'_, [u8]>) -> Result<Cow<'_, str>, ArchiveError> {
    let no_text = |bytes: &[u8]| ArchiveError::Name(String::from_utf8_lossy(bytes).into_owned());
    match bytes {
        Cow::Borrowed(bytes) => Ok(std::str::from_utf8(bytes).map_err(|_| no_text(bytes))?.into()),
        Cow::Owned(bytes) => Ok(String::from_utf8(bytes).map_err(|error| no_text(error.as_bytes()))?.into()),
    }
}

/// Names that do not fit a header come before it in entries of their own.
#[derive(Default)]
struct LongNames {
    path: Option<String>,
    link: Option<String>,
}

impl LongNames {
    fn keep(&mut self, kind: EntryType, text: &str) {
        if kind.is_gnu_longname() {
            self.path = Some(text.trim_end_matches('\0').to_owned());
        } else if kind.is_gnu_longlink() {
            self.link = Some(text.trim_end_matches('\0').to_owned());
        } else {
            // Lines `LENGTH KEY=VALUE`.
            for line in text.lines() {
                match line.split_once(' ').and_then(|(_, pair)| pair.split_once('=')) {
                    Some(("path", value)) => self.path = Some(value.to_owned()),
                    Some(("linkpath", value)) => self.link = Some(value.to_owned()),
                    _ => {}
                }
            }
        }
    }

    fn take(&mut self) -> (Option<String>, Option<String>) {
        (self.path.take(), self.link.take())
    }
}

/// A stream that fails when it is longer than it may be.
struct BoundedReader<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            io::Error::new(io::ErrorKind::FileTooLarge, "unpacked stream is larger than 512 MiB")
        })?;
        Ok(count)
    }
}
