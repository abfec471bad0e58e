//! Folders that have to be at their paths while the daemon runs, and the file of quarantined pods.
//!
//! A thread makes removed folders again. A listener makes its removed or replaced socket again
//! ([`KeptListener`](kept_socket::KeptListener)).

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
use node_view::NodeCondition::{FoldersPresent, QuarantineKnown};
use node_view::{Message, NodeConditions, Snapshots};

use super::root;

/// How often the folders are looked at.
const EVERY: Duration = Duration::from_secs(1);
/// The folders below the root that contain state files.
const FOLDERS: [&str; 2] = ["device-plugins", PODS];

/// Starts the thread that keeps the folders, for the rest of the program.
pub(super) fn start(
    root: &Path,
    snapshots: Snapshots,
    conditions: Arc<NodeConditions>,
    owner: Sender<Message>,
) -> anyhow::Result<()> {
    let folders = FOLDERS.map(|folder| (folder, identity(&root.join(folder))));
    let (root, rewriting) = (root.to_path_buf(), Arc::default());
    let mut keeping = Keeping { root, folders, snapshots, conditions, owner, rewriting };
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
    snapshots: Snapshots,
    conditions: Arc<NodeConditions>,
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
        self.conditions.found(FoldersPresent, made.err().as_deref());
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
        let is_written = self.snapshots.latest().behind.is_none();
        if self.rewriting.is_handled.load(Ordering::Acquire)
            && is_written
            && let Err(error) = root::end_rewriting(&self.root)
        {
            tracing::warn!("the mark of a removed folder is not removed: {error}");
        }
    }

    /// A file of quarantined pods that could not be read may be gone or mended.
    fn look_at_quarantine(&self) {
        let conditions = &self.conditions;
        if !conditions.quarantine_is_known() {
            conditions.found(QuarantineKnown, quarantine_unknown(&self.root).as_deref());
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
