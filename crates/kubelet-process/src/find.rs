//! All processes of a machine, looked through for kubelets.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::proc::{Hidden, Listed, MOST_PROCESSES, Proc};
use crate::process::{KubeletProcess, look};

/// The kubelets that a machine's `/proc` shows.
#[derive(Debug, Default)]
pub struct Found {
    /// In ascending order of their process ids.
    pub kubelets: Vec<KubeletProcess>,
    /// Why there may be others; `None`: all processes of the machine were looked at.
    pub not_seen: Option<NotSeen>,
}

/// Why some processes were not looked at. `Display` is a sentence that says what to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotSeen {
    /// `/proc` does not show process 1 to this user: it is mounted with `hidepid`.
    OthersHidden,
    /// There are more than [`MOST_PROCESSES`]; those that `/proc` lists first were looked at.
    TooMany,
    /// So many processes exist, but their arguments may not be read.
    Unreadable(usize),
    /// `/proc` shows a pid namespace that is not the machine's first one, as in a container. In a machine that is a
    /// container itself, such as a node of kind, nothing is missing.
    PidNamespace,
}

/// Why the processes of a machine are not known.
#[derive(Debug, Error)]
pub enum FindError {
    /// There is a folder `proc`, which cannot be listed.
    #[error("failed to list the processes in {}", folder.display())]
    Unlisted {
        /// The folder.
        folder: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl fmt::Display for NotSeen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OthersHidden => f.write_str(
                "/proc hides the processes of other users (hidepid), so their kubelets are not seen; run as root",
            ),
            Self::TooMany => write!(
                f,
                "more than {MOST_PROCESSES} processes run; a kubelet among those that were not looked at is not seen"
            ),
            Self::Unreadable(1) => {
                f.write_str("the arguments of one process cannot be read, so it may be a kubelet; run as root")
            }
            Self::Unreadable(count) => write!(
                f,
                "the arguments of {count} processes cannot be read, so kubelets may be among them; run as root"
            ),
            Self::PidNamespace => f.write_str(
                "/proc shows the processes of one container alone, so kubelets outside of it are not seen; run \
                 outside of it, or with the host's pid namespace (hostPID)",
            ),
        }
    }
}

/// Finds the kubelets that run on a machine.
///
/// `root` is `/` for this machine, or a folder in which the root of a machine is mounted together with its `/proc`.
/// Without `root/proc`, or with one that has no processes, such as that of a captured machine, nothing is found. Each
/// file that is read has a limit: 128 KiB of arguments, 1 MiB of a file with arguments, 512 MiB of an executable, of which
/// at most 4 MiB are in memory at once.
///
/// # Errors
/// [`FindError::Unlisted`]. Of a process that cannot be read, [`Found::not_seen`] says so.
pub fn find(root: &Path) -> Result<Found, FindError> {
    let proc = Proc::below(root);
    let listed = proc.list().map_err(|source| FindError::Unlisted { folder: proc.folder.clone(), source })?;
    let Some(Listed { pids, whole }) = listed else { return Ok(Found::default()) };
    let mut found = Found::default();
    let mut unreadable = 0;
    for pid in &pids {
        match look(&proc, *pid) {
            Ok(kubelet) => found.kubelets.extend(kubelet),
            Err(_) => unreadable += 1,
        }
    }
    found.not_seen = match proc.hidden(&pids) {
        _ if pids.is_empty() => None,
        _ if !whole => Some(NotSeen::TooMany),
        Some(Hidden::Others) => Some(NotSeen::OthersHidden),
        _ if unreadable > 0 => Some(NotSeen::Unreadable(unreadable)),
        Some(Hidden::OutsideOfNamespace) => Some(NotSeen::PidNamespace),
        None => None,
    };
    Ok(found)
}
