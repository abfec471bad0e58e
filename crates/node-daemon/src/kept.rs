//! Folders and sockets that have to be at their paths while the daemon runs, and what `/readyz` says of those that are
//! not, and of a file of quarantined pods that cannot be read.
//!
//! A thread makes removed folders again. A listener makes its removed or replaced socket again
//! ([`KeptListener`](kept_socket::KeptListener)), and reports here whether it is at its path.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam::channel::{self, Sender};
use kept_socket::FileIdentity;
use node_agent::Event;
use node_state::PODS;
use parking_lot::{Mutex, MutexGuard};

use super::owner::Message;
use super::root;
use super::shared::Shared;

/// How often the folders are looked at.
const EVERY: Duration = Duration::from_secs(1);
/// The folders below the root that contain state files.
const FOLDERS: [&str; 2] = ["device-plugins", PODS];

/// The sockets and folders that are not at their paths.
#[derive(Default)]
pub(super) struct Missing(Mutex<Parts>);

#[derive(Default)]
struct Parts {
    /// Why the folders cannot be made.
    folders: Option<String>,
    /// Why this process does not serve each socket.
    sockets: BTreeMap<PathBuf, String>,
    /// Why it is not known which pods are quarantined.
    quarantine: Option<String>,
}

impl Missing {
    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.0.lock()
    }

    /// This process serves the socket at `path`.
    pub(super) fn socket_is_served(&self, path: &Path) {
        self.parts().sockets.remove(path);
    }

    /// This process does not serve the socket at `path`, for the reason `why`.
    pub(super) fn socket_is_not_served(&self, path: &Path, why: &str) {
        self.parts().sockets.insert(path.to_path_buf(), why.to_owned());
    }

    /// It is not known which pods are quarantined, for the reason `why`; `None`: it is.
    pub(super) fn quarantine_is_unknown(&self, why: Option<String>) {
        self.parts().quarantine = why;
    }

    /// Why the daemon is not ready; `None`: all folders and sockets are there, and the quarantined pods are known.
    pub(super) fn why_not_ready(&self) -> Option<String> {
        let parts = self.parts();
        let sockets = parts.sockets.iter().map(|(path, why)| {
            let path = path.display();
            format!(
                "socket {path} is not served: {why}; remove what is at that path or end the process that serves it, \
                 and the daemon makes the socket again"
            )
        });
        let all = parts.folders.clone().into_iter().chain(sockets).chain(parts.quarantine.clone());
        let all: Vec<String> = all.collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// Starts the thread that keeps the folders, for the rest of the program.
pub(super) fn start(root: &Path, shared: Arc<Shared>, owner: Sender<Message>) -> anyhow::Result<()> {
    let folders = FOLDERS.map(|folder| (folder, identity(&root.join(folder))));
    let mut keeping = Keeping { root: root.to_path_buf(), folders, shared, owner, rewriting: Arc::default() };
    thread::Builder::new().name("kept".to_owned()).spawn(move || {
        for _ in channel::tick(EVERY) {
            keeping.look();
        }
    })?;
    Ok(())
}

struct Keeping {
    root: PathBuf,
    /// The folders whose files the owner knows to be written; `None`: there is no such folder.
    folders: [(&'static str, Option<FileIdentity>); 2],
    shared: Arc<Shared>,
    owner: Sender<Message>,
    rewriting: Arc<Rewriting>,
}

impl Keeping {
    fn look(&mut self) {
        self.look_at_quarantine();
        // A folder that is made now may get the identity of the removed one, where files have no time of creation.
        for (folder, known) in &mut self.folders {
            *known = known.filter(|known| identity(&self.root.join(*folder)) == Some(*known));
        }
        // Before the folder is there again: an empty one says that no pod runs.
        let marked = if self.root.join(PODS).is_dir() { Ok(()) } else { self.mark() };
        let made = match marked {
            Ok(()) => root::make_folders(&self.root).map_err(|error| format!("{error:#}")),
            Err(error) => Err(format!("failed to mark folder {PODS} as removed: {error}")),
        };
        self.shared.missing.parts().folders = made.err();
        for (folder, known) in &mut self.folders {
            let path = self.root.join(*folder);
            let now = identity(&path);
            if now == *known {
                continue;
            }
            *known = now;
            if now.is_some() {
                let why = format!(
                    "folder {} was removed or replaced while the daemon ran; the daemon writes its files again",
                    path.display()
                );
                tracing::warn!("{why}");
                // The owner has stopped if it does not take the message: the daemon ends.
                let rewriting = self.rewriting.clone();
                let then = Box::new(move || rewriting.is_handled.store(true, Ordering::Release));
                let _ = self.owner.send(Message::EventThen(Event::FilesLost { why }, then));
            }
        }
        let is_written = self.shared.snapshot.load().behind.is_none();
        if self.rewriting.is_handled.load(Ordering::Acquire)
            && is_written
            && let Err(error) = root::end_rewriting(&self.root)
        {
            tracing::warn!("the mark of a removed folder is not removed: {error}");
        }
    }

    /// A file of quarantined pods that could not be read may be gone or mended.
    fn look_at_quarantine(&self) {
        let missing = &self.shared.missing;
        if missing.parts().quarantine.is_some() {
            missing.quarantine_is_unknown(quarantine_unknown(&self.root));
        }
    }

    /// Until the files of pods are written again.
    fn mark(&mut self) -> io::Result<()> {
        self.rewriting = Arc::default();
        root::begin_rewriting(&self.root)
    }
}

/// Why the file of quarantined pods in a folder does not name them; `None`: it does, or there is none.
pub(super) fn quarantine_unknown(root: &Path) -> Option<String> {
    node_input::quarantine_in(root).err().map(|error| format!("{error:#}"))
}

/// A rewriting of the pods' files.
#[derive(Default)]
struct Rewriting {
    /// Whether the owner has heard of it.
    is_handled: AtomicBool,
}

/// `None`: no folder is there.
fn identity(folder: &Path) -> Option<FileIdentity> {
    let about = fs::metadata(folder).ok().filter(fs::Metadata::is_dir)?;
    Some(FileIdentity::of(&about))
}
