//! Archives of every form, packed as other programs pack them.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use rawzip::path::EntryPath;
use rawzip::{CompressionMethod, ZipArchiveWriter, crc32};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use tar::{EntryType, Header};

/// 8 MiB of zeros, packed by xz 5.8.
pub(crate) const ZEROS_XZ: &[u8] = include_bytes!("zeros.xz");

/// One entry of an archive.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    Folder(String),
    File(String, Vec<u8>),
    /// Path and target.
    Link(String, String),
    HardLink(String, String),
}

pub(crate) fn file(path: &str, text: &str) -> Entry {
    Entry::File(path.to_owned(), text.into())
}

pub(crate) fn link(path: &str, target: &str) -> Entry {
    Entry::Link(path.to_owned(), target.to_owned())
}

impl Entry {
    pub(crate) fn below(&self, folder: &str) -> Self {
        let below = |path: &str| format!("{folder}/{path}");
        match self {
            Self::Folder(path) => Self::Folder(below(path)),
            Self::File(path, content) => Self::File(below(path), content.clone()),
            Self::Link(path, target) => Self::Link(below(path), target.clone()),
            Self::HardLink(path, target) => Self::HardLink(below(path), below(target)),
        }
    }
}

/// The entries of a tar stream.
pub(crate) fn entries(stream: &[u8]) -> Vec<Entry> {
    let mut archive = tar::Archive::new(stream);
    let read = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_str().unwrap().to_owned();
        match entry.header().entry_type() {
            EntryType::Directory => Entry::Folder(path),
            EntryType::Symlink => {
                Entry::Link(path, entry.link_name().unwrap().unwrap().to_str().unwrap().to_owned())
            }
            _ => {
                let mut content = Vec::new();
                std::io::copy(&mut entry, &mut content).unwrap();
                Entry::File(path, content)
            }
        }
    });
    read.collect()
}

/// A header with a name that `tar` may refuse to write.
pub(crate) fn header(name: &str, kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_size(size);
    header.set_cksum();
    header
}

fn add(stream: &mut Vec<u8>, header: &Header, content: &[u8]) {
    stream.extend_from_slice(header.as_bytes());
    stream.extend_from_slice(content);
    stream.resize(stream.len().next_multiple_of(512), 0);
}

pub(crate) fn tar_of(entries: &[Entry]) -> Vec<u8> {
    let mut stream = Vec::new();
    for entry in entries {
        let (path, kind, content, target) = match entry {
            Entry::Folder(path) => (path, EntryType::Directory, &[][..], None),
            Entry::File(path, content) => (path, EntryType::Regular, content.as_slice(), None),
            Entry::Link(path, target) => (path, EntryType::Symlink, &[][..], Some(target)),
            Entry::HardLink(path, target) => (path, EntryType::Link, &[][..], Some(target)),
        };
        let long = [(path, EntryType::GNULongName), (target.unwrap_or(path), EntryType::GNULongLink)];
        for (text, kind) in long.into_iter().filter(|(text, _)| text.len() > 100) {
            add(&mut stream, &header("long", kind, text.len() as u64), text.as_bytes());
        }
        let mut header = header(&path[..path.len().min(100)], kind, content.len() as u64);
        if let Some(target) = target {
            let target = &target[..target.len().min(100)];
            header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
            header.set_cksum();
        }
        add(&mut stream, &header, content);
    }
    stream.extend([0; 1024]);
    stream
}

pub(crate) fn zip_of(entries: &[Entry], method: CompressionMethod) -> Vec<u8> {
    let mut archive = ZipArchiveWriter::new(Vec::new());
    for entry in entries {
        let (path, content, mode) = match entry {
            Entry::Folder(path) => {
                archive.new_dir(&**path).create().unwrap();
                continue;
            }
            Entry::File(path, content) => (path, content.as_slice(), 0o100_644),
            Entry::Link(path, target) => (path, target.as_bytes(), 0o120_777),
            // There are none in zip.
            Entry::HardLink(..) => continue,
        };
        let path = EntryPath::verbatim(path.as_bytes());
        let new = archive.new_file(path).compression_method(method).unix_permissions(mode);
        let (mut file, config) = new.start().unwrap();
        let sums = if method == CompressionMethod::DEFLATE {
            let mut writer = config.wrap(DeflateEncoder::new(&mut file, Compression::fast()));
            writer.write_all(content).unwrap();
            let (encoder, sums) = writer.finish().unwrap();
            encoder.finish().unwrap();
            sums
        } else {
            let mut writer = config.wrap(&mut file);
            writer.write_all(content).unwrap();
            writer.finish().unwrap().1
        };
        file.finish(sums).unwrap();
    }
    archive.finish().unwrap()
}

/// A stream packed by each packer, and as it is.
pub(crate) fn packed(stream: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("zstd", compress_to_vec(stream, CompressionLevel::Fastest)),
        ("gzip", gzip(stream)),
        ("xz", xz(stream)),
        ("bzip2", bzip2(stream)),
        ("tar", stream.to_vec()),
    ]
}

/// A stream packed in two parts, one after the other.
fn in_parts(stream: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let (first, second) = stream.split_at(stream.len() / 3);
    vec![
        ("gzip of two parts", [gzip(first), gzip(second)].concat()),
        ("xz of two parts", [xz(first), vec![0; 4], xz(second), vec![0; 8]].concat()),
        ("bzip2 of two parts", [bzip2(first), bzip2(second)].concat()),
    ]
}

/// Entries in every form.
pub(crate) fn forms(entries: &[Entry]) -> Vec<(&'static str, Vec<u8>)> {
    let stream = tar_of(entries);
    let mut all = packed(&stream);
    all.extend(in_parts(&stream));
    all.push(("zip", zip_of(entries, CompressionMethod::DEFLATE)));
    all.push(("stored zip", zip_of(entries, CompressionMethod::STORE)));
    all
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Packs without making smaller; the window is 8 MiB.
pub(crate) fn xz(bytes: &[u8]) -> Vec<u8> {
    xz_of_window(bytes, 22)
}

/// The same with another window, by its number in the format.
#[expect(clippy::cast_possible_truncation, reason = "what is packed here is small")]
pub(crate) fn xz_of_window(bytes: &[u8], window: u8) -> Vec<u8> {
    const CHECK: [u8; 2] = [0, 1];
    let pad = |bytes: &mut Vec<u8>| bytes.resize(bytes.len().next_multiple_of(4), 0);
    let sum = |bytes: &[u8]| crc32(bytes).to_le_bytes();
    let number = |mut value: usize| {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    };
    let mut block = vec![2, 0, 0x21, 1, window, 0, 0, 0];
    block.extend(sum(&block));
    for (at, chunk) in bytes.chunks(1 << 16).enumerate() {
        block.push(if at == 0 { 1 } else { 2 });
        block.extend(((chunk.len() - 1) as u16).to_be_bytes());
        block.extend(chunk);
    }
    block.push(0);
    let unpadded = block.len() + 4;
    pad(&mut block);
    block.extend(sum(bytes));
    let mut index = [vec![0, 1], number(unpadded), number(bytes.len())].concat();
    pad(&mut index);
    index.extend(sum(&index));
    let back = (index.len() / 4 - 1) as u32;
    let footer = [&back.to_le_bytes()[..], &CHECK].concat();
    [b"\xfd7zXZ\0".as_slice(), &CHECK, &sum(&CHECK), &block, &index, &sum(&footer), &footer, b"YZ"].concat()
}
