//! What is asked of the kernel's files, so that a test can be a kernel.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

/// More than any file of a cgroup has: a list of 8192 single CPUs has 48 KiB.
const AT_MOST: u64 = 1 << 20;
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
}

impl<F: Files> Files for &F {
    fn read(&self, path: &Path) -> io::Result<String> {
        (**self).read(path)
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        (**self).write(path, text)
    }
}
