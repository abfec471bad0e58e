//! Making the sockets: in which folders, with which permissions, and never in place of a socket that a process serves.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use kept_socket::{BoundSocket, ListeningSocket, is_served};
use thiserror::Error;

use crate::folders::make_last;

/// The name of both sockets.
pub(crate) const NAME: &str = "kubelet.sock";
/// The kubelet asks for less here, but makes the folder with these permissions before, to store its state in it.
pub(crate) const PLUGINS_MODE: u32 = 0o755;
/// Of the sockets: what the usual mask leaves a kubelet's. Only their owner connects.
const MODE: u32 = 0o755;
/// Connections that the kernel keeps until they are accepted: what the standard library asks for.
const BACKLOG: i32 = 128;
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
        /// The system's error.
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
    match is_served(path) {
        Ok(false) => Ok(()),
        Ok(true) => Err(StartError::Served(path.to_path_buf())),
        Err(error) => Err(StartError::file("connect to", path)(error)),
    }
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

/// Listens at `path`, in a folder that is made if it is missing and the one above it is there. What is at the path is
/// replaced, unless a process serves it.
pub(crate) fn listen(path: &Path, folder_mode: u32) -> Result<ListeningSocket, StartError> {
    check(path)?;
    if let Some(folder) = path.parent() {
        make_last(folder, folder_mode).map_err(StartError::file("create", folder))?;
    }
    remove(path)?;
    let socket = BoundSocket::bind(path).map_err(StartError::file("listen on", path))?;
    fs::set_permissions(path, Permissions::from_mode(MODE))
        .map_err(StartError::file("set permissions of", path))?;
    socket.listen(BACKLOG).map_err(StartError::file("listen on", path))
}
