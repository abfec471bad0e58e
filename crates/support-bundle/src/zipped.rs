//! The files of a zip archive: of one on disk each is read where it lies; of one within another archive all of it is in memory.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};

use flate2::bufread::DeflateDecoder;
use rawzip::{
    CompressionMethod, FileReader, RECOMMENDED_BUFFER_SIZE, ReaderAt, ZipArchive, ZipFileHeaderRecord,
};

/// The most bytes of a zip archive within another archive: it lists its files at its end.
pub(crate) const MAX_ZIP: u64 = 128 << 20;

/// Whether a file that begins with these bytes is a zip archive.
pub(crate) fn is_zip(start: &[u8]) -> bool {
    start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06")
}

/// A zip archive on disk.
pub(crate) fn on_disk(file: File) -> io::Result<ZipArchive<FileReader>> {
    ZipArchive::from_file(file, &mut vec![0; RECOMMENDED_BUFFER_SIZE]).map_err(damaged)
}

/// A zip archive that is in memory.
pub(crate) fn in_memory(bytes: &[u8]) -> io::Result<ZipArchive<&[u8]>> {
    Ok(ZipArchive::from_slice(bytes).map_err(damaged)?.into_reader_archive())
}

/// Calls `with` with the path of every file, the bytes that it takes in the archive, and its content; an error of it ends the
/// reading. `size` is that of the archive.
pub(crate) fn each_file<R: ReaderAt>(
    archive: &ZipArchive<R>,
    size: u64,
    mut with: impl FnMut(&str, u64, &mut dyn Read) -> io::Result<()>,
) -> io::Result<()> {
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let mut records = archive.entries(&mut buffer);
    // Entries that share bytes would unpack those over and over.
    let mut left = size;
    while let Some(record) = records.next_entry().map_err(damaged)? {
        if record.is_dir() || record.mode().is_symlink() {
            continue;
        }
        let shared = || io::Error::new(ErrorKind::InvalidData, "entries lie one over the other");
        left = left.checked_sub(record.compressed_size_hint()).ok_or_else(shared)?;
        let path = String::from_utf8_lossy(record.file_path().as_bytes()).into_owned();
        file(archive, &record, &path, &mut with)?;
    }
    Ok(())
}

fn file<R: ReaderAt>(
    archive: &ZipArchive<R>,
    record: &ZipFileHeaderRecord<'_>,
    path: &str,
    with: &mut impl FnMut(&str, u64, &mut dyn Read) -> io::Result<()>,
) -> io::Result<()> {
    if record.flags().is_encrypted() {
        return Err(io::Error::new(ErrorKind::Unsupported, "it is encrypted"));
    }
    let packed = record.compressed_size_hint();
    let entry = archive.get_entry(record.wayfinder()).map_err(damaged)?;
    match record.compression_method() {
        CompressionMethod::STORE => with(path, packed, &mut entry.reader()),
        CompressionMethod::DEFLATE => {
            with(path, packed, &mut DeflateDecoder::new(BufReader::new(entry.reader())))
        }
        method => Err(io::Error::new(ErrorKind::Unsupported, format!("method {} of zip", method.as_u16()))),
    }
}

fn damaged(error: rawzip::Error) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}
