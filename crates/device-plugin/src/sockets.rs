//! Making the sockets: in which folders, with which permissions, and never over somebody who still serves.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The name of both sockets.
pub(crate) const NAME: &str = "kubelet.sock";
/// The kubelet asks for less, but whoever stores its state makes the folder before.
pub(crate) const PLUGINS_MODE: u32 = 0o755;
/// Of the sockets: what the usual mask leaves a kubelet's. Only their owner connects.
const MODE: u32 = 0o755;
/// Of the other two folders.
pub(crate) const OTHER_MODE: u32 = 0o750;

/// Why the server does not start. Nothing has been removed then, unless a socket could not be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The kubelet's text.
    #[error("failed to create plugin server: bad socketPath, must be an absolute path: {}", .0.display())]
    NotAbsolute(PathBuf),
    /// A kubelet, or another of these, serves there.
    #[error("{} is being served by another process", .0.display())]
    Served(PathBuf),
    /// A file operation has failed.
    #[error("failed to {action} {}", path.display())]
    File {
        /// What was to be done.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There are no threads to be had.
    #[error("failed to start a thread")]
    Thread(#[source] io::Error),
}

impl StartError {
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::File { action, path, source }
    }
}

/// Whether a socket can be made at `path`.
pub(crate) fn check(path: &Path) -> Result<(), StartError> {
    if !path.is_absolute() {
        return Err(StartError::NotAbsolute(path.to_path_buf()));
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(StartError::Served(path.to_path_buf())),
        Err(error) => match error.kind() {
            // Nobody has it open, nothing is there, or what is there is no socket.
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                Ok(())
            }
            // Somebody has it open, and does not keep up.
            io::ErrorKind::WouldBlock => Err(StartError::Served(path.to_path_buf())),
            _ => Err(StartError::file("connect to", path)(error)),
        },
    }
}

/// Makes a folder and those above it, with permissions that do not depend on the process' mask; one that is there stays
/// as it is.
pub(crate) fn make_folder(path: &Path, mode: u32) -> Result<(), StartError> {
    if path.is_dir() {
        return Ok(());
    }
    let made = fs::DirBuilder::new().recursive(true).mode(mode).create(path);
    made.and_then(|()| fs::set_permissions(path, Permissions::from_mode(mode)))
        .map_err(StartError::file("create", path))
}

/// Removes every socket of the folder, not of those below; also what a link leads to one from. Plugins watch for it,
/// and register again.
pub(crate) fn remove_all(folder: &Path) -> Result<(), StartError> {
    for entry in fs::read_dir(folder).map_err(StartError::file("read", folder))? {
        let path = entry.map_err(StartError::file("read", folder))?.path();
        if fs::metadata(&path).is_ok_and(|found| found.file_type().is_socket()) {
            fs::remove_file(&path).map_err(StartError::file("remove", &path))?;
        }
    }
    Ok(())
}

/// Removes one socket, if it is there.
pub(crate) fn remove(path: &Path) -> Result<(), StartError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StartError::file("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Listens at `path`, in a folder that is made if it is missing. What is there is replaced, unless somebody serves it.
pub(crate) fn listen(path: &Path, folder_mode: u32) -> Result<UnixListener, StartError> {
    check(path)?;
    if let Some(folder) = path.parent() {
        make_folder(folder, folder_mode)?;
    }
    remove(path)?;
    let listener = UnixListener::bind(path).map_err(StartError::file("listen on", path))?;
    fs::set_permissions(path, Permissions::from_mode(MODE))
        .map_err(StartError::file("set permissions of", path))?;
    Ok(listener)
}
