//! A unix socket as a file: how a process makes it, whether a process serves it, and who removes it.
//!
//! A socket is bound, gets its owner and mode, and then listens. The kernel refuses every connection before that,
//! whatever the mode is, so no process connects while the mode still depends on the process' mask.

use std::fs::{self, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use socket2::{Domain, SockAddr, Socket, Type};

/// Which file a path leads to. File systems give the number of a removed file to the next one at once, so the time of
/// creation is a part of it, where the file system has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
    created: Option<SystemTime>,
}

impl FileIdentity {
    /// The identity of the file that `about` describes.
    #[must_use]
    pub fn of(about: &Metadata) -> Self {
        Self { device: about.dev(), inode: about.ino(), created: about.created().ok() }
    }
}

/// The file of a socket that this process has made. Dropping it removes the file, unless another file has taken its
/// place.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    /// `None`: another process removed the file before it could be looked at.
    identity: Option<FileIdentity>,
}

impl SocketFile {
    fn at(path: &Path) -> Self {
        Self { path: path.to_path_buf(), identity: socket_at(path) }
    }

    fn is_there(&self) -> bool {
        self.identity.is_some() && socket_at(&self.path) == self.identity
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.is_there() {
            // The next start replaces a socket that stays.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// `None`: no socket is at the path itself.
fn socket_at(path: &Path) -> Option<FileIdentity> {
    let about = path.symlink_metadata().ok()?;
    about.file_type().is_socket().then(|| FileIdentity::of(&about))
}

/// A socket with a file, which does not listen yet. Dropping it removes the file.
#[derive(Debug)]
pub struct BoundSocket {
    file: SocketFile,
    socket: Socket,
}

impl BoundSocket {
    /// Makes a socket and its file. The mode of the file depends on the process' mask.
    ///
    /// # Errors
    /// As the operating system has them: a file is at the path, or the path is longer than 107 bytes.
    pub fn bind(path: &Path) -> io::Result<Self> {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        socket.bind(&SockAddr::unix(path)?)?;
        Ok(Self { file: SocketFile::at(path), socket })
    }

    /// Takes connections from now on. The kernel keeps up to `backlog` of them until they are accepted.
    ///
    /// # Errors
    /// As the operating system has them.
    pub fn listen(self, backlog: i32) -> io::Result<ListeningSocket> {
        self.socket.listen(backlog)?;
        Ok(ListeningSocket { file: self.file, listener: OwnedFd::from(self.socket).into() })
    }
}

/// A socket to which processes can connect. Dropping it removes the file, unless another file has taken its place.
#[derive(Debug)]
pub struct ListeningSocket {
    file: SocketFile,
    listener: UnixListener,
}

impl ListeningSocket {
    /// Whether its file is at its path.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.file.is_there()
    }

    /// Where its file was made.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// The listener, which does not block.
    pub(crate) const fn listener(&self) -> &UnixListener {
        &self.listener
    }
}

/// Whether a process listens at `path`. It does not wait: a process whose backlog is full listens.
///
/// # Errors
/// It cannot be known: such as a path that is too long, or a socket to which this process may not connect.
pub fn is_served(path: &Path) -> io::Result<bool> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    match socket.connect(&SockAddr::unix(path)?) {
        Ok(()) => Ok(true),
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock => Ok(true),
            // No process has it open, nothing is there, or what is there is no socket.
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                Ok(false)
            }
            _ => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_socket_is_its_makers_and_takes_nobody_before_it_listens() -> io::Result<()> {
        let folder = std::env::temp_dir().join(format!("kept-socket-file-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let path = folder.join("a.sock");
        assert!(!is_served(&path)?);
        let bound = BoundSocket::bind(&path)?;
        assert!(UnixStream::connect(&path).is_err() && !is_served(&path)?);
        let first = bound.listen(0)?;
        assert!(UnixStream::connect(&path).is_ok() && is_served(&path)?, "its backlog is full now");
        assert!(is_served(&path)?);

        // The next file has the same number where the file system gives it again. Its times are of later ticks of the
        // kernel's clock.
        fs::remove_file(&path)?;
        std::thread::sleep(std::time::Duration::from_millis(20));
        let second = BoundSocket::bind(&path)?.listen(0)?;
        assert!(!first.is_there() && second.is_there());
        drop(first);
        assert!(path.exists(), "another's file stays");
        drop(second);
        assert!(!path.exists());
        drop(BoundSocket::bind(&path)?);
        assert!(!path.exists());
        fs::remove_dir(&folder)
    }
}
