//! The watched folder: read at once when something happens in it, and every now and then in any case.

use std::path::Path;
use std::thread;
use std::time::Duration;

use crossbeam::channel::Sender;
use node_agent::{Event, Folder, FolderError, FolderProblem, FolderProblemKind, Listing};
use node_state::ManifestFile;
use node_view::{Changes, Message, NodeView, Pace, held_back, kept};

/// The longest wait is the kubelet's `fileCheckFrequency`.
const PACE: Pace = Pace {
    longest: Duration::from_secs(20),
    settled: Duration::from_millis(50),
    latest: Duration::from_secs(1),
};

/// Watches a folder for the rest of the program; without one there are no such pods.
pub(super) fn start(folder: Option<&Path>, view: &NodeView, owner: Sender<Message>) -> anyhow::Result<()> {
    let Some(path) = folder.map(Path::to_path_buf) else {
        // The owner has stopped if it does not take the message: the daemon ends.
        let _ = owner.send(Message::Event(Event::Listed(Listing::default())));
        return Ok(());
    };
    let folder = Folder::new(&path, view.node().node.pod_rules());
    let watching = Watching { view: view.clone(), owner };
    thread::Builder::new().name("manifests".to_owned()).spawn(move || watching.run(&path, folder))?;
    Ok(())
}

struct Watching {
    view: NodeView,
    owner: Sender<Message>,
}

impl Watching {
    fn run(&self, path: &Path, mut folder: Folder) {
        let changes = Changes::of(&[path.to_path_buf()], PACE);
        loop {
            match folder.read() {
                Ok((listing, troubles)) => {
                    // Faults are published before the listing takes effect, so that readers never see its pods without them.
                    let unusable = folder.unusable().map(|(file, why)| (file, one_line(why)));
                    self.view.conditions.manifests_read(unusable);
                    for trouble in &troubles {
                        self.tell(trouble);
                    }
                    if self.owner.send(Message::Event(Event::Listed(listing))).is_err() {
                        return;
                    }
                }
                Err(FolderError { path, error }) => {
                    let why = format!("manifests folder {} cannot be read: {error}", path.display());
                    if self.view.conditions.manifests_not_read(&why) {
                        tracing::warn!("{why}: its pods stay as they are");
                    }
                }
            }
            changes.wait();
        }
    }

    /// Logs what is wrong with a file, and which pods stay as they are for it.
    fn tell(&self, trouble: &FolderProblem) {
        let FolderProblem { file, kind, what } = trouble;
        let (shown, what) = (file.display(), one_line(what));
        match kind {
            FolderProblemKind::Unusable => {
                let kept = kept(&held_back(&self.view.snapshot(), &ManifestFile::at(file)));
                tracing::warn!(file = %shown, "manifest cannot be used: {what}: {kept}");
            }
            FolderProblemKind::Twin => tracing::warn!(file = %shown, "{what}: the one there is used"),
            FolderProblemKind::Ignored => {
                tracing::warn!(file = %shown, "field is ignored, as by a kubelet: {what}");
            }
        }
    }
}

/// A text of several lines as one.
fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}
