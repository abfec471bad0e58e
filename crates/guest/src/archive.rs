//! The archive that a kernel unpacks into its first file system: cpio in its "newc" form. Needs no rights, and no cpio.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

const FOLDER: u32 = 0o040_755;
const FILE: u32 = 0o100_755;
const DEVICE: u32 = 0o020_600;

/// An archive as it is written.
pub(crate) struct Archive<W: Write> {
    to: W,
    inode: u32,
    folders: BTreeSet<String>,
}

/// One entry's numbers.
struct Entry {
    mode: u32,
    /// Major and minor of a device.
    device: (u32, u32),
}

impl<W: Write> Archive<W> {
    /// An archive with a console, without which the first process cannot speak.
    pub(crate) fn new(to: W) -> io::Result<Self> {
        let mut archive = Self { to, inode: 1, folders: BTreeSet::new() };
        archive.folder("dev")?;
        archive.entry("dev/console", &Entry { mode: DEVICE, device: (5, 1) }, &[])?;
        Ok(archive)
    }

    /// A folder and all above it; one that is there already is left.
    pub(crate) fn folder(&mut self, path: &str) -> io::Result<()> {
        if path.is_empty() || self.folders.contains(path) {
            return Ok(());
        }
        if let Some((above, _)) = path.rsplit_once('/') {
            self.folder(above)?;
        }
        self.folders.insert(path.to_owned());
        self.entry(path, &Entry { mode: FOLDER, device: (0, 0) }, &[])
    }

    /// A file that can be run, and the folders above it. `path` has no `/` in front.
    pub(crate) fn file(&mut self, path: &str, bytes: &[u8]) -> io::Result<()> {
        if let Some((above, _)) = path.rsplit_once('/') {
            self.folder(above)?;
        }
        self.entry(path, &Entry { mode: FILE, device: (0, 0) }, bytes)
    }

    /// The same with the bytes of a file of this machine.
    pub(crate) fn copy(&mut self, path: &str, from: &Path) -> io::Result<()> {
        self.file(path, &std::fs::read(from)?)
    }

    /// Ends the archive.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.inode = 0;
        self.entry("TRAILER!!!", &Entry { mode: 0, device: (0, 0) }, &[])?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn entry(&mut self, path: &str, entry: &Entry, bytes: &[u8]) -> io::Result<()> {
        let size = u32::try_from(bytes.len()).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        let name =
            u32::try_from(path.len() + 1).map_err(|_| io::Error::from(io::ErrorKind::InvalidFilename))?;
        let (major, minor) = entry.device;
        // Inode, mode, user, group, links, time, size, device of the file, device that it is, name, checksum.
        let numbers = [self.inode, entry.mode, 0, 0, 1, 0, size, 0, 0, major, minor, name, 0];
        self.inode += 1;
        let mut head = b"070701".to_vec();
        for number in numbers {
            write!(head, "{number:08x}")?;
        }
        head.extend_from_slice(path.as_bytes());
        head.push(0);
        pad(&mut head);
        self.to.write_all(&head)?;
        self.to.write_all(bytes)?;
        self.to.write_all(&[0; 3][..(4 - bytes.len() % 4) % 4])
    }
}

/// Up to the next multiple of four.
fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_starts_at_a_multiple_of_four() {
        let mut archive = Archive::new(Vec::new()).expect("a vector takes all");
        archive.file("a/b/c", b"12345").expect("a vector takes all");
        archive.file("a/b/d", b"").expect("a vector takes all");
        let bytes = archive.finish().expect("a vector takes all");
        let at: Vec<usize> = (0..bytes.len() - 5).filter(|&at| &bytes[at..at + 6] == b"070701").collect();
        assert!(at.iter().all(|at| at % 4 == 0), "{at:?}");
        let name = |at: &usize| {
            let end = bytes[at + 110..].iter().position(|byte| *byte == 0).expect("names end");
            String::from_utf8_lossy(&bytes[at + 110..at + 110 + end]).into_owned()
        };
        let names: Vec<String> = at.iter().map(name).collect();
        assert_eq!(names, ["dev", "dev/console", "a", "a/b", "a/b/c", "a/b/d", "TRAILER!!!"]);
    }
}
