//! What is asked of the kernel's files, so that a test can be a kernel.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// More than any file of a cgroup has: a list of 8192 single CPUs has 48 KiB.
const AT_MOST: u64 = 1 << 20;
/// What most files of a cgroup fit into: a page, which is what the kernel gives a reader at once.
const PAGE: usize = 4096;
const ENODEV: i32 = 19;

/// Whether the cgroup of a file is gone: its folder is not there, or was removed while the file was open.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(ENODEV)
}

/// Reads and writes of small files that are there already.
pub trait Files {
    /// The text of a file.
    ///
    /// # Errors
    /// As the operating system has them.
    fn read(&self, path: &Path) -> io::Result<String>;
    /// Writes a text to a file in one go; the file is never created.
    ///
    /// # Errors
    /// As the operating system has them.
    fn write(&self, path: &Path, text: &str) -> io::Result<()>;
    /// Reads a file, writes the text that `change` makes of its text, and reads it again. Where `change` makes none, nothing
    /// is written. Returns the text that stands in the file at the end.
    ///
    /// # Errors
    /// As the operating system has them: of the read before `change` is called, of the others after it.
    fn edit(&self, path: &Path, change: &mut dyn FnMut(&str) -> Option<String>) -> io::Result<String> {
        let text = self.read(path)?;
        let Some(new) = change(&text) else { return Ok(text) };
        self.write(path, &new)?;
        self.read(path)
    }
}

/// The running kernel's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kernel;

impl Files for Kernel {
    fn read(&self, path: &Path) -> io::Result<String> {
        let mut text = String::new();
        fs::File::open(path)?.take(AT_MOST).read_to_string(&mut text)?;
        Ok(text)
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        // As a shell does it. A kernel's file has no length; of a copy of one nothing is to be left.
        OpenOptions::new().write(true).truncate(true).open(path)?.write_all(text.as_bytes())
    }

    /// Opens the file once. At no moment it is empty, also where it is a copy of a kernel's file.
    fn edit(&self, path: &Path, change: &mut dyn FnMut(&str) -> Option<String>) -> io::Result<String> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let text = text_of(&file)?;
        let Some(mut new) = change(&text) else { return Ok(text) };
        // Of a longer text in a copy nothing is to be left; a kernel passes over the ends of lines.
        while new.len() < text.len() {
            new.push('\n');
        }
        file.write_all_at(new.as_bytes(), 0)?;
        text_of(&file)
    }
}

/// The text of an open file from its beginning, in one read where it fits a page.
fn text_of(file: &fs::File) -> io::Result<String> {
    let mut page = [0; PAGE];
    let mut bytes = Vec::new();
    loop {
        let read = file.read_at(&mut page, bytes.len() as u64)?;
        bytes.extend_from_slice(&page[..read]);
        if read < PAGE {
            return String::from_utf8(bytes)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error));
        }
        if bytes.len() as u64 >= AT_MOST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
    }
}

impl<F: Files> Files for &F {
    fn read(&self, path: &Path) -> io::Result<String> {
        (**self).read(path)
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        (**self).write(path, text)
    }

    fn edit(&self, path: &Path, change: &mut dyn FnMut(&str) -> Option<String>) -> io::Result<String> {
        (**self).edit(path, change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_longer_text_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let path = folder.path().join("cpuset.cpus");
        let long = (0..3000).map(|cpu| (2 * cpu).to_string()).collect::<Vec<_>>().join(",");
        for (before, after) in [("0-7\n", "2"), ("2", "0,2,4,6"), (&*long, "0-1"), ("", "5")] {
            assert!(fs::write(&path, before).is_ok());
            let text = Kernel.edit(&path, &mut |text| {
                assert_eq!(text, before);
                Some(after.to_owned())
            });
            assert_eq!(text.as_deref().map(str::trim).ok(), Some(after), "{before}");
            assert_eq!(Kernel.read(&path).as_deref().map(str::trim).ok(), Some(after), "{before}");
        }
        let kept = Kernel.edit(&path, &mut |_| None);
        assert_eq!(kept.as_deref().map(str::trim).ok(), Some("5"));
        let gone = Kernel.edit(&folder.path().join("gone"), &mut |_| None);
        assert!(gone.is_err_and(|error| is_gone(&error)), "a file is never created");
    }
}
