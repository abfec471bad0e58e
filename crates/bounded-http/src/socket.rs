//! The unix socket as a file: its owner, and which users may connect.
//!
//! No client can connect before [`BoundSocket::listen`]: the kernel refuses it whatever the mode is. So the
//! socket is bound, then it gets its group and mode, and then it listens. The umask, which is the whole
//! program's, is not touched.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, chown};
use std::path::PathBuf;
use std::str::FromStr;

use kept_socket::{BoundSocket, KeptListener, ListeningSocket, SocketChange, is_served};
use nix::unistd::{Gid, Group};
use thiserror::Error;

/// Longer paths do not fit a socket's address.
const LONGEST: usize = 107;
/// Connections that the kernel keeps until they are accepted.
const BACKLOG: i32 = 4096;

/// Where a unix socket is, and who may connect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnixSocket {
    /// At most 107 bytes.
    pub path: PathBuf,
    /// Who may connect.
    pub open: Open,
    /// How messages name what a user can change.
    pub options: OptionNames,
}

/// The command-line options with which a user gives another path or group; errors name them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OptionNames {
    /// Gives another path.
    pub path: &'static str,
    /// Gives another group.
    pub group: &'static str,
}

/// Who may connect to the socket; what each may do then is asked of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Open {
    /// Its owner and the members of the group that the program runs with (mode 0660).
    ToOwnGroup,
    /// Its owner and the members of this group (mode 0660).
    ToGroup(SocketGroup),
    /// Every user (mode 0666).
    ToAll,
}

/// A group by its name or number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SocketGroup(Gid);

/// What `chown` takes for no change of the group.
const NO_GROUP: u32 = u32::MAX;

/// Why a text names no group.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum GroupError {
    /// The host has none of that name.
    #[error("there is no group {0:?} on this host; a number is possible too")]
    Unknown(String),
    /// It is the number that the kernel takes for no group at all.
    #[error("{NO_GROUP} is no group: a file that is given to it keeps the group that it has")]
    NoGroup,
    /// The host's groups cannot be read.
    #[error("failed to look for group {0:?}: {1}")]
    NotRead(String, String),
}

impl FromStr for SocketGroup {
    type Err = GroupError;

    fn from_str(text: &str) -> Result<Self, GroupError> {
        if let Ok(number) = text.parse() {
            return if number == NO_GROUP {
                Err(GroupError::NoGroup)
            } else {
                Ok(Self(Gid::from_raw(number)))
            };
        }
        match Group::from_name(text) {
            Ok(Some(group)) => Ok(Self(group.gid)),
            Ok(None) => Err(GroupError::Unknown(text.to_owned())),
            Err(error) => Err(GroupError::NotRead(text.to_owned(), error.to_string())),
        }
    }
}

impl Open {
    const fn mode(self) -> u32 {
        match self {
            Self::ToOwnGroup | Self::ToGroup(_) => 0o660,
            Self::ToAll => 0o666,
        }
    }
}

/// Why a socket cannot be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SocketError {
    /// Its path does not fit an address.
    #[error("socket path {path} is too long: {LONGEST} bytes are possible; give another with {option}")]
    #[allow(missing_docs, reason = "the message says what each is")]
    TooLong { path: String, option: &'static str },
    /// Another file is at its path.
    #[error("{path} is there already and no socket: remove it, or give another path with {option}")]
    #[allow(missing_docs, reason = "the message says what each is")]
    NoSocket { path: String, option: &'static str },
    /// Another process listens at its path.
    #[error("another process serves {path}: end it, or give another path with {option}")]
    #[allow(missing_docs, reason = "the message says what each is")]
    Served { path: String, option: &'static str },
    /// Its file cannot be given to its group.
    #[error(
        "failed to give {path} to group {group}: only root and members of that group can; give another with {option}"
    )]
    #[allow(missing_docs, reason = "the message says what each is")]
    NotGiven {
        path: String,
        group: u32,
        option: &'static str,
        #[source]
        source: io::Error,
    },
    /// The file system or the kernel refuses it.
    #[error("{what}")]
    Io {
        /// What was tried, with the path.
        what: String,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
}

/// What failed at a path.
fn failed(what: String) -> impl FnOnce(io::Error) -> SocketError {
    move |source| SocketError::Io { what, source }
}

/// Listens at the path, makes the socket again when another process removes or replaces it, and tells of each change.
pub(crate) fn listen(
    socket: UnixSocket,
    tell: impl FnMut(SocketChange) + Send + 'static,
) -> Result<KeptListener, SocketError> {
    if socket.path.as_os_str().len() > LONGEST {
        let path = socket.path.display().to_string();
        return Err(SocketError::TooLong { path, option: socket.options.path });
    }
    let first = socket.make()?;
    let path = socket.path.display().to_string();
    let again = move || socket.make().map_err(|error| io::Error::other(with_cause(&error)));
    KeptListener::new(first, again, tell).map_err(failed(format!("failed to listen at {path}")))
}

/// The error and its cause in one line.
fn with_cause(error: &SocketError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

impl UnixSocket {
    /// Makes the socket. If it cannot be opened to those who may connect, it is removed again.
    fn make(&self) -> Result<ListeningSocket, SocketError> {
        self.remove_old()?;
        let cannot = || format!("failed to listen at {}", self.path.display());
        let socket = BoundSocket::bind(&self.path).map_err(failed(cannot()))?;
        self.open()?;
        socket.listen(BACKLOG).map_err(failed(cannot()))
    }

    /// Sets the group and mode of the socket.
    fn open(&self) -> Result<(), SocketError> {
        let path = self.path.display().to_string();
        if let Open::ToGroup(SocketGroup(group)) = self.open {
            let option = self.options.group;
            chown(&self.path, None, Some(group.as_raw())).map_err(|source| SocketError::NotGiven {
                path: path.clone(),
                group: group.as_raw(),
                option,
                source,
            })?;
        }
        fs::set_permissions(&self.path, fs::Permissions::from_mode(self.open.mode()))
            .map_err(failed(format!("failed to set the mode of {path}")))
    }

    /// Removes a socket that no process serves.
    fn remove_old(&self) -> Result<(), SocketError> {
        let (path, shown, option) = (&self.path, self.path.display().to_string(), self.options.path);
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(format!("failed to look at {shown}"))(error)),
            Ok(about) if !about.file_type().is_socket() => {
                return Err(SocketError::NoSocket { path: shown, option });
            }
            Ok(_) => {}
        }
        match is_served(path) {
            Ok(true) => Err(SocketError::Served { path: shown, option }),
            Ok(false) => fs::remove_file(path).map_err(failed(format!("failed to remove {shown}"))),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Err(failed(format!("{shown} is there already and another user's"))(error))
            }
            Err(error) => Err(failed(format!(
                "failed to find out whether a process serves {shown}: remove it if none does"
            ))(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: OptionNames = OptionNames { path: "--socket", group: "--socket-group" };

    #[test]
    fn what_is_in_the_way_is_named_with_the_option_that_avoids_it() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let long = folder.path().join("x".repeat(LONGEST));
        let file = folder.path().join("file");
        assert!(fs::write(&file, "").is_ok());
        let served = folder.path().join("a.sock");
        let held = BoundSocket::bind(&served).and_then(|socket| socket.listen(1));
        assert!(held.is_ok());
        for (path, expected) in [
            (long, "is too long: 107 bytes are possible; give another with --socket"),
            (file, "is there already and no socket: remove it, or give another path with --socket"),
            (served.clone(), "end it, or give another path with --socket"),
        ] {
            let socket = UnixSocket { path, open: Open::ToOwnGroup, options: OPTIONS };
            let error = listen(socket, |_| {}).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.ends_with(expected), "{error}");
        }
        drop(held);
    }

    #[test]
    fn the_mode_of_the_socket_says_who_connects() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        for (open, mode) in [(Open::ToOwnGroup, 0o660), (Open::ToAll, 0o666)] {
            let path = folder.path().join(format!("{mode:o}.sock"));
            let socket = UnixSocket { path: path.clone(), open, options: OPTIONS }.make();
            assert!(socket.is_ok(), "{socket:?}");
            let about = fs::metadata(&path).map(|about| about.permissions().mode() & 0o777);
            assert_eq!(about.ok(), Some(mode));
        }
    }

    /// `chown` leaves the group of a file as it is for that number.
    #[test]
    fn the_number_of_no_group_is_refused() {
        assert_eq!(SocketGroup::from_str("4294967295"), Err(GroupError::NoGroup));
        assert_eq!(SocketGroup::from_str("4294967294"), Ok(SocketGroup(Gid::from_raw(4_294_967_294))));
        assert_eq!(SocketGroup::from_str("0"), Ok(SocketGroup(Gid::from_raw(0))));
    }
}
