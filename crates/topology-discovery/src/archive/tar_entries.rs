//! The entries of a tar stream.

use std::borrow::Cow;
use std::io::{Error, ErrorKind, Read};

use tar::EntryType;

use super::blocks::{BlockError, Blocks};
use super::limits::{ArchiveError, MAX_NAME};
use super::placed::Placed;

/// Reads a stream to its end; `None`: it is no tar archive. Devices, sockets and other things that are neither file, folder
/// nor link are left out.
pub(super) fn read(stream: impl Read) -> Result<Option<Placed>, ArchiveError> {
    let mut blocks = Blocks::new(stream);
    let mut placed = Placed::default();
    let mut names = LongNames::default();
    let mut content = Vec::new();
    loop {
        let at = placed.entries;
        let damaged = |error| ArchiveError::damaged(at, error);
        let (header, size) = match blocks.next() {
            Ok(Some(next)) => next,
            Ok(None) => break,
            Err(BlockError::Stream(error)) => return Err(damaged(error)),
            Err(BlockError::NoHeader) if at == 0 => return Ok(None),
            Err(BlockError::NoHeader) => {
                return Err(damaged(Error::new(ErrorKind::InvalidData, "broken header of an entry")));
            }
        };
        let kind = header.entry_type();
        if kind.is_gnu_longname() || kind.is_gnu_longlink() || kind.is_pax_local_extensions() {
            if size > 2 * MAX_NAME {
                return Err(ArchiveError::NameTooLong);
            }
            blocks.content(size, &mut content).map_err(damaged)?;
            names.keep(kind, &text_of(Cow::Borrowed(&content))?);
            continue;
        }
        let (long_path, long_link) = names.take();
        let path = match long_path {
            Some(path) => path.into(),
            None => text_of(header.path_bytes())?,
        };
        if kind.is_pax_global_extensions() || !placed.entry(&path)? {
            continue;
        }
        let target = || match (long_link, header.link_name_bytes()) {
            (Some(target), _) => Ok(target.into()),
            (None, Some(target)) => text_of(target),
            (None, None) => Err(ArchiveError::Name(path.clone().into_owned())),
        };
        match kind {
            EntryType::Directory => placed.tree.add_folder(&path),
            EntryType::Regular | EntryType::Continuous => {
                placed.file_fits(&path, size)?;
                blocks.content(size, &mut content).map_err(damaged)?;
                placed.tree.add_file(&path, &content);
            }
            EntryType::Symlink => placed.add_link(&path, &target()?)?,
            // A file that came before, by its path in the archive.
            EntryType::Link => placed.tree.add_hard_link(&path, &target()?),
            _ => {}
        }
    }
    let entries = placed.entries;
    blocks.finish().map_err(|error| ArchiveError::damaged(entries, error))?;
    Ok(Some(placed))
}

/// A name as text; most of an archive's names are not copied for it.
pub(super) fn text_of(bytes: Cow<'_, [u8]>) -> Result<Cow<'_, str>, ArchiveError> {
    let no_text = |bytes: &[u8]| ArchiveError::Name(String::from_utf8_lossy(bytes).into_owned());
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
