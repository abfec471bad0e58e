//! The unix socket as a file: its owner, and which users may connect.
//!
//! Nobody can connect before [`BoundSocket::listen`]: the kernel refuses it whatever the mode is. So the socket is bound,
//! then it gets its group and mode, and then it listens. The umask, which is the whole program's, is not touched.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, chown};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, bail};
use kept_socket::{BoundSocket, Fate, KeptListener, ListeningSocket, is_served};
use nix::unistd::{Gid, Group};

use crate::serve::kept::Missing;

/// Longer paths do not fit a socket's address.
const LONGEST: usize = 107;
/// Connections that the kernel keeps until they are accepted.
const BACKLOG: i32 = 1024;

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

/// Listens at the path, makes the socket again when another process removes or replaces it, and reports to `missing`
/// whether it is served.
pub(super) fn listen(path: &Path, open: Open, missing: Arc<Missing>) -> anyhow::Result<KeptListener> {
    if path.as_os_str().len() > LONGEST {
        let shown = path.display();
        bail!("socket path {shown} is too long: {LONGEST} bytes are possible; give another with --socket");
    }
    let first = make(path, open)?;
    let at = path.to_path_buf();
    let again = move || make(&at, open).map_err(|error| io::Error::other(format!("{error:#}")));
    let listener = KeptListener::new(first, again, tell(path, missing))?;
    Ok(listener)
}

/// Makes the socket. If it cannot be opened to those who may connect, it is removed again.
fn make(path: &Path, open: Open) -> anyhow::Result<ListeningSocket> {
    remove_old(path)?;
    let cannot = || format!("failed to listen at {}", path.display());
    let socket = BoundSocket::bind(path).with_context(cannot)?;
    open_to(path, open)?;
    socket.listen(BACKLOG).with_context(cannot)
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

/// Logs and reports whether the socket is served.
fn tell(path: &Path, missing: Arc<Missing>) -> impl FnMut(Fate) + Send + use<> {
    let path = path.to_path_buf();
    move |fate| match fate {
        Fate::Remade => {
            missing.socket_is_served(&path);
            let socket = path.display();
            tracing::warn!(%socket, "another process removed or replaced the socket; it has been made again");
        }
        Fate::Back => {
            missing.socket_is_served(&path);
            tracing::warn!(socket = %path.display(), "the socket is at its path again");
        }
        Fate::Gone(why) => {
            missing.socket_is_not_served(&path, &why);
            tracing::error!(
                socket = %path.display(), why,
                "the socket was removed or replaced and cannot be made again; tried every second"
            );
        }
    }
}

/// Removes a socket that no process serves.
fn remove_old(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("failed to look at {shown}")),
        Ok(about) if !about.file_type().is_socket() => {
            bail!("{shown} is there already and no socket: remove it, or give another path with --socket")
        }
        Ok(_) => {}
    }
    match is_served(path) {
        Ok(true) => bail!("another process serves {shown}: end it, or give another path with --socket"),
        Ok(false) => fs::remove_file(path).with_context(|| format!("failed to remove {shown}")),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(error).with_context(|| format!("{shown} is there already and another user's"))
        }
        Err(error) => Err(error).with_context(|| {
            format!("failed to find out whether a process serves {shown}: remove it if none does")
        }),
    }
}
