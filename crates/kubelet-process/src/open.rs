//! Files that are opened without waiting, below any root, and read up to a limit.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};

/// The start of a file.
pub(crate) struct Read {
    pub(crate) bytes: Vec<u8>,
    /// Whether that is all of it.
    pub(crate) is_whole: bool,
}

/// Opens a regular file at a path below `files`. Symbolic links cannot lead out of it.
pub(crate) fn open_below(files: &Path, path: &Path) -> io::Result<File> {
    if files == Path::new("/") {
        return open_regular(&files.join(path));
    }
    let folder = OpenOptions::new().read(true).custom_flags(OFlag::O_PATH.bits()).open(files)?;
    let how = OpenHow::new()
        .flags(OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_IN_ROOT);
    regular(File::from(openat2(folder, path, how)?))
}

/// Opens a regular file.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    regular(open(path)?)
}

fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

/// Opens a file for reading without waiting for a writer of a pipe.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)
}

/// Reads at most `most` bytes.
pub(crate) fn read_at_most(file: File, most: u64) -> io::Result<Read> {
    let mut bytes = Vec::new();
    let length = file.take(most + 1).read_to_end(&mut bytes)? as u64;
    if length > most {
        bytes.pop();
    }
    Ok(Read { bytes, is_whole: length <= most })
}
