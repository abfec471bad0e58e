//! Archives: the bundle, and machines in it without the names that owners have given.

use std::io::{self, Read as _};

use anyhow::Context as _;
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};
use topology_discovery::entries::{Entries, EntryKind, Packer};

/// Folders of what the kernel made of a device, in which its owner may have named it: of network cards above all.
const NAMED: [&str; 6] = ["accel", "block", "drm", "infiniband", "net", "nvme"];

/// The bytes of a `.tar.gz` archive with these files, without times and owners: the same each time.
pub(super) fn packed(files: &[(String, Vec<u8>)]) -> io::Result<Vec<u8>> {
    let mut archive = archive();
    for (path, content) in files {
        let mut header = header(EntryType::Regular, 0o644, content.len() as u64);
        archive.append_data(&mut header, path, content.as_slice())?;
    }
    archive.into_inner()?.finish()
}

/// A captured machine, packed again without what its devices are called.
pub(super) fn without_names(captured: &[u8]) -> anyhow::Result<Vec<u8>> {
    let packer = Packer::of(captured).context("a capture is packed")?;
    let mut entries = Entries::new(packer.stream(captured)?);
    let mut archive = archive();
    while let Some(entry) = entries.next()? {
        let path = entry.path()?.into_owned();
        match entry.kind() {
            EntryKind::Folder if is_named(&path) => {}
            EntryKind::Folder => {
                archive.append_data(&mut header(EntryType::Directory, 0o755, 0), path, io::empty())?;
            }
            EntryKind::File => {
                let mut content = Vec::new();
                entries.reader().take(entry.size).read_to_end(&mut content)?;
                let mut header = header(EntryType::Regular, 0o644, content.len() as u64);
                archive.append_data(&mut header, path, content.as_slice())?;
            }
            EntryKind::Link => {
                let target = entry.target()?.into_owned();
                archive.append_link(&mut header(EntryType::Symlink, 0o777, 0), path, target)?;
            }
            EntryKind::HardLink | EntryKind::Other => {}
        }
    }
    Ok(archive.into_inner()?.finish()?)
}

/// Whether a folder is called as the owner of a device may have called it.
fn is_named(path: &str) -> bool {
    path.split('/').rev().skip(1).any(|part| NAMED.contains(&part))
}

fn archive() -> Builder<GzEncoder<Vec<u8>>> {
    Builder::new(GzBuilder::new().mtime(0).write(Vec::new(), Compression::default()))
}

fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}
