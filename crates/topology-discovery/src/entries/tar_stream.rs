//! The entries of a tar stream.

use std::borrow::Cow;
use std::io::{self, Error, ErrorKind, Read};

use tar::{EntryType, Header};
use thiserror::Error;

use crate::entries::blocks::{BlockError, Blocks};

/// The most bytes of a name.
const MAX_NAME: u64 = 4096;

/// Entries one after the other. The content of one is read before the next is asked for, or passed over.
pub struct Entries<R> {
    blocks: Blocks<R>,
    names: LongNames,
    count: usize,
}

/// Why there is no next entry.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EntriesError {
    /// The stream does not begin as a tar archive does.
    #[error("not a tar archive")]
    NotTar,
    /// It ends early, or is damaged.
    #[error("archive is damaged")]
    Damaged(#[source] Error),
    /// A name is too long.
    #[error("archive has a name longer than {MAX_NAME} bytes")]
    NameTooLong,
    /// A name that is no text, with what is wrong in it replaced.
    #[error("archive has an entry whose name is no text: {0:?}")]
    Name(String),
    /// A link to nothing.
    #[error("archive has a link without a target: {0:?}")]
    NoTarget(String),
}

/// An entry.
#[derive(Clone, Debug)]
pub struct Entry {
    header: Header,
    path: Option<String>,
    target: Option<String>,
    /// Bytes of its content.
    pub size: u64,
}

/// What an entry is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// The same file as one that came before.
    HardLink,
    /// A device, a socket or another thing without content.
    Other,
}

impl<R: Read> Entries<R> {
    /// Of a stream that is not packed.
    pub fn new(stream: R) -> Self {
        Self { blocks: Blocks::new(stream), names: LongNames::default(), count: 0 }
    }

    /// The next entry; `None` at the mark that ends an archive.
    ///
    /// # Errors
    /// [`EntriesError`]; the end without the mark is damage.
    #[expect(clippy::should_implement_trait, reason = "the content of an entry is read from where it is")]
    pub fn next(&mut self) -> Result<Option<Entry>, EntriesError> {
        let mut content = Vec::new();
        loop {
            let (header, size) = match self.blocks.next() {
                Ok(Some(next)) => next,
                Ok(None) => return Ok(None),
                Err(BlockError::Stream(error)) => return Err(EntriesError::Damaged(error)),
                Err(BlockError::NoHeader) if self.count == 0 => return Err(EntriesError::NotTar),
                Err(BlockError::NoHeader) => {
                    let broken = Error::new(ErrorKind::InvalidData, "broken header of an entry");
                    return Err(EntriesError::Damaged(broken));
                }
            };
            let kind = header.entry_type();
            if kind.is_gnu_longname() || kind.is_gnu_longlink() || kind.is_pax_local_extensions() {
                if size > 2 * MAX_NAME {
                    return Err(EntriesError::NameTooLong);
                }
                self.blocks.content(size, &mut content).map_err(EntriesError::Damaged)?;
                self.names.keep(kind, &text_of(Cow::Borrowed(&content))?);
                continue;
            }
            let (path, target) = self.names.take();
            self.count += 1;
            if !kind.is_pax_global_extensions() {
                return Ok(Some(Entry { header, path, target, size }));
            }
        }
    }

    /// Reads the content of the last entry, all of its `size`, in place of what is in `content`.
    ///
    /// # Errors
    /// The stream ends early, or is damaged.
    pub fn content(&mut self, size: u64, content: &mut Vec<u8>) -> io::Result<()> {
        self.blocks.content(size, content)
    }

    /// The content of the last entry as a stream.
    pub fn reader(&mut self) -> EntryContent<'_, R> {
        EntryContent(&mut self.blocks)
    }

    /// Reads what is left, so that the packer compares its own sums.
    ///
    /// # Errors
    /// They differ, or the stream is damaged.
    pub fn finish(self) -> io::Result<()> {
        self.blocks.finish()
    }
}

/// The content of an entry.
pub struct EntryContent<'e, R>(&'e mut Blocks<R>);

impl<R: Read> Read for EntryContent<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Entry {
    /// Its path as it is written.
    ///
    /// # Errors
    /// It is no text.
    pub fn path(&self) -> Result<Cow<'_, str>, EntriesError> {
        match &self.path {
            Some(path) => Ok(path.into()),
            None => text_of(self.header.path_bytes()),
        }
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> EntryKind {
        match self.header.entry_type() {
            EntryType::Directory => EntryKind::Folder,
            EntryType::Regular | EntryType::Continuous => EntryKind::File,
            EntryType::Symlink => EntryKind::Link,
            EntryType::Link => EntryKind::HardLink,
            _ => EntryKind::Other,
        }
    }

    /// Where a link leads, as it is written.
    ///
    /// # Errors
    /// It is no text, or there is none.
    pub fn target(&self) -> Result<Cow<'_, str>, EntriesError> {
        match (&self.target, self.header.link_name_bytes()) {
            (Some(target), _) => Ok(target.into()),
            (None, Some(target)) => text_of(target),
            (None, None) => Err(EntriesError::NoTarget(self.path()?.into_owned())),
        }
    }
}

/// A name as text; most of an archive's names are not copied for it.
fn text_of(bytes: Cow<'_, [u8]>) -> Result<Cow<'_, str>, EntriesError> {
    let no_text = |bytes: &[u8]| EntriesError::Name(String::from_utf8_lossy(bytes).into_owned());
    match bytes {
        Cow::Borrowed(bytes) => Ok(std::str::from_utf8(bytes).map_err(|_| no_text(bytes))?.into()),
        Cow::Owned(bytes) => Ok(String::from_utf8(bytes).map_err(|error| no_text(error.as_bytes()))?.into()),
    }
}

/// Names that do not fit a header come before it in separate entries.
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
