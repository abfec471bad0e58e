//! Sockets and folders that have to be there while the node is served: folders are made again when they are gone, and
//! the daemon is not ready while a socket is. Who listens at a socket makes it again, see
//! [`KeptListener`](device_plugin::KeptListener).

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use node_agent::{Agent, Event, PODS};

use super::owner::Message;
use super::root;
use super::shared::Shared;

/// How often they are looked at.
const EVERY: Duration = Duration::from_secs(1);
/// The sockets below the root.
const SOCKETS: [&str; 2] = ["device-plugins/kubelet.sock", "pod-resources/kubelet.sock"];

/// The folders below the root in which files are.
const FOLDERS: [&str; 2] = ["device-plugins", PODS];

/// What is missing now.
#[derive(Default)]
pub(super) struct Missing(Mutex<Vec<String>>);

impl Missing {
    fn set(&self, missing: Vec<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = missing;
    }

    /// Why the daemon is not ready; `None`: all is there.
    pub(super) fn why_not_ready(&self) -> Option<String> {
        let missing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (!missing.is_empty()).then(|| missing.join("; "))
    }
}

/// Looks at them for the rest of the program.
pub(super) fn start(
    root: &Path,
    socket: &Path,
    shared: Arc<Shared>,
    owner: SyncSender<Message>,
) -> anyhow::Result<()> {
    let mut sockets = vec![socket.to_path_buf()];
    sockets.extend(SOCKETS.map(|path| root.join(path)));
    let folders = FOLDERS.map(|folder| (folder, identity(&root.join(folder))));
    let mut keeping =
        Keeping { root: root.to_path_buf(), sockets, folders, shared, owner, rewriting: Arc::default() };
    thread::Builder::new().name("kept".to_owned()).spawn(move || {
        loop {
            thread::sleep(EVERY);
            keeping.look();
        }
    })?;
    Ok(())
}

struct Keeping {
    root: PathBuf,
    sockets: Vec<PathBuf>,
    /// Which folders files are in; `None`: there is none.
    folders: [(&'static str, Option<Identity>); 2],
    shared: Arc<Shared>,
    owner: SyncSender<Message>,
    rewriting: Arc<Rewriting>,
}

impl Keeping {
    fn look(&mut self) {
        let is_socket = |path: &Path| fs::metadata(path).is_ok_and(|about| about.file_type().is_socket());
        let gone = self.sockets.iter().filter(|path| !is_socket(path));
        let mut missing: Vec<String> =
            gone.map(|path| format!("socket {} is gone", path.display())).collect();
        // One that is made anew may get the number of the one before it.
        for (folder, known) in &mut self.folders {
            *known = known.filter(|known| identity(&self.root.join(*folder)) == Some(*known));
        }
        // Before the folder is there again: an empty one says that no pod runs.
        let marked = if self.root.join(PODS).is_dir() { Ok(()) } else { self.mark() };
        if let Err(error) = marked {
            missing.push(format!("failed to mark folder {PODS} as removed: {error}"));
        } else if let Err(error) = Agent::make_folders(&self.root) {
            missing.push(format!("{:#}", anyhow::Error::new(error)));
        }
        self.shared.missing.set(missing);
        for (folder, known) in &mut self.folders {
            let path = self.root.join(*folder);
            let now = identity(&path);
            if now == *known {
                continue;
            }
            *known = now;
            if now.is_some() {
                let why = format!("folder {} was removed, and its files are written again", path.display());
                tracing::warn!("{why}");
                // Nobody is left to be told once the owner has stopped.
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

    /// Until the files of pods are written again.
    fn mark(&mut self) -> io::Result<()> {
        self.rewriting = Arc::default();
        root::begin_rewriting(&self.root)
    }
}

/// A rewriting of the pods' files.
#[derive(Default)]
struct Rewriting {
    /// Whether the owner has heard of it.
    is_handled: AtomicBool,
}

/// Which folder it is: its file system, its number there, and when it was made, where that is known.
type Identity = (u64, u64, Option<SystemTime>);

fn identity(folder: &Path) -> Option<Identity> {
    let about = fs::metadata(folder).ok().filter(fs::Metadata::is_dir)?;
    Some((about.dev(), about.ino(), about.created().ok()))
}
