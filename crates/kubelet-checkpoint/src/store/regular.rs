//! Opening a file only if it is a regular one. A named pipe or a device may keep a reader waiting for ever, or have no
//! end.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use thiserror::Error;

/// What a path leads to that is no regular file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum OtherFile {
    /// A directory.
    Directory,
    /// A named pipe, or one without a name below `/dev/fd`.
    Pipe,
    /// A unix socket.
    Socket,
    /// Such as `/dev/zero`, or a terminal.
    CharacterDevice,
    /// Such as `/dev/sda`.
    BlockDevice,
    /// Something that this program does not know.
    Unknown,
}

impl fmt::Display for OtherFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Directory => "a directory",
            Self::Pipe => "a pipe",
            Self::Socket => "a socket",
            Self::CharacterDevice => "a character device",
            Self::BlockDevice => "a block device",
            Self::Unknown => "a file of unknown kind",
        })
    }
}

/// A path leads to something else than a regular file. It comes inside an [`io::Error`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("it is {0}, not a regular file")]
pub struct NotRegular(pub OtherFile);

impl OtherFile {
    /// What a file is, if it is not a regular one. `about` is of what a link leads to.
    #[must_use]
    pub fn of(about: &fs::Metadata) -> Option<Self> {
        let kind = about.file_type();
        if kind.is_file() {
            return None;
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::FileTypeExt as _;
            if kind.is_fifo() {
                return Some(Self::Pipe);
            } else if kind.is_socket() {
                return Some(Self::Socket);
            } else if kind.is_char_device() {
                return Some(Self::CharacterDevice);
            } else if kind.is_block_device() {
                return Some(Self::BlockDevice);
            }
        }
        Some(if kind.is_dir() { Self::Directory } else { Self::Unknown })
    }
}

/// Opens a regular file for reading; a link counts as what it leads to. It never waits, whatever is there.
///
/// # Errors
/// It cannot be opened, or, as [`NotRegular`], it is something else.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Opening a device may do something to it. What comes in between is found by the second look.
    refuse_other(&fs::metadata(path)?)?;
    let mut options = OpenOptions::new();
    options.read(true);
    never_wait(&mut options);
    let file = options.open(path)?;
    refuse_other(&file.metadata()?)?;
    Ok(file)
}

/// Opens a file for a lock, which is created if missing. It never waits for one who reads a pipe.
pub(super) fn open_lock(path: &Path) -> io::Result<File> {
    match fs::metadata(path) {
        Ok(about) => refuse_other(&about)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, crate::MODE);
    never_wait(&mut options);
    options.open(path)
}

fn refuse_other(about: &fs::Metadata) -> io::Result<()> {
    match OtherFile::of(about) {
        None => Ok(()),
        Some(other) => Err(io::Error::new(io::ErrorKind::InvalidInput, NotRegular(other))),
    }
}

#[cfg(unix)]
fn never_wait(options: &mut OpenOptions) {
    use nix::fcntl::OFlag;
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags.bits());
}

#[cfg(not(unix))]
fn never_wait(_: &mut OpenOptions) {}
