//! The kubelet's own flags, which only a `kubelet` has on its command line.

use std::io;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;
use thiserror::Error;

use crate::args_file::{self, Variables};
use crate::k3s;
use crate::open::{Read, open_below, read_at_most};
use crate::program::{Program, Recognised, Shown};

/// A file of flags has some hundred bytes.
const MOST_OF_FILE: u64 = 1 << 20;

/// Why the flags of a kubelet are not known.
#[derive(Debug, Error)]
pub enum NoArguments {
    /// The arguments have more than 128 KiB, Linux' limit of a single one.
    #[error("process {pid} has more than 128 KiB of arguments, so its flags were not read")]
    TooLong {
        /// Its process id.
        pid: u32,
    },
    /// They cannot be shown, and a path among them would be another one.
    #[error("an argument of process {pid} is not UTF-8, so its flags were not read")]
    NotUtf8 {
        /// Its process id.
        pid: u32,
    },
    /// k3s writes a title over its arguments.
    #[error(
        "process {pid}: k3s removes its arguments from /proc; its systemd unit and /etc/rancher/k3s/config.yaml have them"
    )]
    Hidden {
        /// Its process id.
        pid: u32,
    },
    /// The file with the flags of the kubelet in `kubelite` cannot be read.
    #[error("failed to read the kubelet's flags in {}", path.display())]
    Unreadable {
        /// Its path for the process.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// That file has more than 1 MiB.
    #[error("{} has more than 1 MiB, so the kubelet's flags were not read", path.display())]
    FileTooLong {
        /// Its path for the process.
        path: PathBuf,
    },
    /// Any user could name any file that the reader may read. Only root's processes and the reader's own are trusted.
    #[error(
        "{} was not read: process {pid}, which names it as its file of flags, is not known to be root's or yours",
        path.display()
    )]
    OtherUser {
        /// Its process id.
        pid: u32,
        /// The file's path for the process.
        path: PathBuf,
    },
}

/// What the flags of a process depend on.
pub(crate) struct Asked<'a> {
    pub(crate) pid: u32,
    pub(crate) recognised: &'a Recognised<'a>,
    /// Whether its command line was read to the end.
    pub(crate) is_whole: bool,
    pub(crate) user: Option<u32>,
    pub(crate) files: &'a Path,
    pub(crate) executable: Option<&'a Path>,
}

/// The kubelet's flags.
pub(crate) fn of(asked: &Asked<'_>) -> Result<Vec<String>, NoArguments> {
    let pid = asked.pid;
    match asked {
        Asked { is_whole: false, .. } => return Err(NoArguments::TooLong { pid }),
        Asked { recognised: Recognised { shown: Shown::Title, .. }, .. } => {
            return Err(NoArguments::Hidden { pid });
        }
        _ => {}
    }
    let own: Option<Vec<&str>> =
        asked.recognised.rest.iter().map(|argument| str::from_utf8(argument).ok()).collect();
    let own = own.ok_or(NoArguments::NotUtf8 { pid })?;
    match asked.recognised.program {
        Program::Kubelet | Program::Hyperkube => Ok(own.into_iter().map(str::to_owned).collect()),
        Program::K3s => Ok(k3s::kubelet_flags(&own)),
        Program::Kubelite => kubelite(&own, asked),
    }
}

/// The flags in the file that kubelite names.
fn kubelite(own: &[&str], asked: &Asked<'_>) -> Result<Vec<String>, NoArguments> {
    let path = PathBuf::from(args_file::path(own));
    if asked.user != Some(0) && asked.user != Some(geteuid().as_raw()) {
        return Err(NoArguments::OtherUser { pid: asked.pid, path });
    }
    let read = open_below(asked.files, &path).and_then(|file| read_at_most(file, MOST_OF_FILE));
    match read {
        Err(source) => Err(NoArguments::Unreadable { path, source }),
        Ok(Read { is_whole: false, .. }) => Err(NoArguments::FileTooLong { path }),
        Ok(Read { bytes, .. }) => {
            let text = str::from_utf8(&bytes).map_err(|_| NoArguments::NotUtf8 { pid: asked.pid })?;
            Ok(args_file::flags(text, &Variables::of(&path, asked.executable)))
        }
    }
}
