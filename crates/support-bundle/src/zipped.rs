//! The files of a zip archive that is in memory.

use std::io::{self, ErrorKind, Read};

use flate2::bufread::DeflateDecoder;
use rawzip::{CompressionMethod, ZipArchive, ZipFileHeaderRecord, ZipSliceArchive};

/// The most bytes of a zip archive: it lists its files at its end.
pub(crate) const MAX_ZIP: u64 = 128 << 20;

/// Whether a file that begins with these bytes is a zip archive.
pub(crate) fn is_zip(start: &[u8]) -> bool {
    start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06")
}

/// Calls `with` with the path and the content of every file; its error ends the reading.
pub(crate) fn each_file(
    bytes: &[u8],
    mut with: impl FnMut(&str, &mut dyn Read) -> io::Result<()>,
) -> io::Result<()> {
    let archive = ZipArchive::from_slice(bytes).map_err(damaged)?;
    let mut records = archive.entries();
    // Entries that share bytes would unpack those over and over.
    let mut left = bytes.len() as u64;
    while let Some(record) = records.next_entry().map_err(damaged)? {
        if record.is_dir() || record.mode().is_symlink() {
            continue;
        }
        let shared = || io::Error::new(ErrorKind::InvalidData, "entries lie one over the other");
        left = left.checked_sub(record.compressed_size_hint()).ok_or_else(shared)?;
        let path = String::from_utf8_lossy(record.file_path().as_bytes()).into_owned();
        file(&archive, &record, &path, &mut with)?;
    }
    Ok(())
}

fn file(
    archive: &ZipSliceArchive<&[u8]>,
    record: &ZipFileHeaderRecord<'_>,
    path: &str,
    with: &mut impl FnMut(&str, &mut dyn Read) -> io::Result<()>,
) -> io::Result<()> {
    if record.flags().is_encrypted() {
        return Err(io::Error::new(ErrorKind::Unsupported, "it is encrypted"));
    }
    let entry = archive.get_entry(record.wayfinder()).map_err(damaged)?;
    match record.compression_method() {
        CompressionMethod::STORE => with(path, &mut entry.data()),
        CompressionMethod::DEFLATE => with(path, &mut DeflateDecoder::new(entry.data())),
        method => Err(io::Error::new(ErrorKind::Unsupported, format!("method {} of zip", method.as_u16()))),
    }
}

fn damaged(error: rawzip::Error) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}
