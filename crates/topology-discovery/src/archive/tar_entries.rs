//! The entries of a tar stream.

use std::io::Read;

use super::limits::ArchiveError;
use super::placed::Placed;
use crate::entries::{Entries, EntriesError, EntryKind};

/// Reads a stream to its end; `None`: it is no tar archive. Devices, sockets and other things that are neither file, folder
/// nor link are left out.
pub(super) fn read(stream: impl Read) -> Result<Option<Placed>, ArchiveError> {
    let mut entries = Entries::new(stream);
    let mut placed = Placed::default();
    let mut content = Vec::new();
    loop {
        let at = placed.entries;
        let damaged = |error| ArchiveError::damaged(at, error);
        let entry = match entries.next() {
            Ok(Some(entry)) => entry,
            Ok(None) => break,
            Err(EntriesError::NotTar) => return Ok(None),
            Err(error) => return Err(of_entries(at, error)),
        };
        let path = entry.path().map_err(|error| of_entries(at, error))?;
        if !placed.entry(&path)? {
            continue;
        }
        let target = || entry.target().map_err(|error| of_entries(at, error));
        match entry.kind() {
            EntryKind::Folder => placed.tree.add_folder(&path),
            EntryKind::File => {
                placed.file_fits(&path, entry.size)?;
                entries.content(entry.size, &mut content).map_err(damaged)?;
                placed.tree.add_file(&path, &content);
            }
            EntryKind::Link => placed.add_link(&path, &target()?)?,
            // A file that came before, by its path in the archive.
            EntryKind::HardLink => placed.tree.add_hard_link(&path, &target()?),
            EntryKind::Other => {}
        }
    }
    let count = placed.entries;
    entries.finish().map_err(|error| ArchiveError::damaged(count, error))?;
    Ok(Some(placed))
}

/// An error behind `at` entries.
fn of_entries(at: usize, error: EntriesError) -> ArchiveError {
    match error {
        EntriesError::Damaged(error) => ArchiveError::damaged(at, error),
        EntriesError::NameTooLong => ArchiveError::NameTooLong,
        EntriesError::Name(name) | EntriesError::NoTarget(name) => ArchiveError::Name(name),
        _ => ArchiveError::OtherForm,
    }
}
