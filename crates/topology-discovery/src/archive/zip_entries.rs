//! The entries of a zip archive, as its central directory lists them.

use std::borrow::Cow;
use std::io::{Error, ErrorKind, Read};

use flate2::bufread::DeflateDecoder;
use rawzip::{CompressionMethod, ZipArchive, ZipFileHeaderRecord, ZipSliceArchive};

use super::limits::{ArchiveError, MAX_NAME};
use super::placed::Placed;

/// Reads all entries.
pub(super) fn read(bytes: &[u8]) -> Result<Placed, ArchiveError> {
    let mut placed = Placed::default();
    let broken = |at: usize| move |error| ArchiveError::damaged(at, other(error));
    let archive = ZipArchive::from_slice(bytes).map_err(broken(0))?;
    let mut records = archive.entries();
    let mut content = Vec::new();
    // Entries that share bytes would unpack those over and over.
    let mut left = bytes.len() as u64;
    while let Some(record) = records.next_entry().map_err(broken(placed.entries))? {
        let at = placed.entries;
        let path = text_of(Cow::Borrowed(record.file_path().as_bytes()))?;
        if !placed.entry(&path)? {
            continue;
        }
        if record.is_dir() {
            placed.tree.add_folder(&path);
            continue;
        }
        let size = record.uncompressed_size_hint();
        placed.file_fits(&path, size)?;
        let is_link = record.mode().is_symlink();
        if is_link && size > MAX_NAME {
            return Err(ArchiveError::NameTooLong);
        }
        let shared = || Error::new(ErrorKind::InvalidData, "entries lie one over the other");
        left = left
            .checked_sub(record.compressed_size_hint())
            .ok_or_else(|| ArchiveError::damaged(at, shared()))?;
        unpack(&archive, &record, at, &mut content)?;
        if is_link {
            placed.add_link(&path, &text_of(Cow::Borrowed(&content))?)?;
        } else {
            placed.tree.add_file(&path, &content);
        }
    }
    if placed.entries as u64 != archive.entries_hint() {
        return Err(ArchiveError::damaged(placed.entries, ErrorKind::UnexpectedEof.into()));
    }
    Ok(placed)
}

/// The content of entry number `at`, in place of what is in `content`.
fn unpack(
    archive: &ZipSliceArchive<&[u8]>,
    record: &ZipFileHeaderRecord<'_>,
    at: usize,
    content: &mut Vec<u8>,
) -> Result<(), ArchiveError> {
    let packing = |reason: String| Err(ArchiveError::Packing { packer: "zip", reason });
    if record.flags().is_encrypted() {
        return packing("it is encrypted".to_owned());
    }
    let entry =
        archive.get_entry(record.wayfinder()).map_err(|error| ArchiveError::damaged(at, other(error)))?;
    // One more shows that the size is wrong.
    let most = record.uncompressed_size_hint() + 1;
    content.clear();
    let read = match record.compression_method() {
        CompressionMethod::STORE => entry.verifying_reader(entry.data().take(most)).read_to_end(content),
        CompressionMethod::DEFLATE => {
            entry.verifying_reader(DeflateDecoder::new(entry.data()).take(most)).read_to_end(content)
        }
        method => return packing(format!("method {} of zip", method.as_u16())),
    };
    read.map(|_| ()).map_err(|error| ArchiveError::damaged(at, error))
}

fn other(error: rawzip::Error) -> Error {
    Error::new(ErrorKind::InvalidData, error)
}

/// A name as text; most of an archive's names are not copied for it.
fn text_of(bytes: Cow<'_, [u8]>) -> Result<Cow<'_, str>, ArchiveError> {
    let no_text = |bytes: &[u8]| ArchiveError::Name(String::from_utf8_lossy(bytes).into_owned());
    match bytes {
        Cow::Borrowed(bytes) => Ok(std::str::from_utf8(bytes).map_err(|_| no_text(bytes))?.into()),
        Cow::Owned(bytes) => Ok(String::from_utf8(bytes).map_err(|error| no_text(error.as_bytes()))?.into()),
    }
}
