//! The unix socket as a file: whose it is, and who may connect.
//!
//! Nobody can connect before [`UnixSocket::listen`]: the kernel refuses it whatever the mode is. So the socket is bound,
//! then it gets its group and mode, and then it listens. The umask, which is the whole program's, is not touched.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, chown};
use std::os::unix::net::{UnixListener as StdUnixListener, UnixStream as StdUnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, bail};
use device_plugin::{Fate, KeptListener};
use nix::unistd::{Gid, Group};
use tokio::net::UnixSocket;

/// Longer paths do not fit a socket's address.
const LONGEST: usize = 107;
/// Connections that the kernel keeps until they are accepted.
const BACKLOG: u32 = 1024;

/// Who may connect to the socket; what each may do then is asked of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Open {
    /// Its owner and the members of its group (mode 0660); `None`: the group that the program runs with.
    ToGroup(Option<Gid>),
    /// Every user (mode 0666).
    ToAll,
}

/// A group by its name or number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SocketGroup(pub(crate) Gid);

impl FromStr for SocketGroup {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(number) = text.parse() {
            return Ok(Self(Gid::from_raw(number)));
        }
        match Group::from_name(text) {
            Ok(Some(group)) => Ok(Self(group.gid)),
            Ok(None) => Err(format!("there is no group {text:?} on this host; a number is possible too")),
            Err(error) => Err(format!("failed to look for group {text:?}: {error}")),
        }
    }
}

impl Open {
    const fn mode(self) -> u32 {
        match self {
            Self::ToGroup(_) => 0o660,
            Self::ToAll => 0o666,
        }
    }
}

/// Listens at the path, and makes the socket again when it vanishes. It is removed when the second value is dropped.
pub(super) fn listen(path: &Path, open: Open) -> anyhow::Result<(KeptListener, RemovedAtEnd)> {
    if path.as_os_str().len() > LONGEST {
        let shown = path.display();
        bail!("socket path {shown} is too long: {LONGEST} bytes are possible; give another with --socket");
    }
    let at = path.to_path_buf();
    let make = move || make(&at, open).map_err(|error| io::Error::other(format!("{error:#}")));
    let listener = KeptListener::new(path, make, tell(path))?;
    Ok((listener, RemovedAtEnd(path.to_path_buf())))
}

/// Makes the socket. If it cannot be opened to those who may connect, it is removed again.
fn make(path: &Path, open: Open) -> anyhow::Result<StdUnixListener> {
    remove_old(path)?;
    let cannot = || format!("failed to listen at {}", path.display());
    let socket = UnixSocket::new_stream().with_context(cannot)?;
    socket.bind(path).with_context(cannot)?;
    let opened = open_to(path, open).and_then(|()| {
        let listener = socket.listen(BACKLOG).with_context(cannot)?;
        listener.into_std().with_context(cannot)
    });
    if opened.is_err() {
        drop(RemovedAtEnd(path.to_path_buf()));
    }
    opened
}

/// Sets the group and mode of the socket.
fn open_to(path: &Path, open: Open) -> anyhow::Result<()> {
    let shown = path.display();
    if let Open::ToGroup(Some(group)) = open {
        chown(path, None, Some(group.as_raw())).with_context(|| {
            format!(
                "failed to give {shown} to group {group}: only root and members of that group can; \
                 give another with --socket-group"
            )
        })?;
    }
    fs::set_permissions(path, fs::Permissions::from_mode(open.mode()))
        .with_context(|| format!("failed to set the mode of {shown}"))
}

/// Logs what becomes of the socket.
fn tell(path: &Path) -> impl FnMut(Fate) + Send + use<> {
    let path = path.to_path_buf();
    move |fate| match fate {
        Fate::Remade => {
            tracing::warn!(socket = %path.display(), "the socket was gone and has been made again");
        }
        Fate::Gone(why) => {
            tracing::error!(socket = %path.display(), why, "the socket is gone and cannot be made again");
        }
    }
}

/// A socket that a dead program left is removed; one that answers is not.
fn remove_old(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("failed to look at {shown}")),
        Ok(about) if !about.file_type().is_socket() => bail!("{shown} is there already and no socket"),
        Ok(_) => {}
    }
    match StdUnixStream::connect(path) {
        Ok(_) => bail!("somebody serves {shown} already"),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(error).with_context(|| format!("{shown} is there already and another user's"))
        }
        Err(_) => fs::remove_file(path).with_context(|| format!("failed to remove {shown}")),
    }
}

/// A socket that nobody serves any more misleads.
pub(super) struct RemovedAtEnd(PathBuf);

impl Drop for RemovedAtEnd {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = fs::remove_file(&self.0);
    }
}
