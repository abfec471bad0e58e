//! The watched folder: read at once when something happens in it, and every now and then in any case.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use node_agent::{Event, Folder, FolderError, Listing, ManifestFile, Trouble, TroubleKind};
use notify::{RecursiveMode, Watcher as _};

use super::manifests::{held_back, kept};
use super::owner::Message;
use super::shared::Shared;

/// As the kubelet's `fileCheckFrequency`.
const EVERY: Duration = Duration::from_secs(20);
/// Files come in several steps; they are read when nothing has happened for so long.
const SETTLED: Duration = Duration::from_millis(50);
/// They are read after so long even if something happens all the time.
const LATEST: u32 = 20;

/// Watches a folder for the rest of the program; without one there are no such pods.
pub(super) fn start(
    folder: Option<&Path>,
    shared: &Arc<Shared>,
    owner: SyncSender<Message>,
) -> anyhow::Result<()> {
    let Some(path) = folder.map(Path::to_path_buf) else {
        // The owner has stopped if it does not take the message: the daemon ends.
        let _ = owner.send(Message::Event(Event::Listed(Listing::default())));
        return Ok(());
    };
    let shared = shared.clone();
    let folder = Folder::new(&path, shared.node.node.pod_level().counts());
    thread::Builder::new()
        .name("manifests".to_owned())
        .spawn(move || watch(&path, folder, &shared, &owner))?;
    Ok(())
}

fn watch(path: &Path, mut folder: Folder, shared: &Shared, owner: &SyncSender<Message>) {
    let (sender, changes) = mpsc::sync_channel(1);
    let _watcher = watcher(&[path.to_path_buf()], EVERY, sender);
    loop {
        match folder.read() {
            Ok((listing, troubles)) => {
                // Faults are published before the listing takes effect, so that readers never see its pods without them.
                shared.manifests.read(folder.unusable().map(|(file, why)| (file, one_line(why))));
                for trouble in &troubles {
                    tell(shared, trouble);
                }
                if owner.send(Message::Event(Event::Listed(listing))).is_err() {
                    return;
                }
            }
            Err(FolderError { path, error }) => {
                let why = format!("manifests folder {} cannot be read: {error}", path.display());
                if shared.manifests.not_read(&why) {
                    tracing::warn!("{why}: its pods stay as they are");
                }
            }
        }
        match changes.recv_timeout(EVERY) {
            Ok(()) => {
                let mut waited = 0;
                while waited < LATEST && changes.recv_timeout(SETTLED).is_ok() {
                    waited += 1;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            // There is no watcher: the folder is only listed.
            Err(RecvTimeoutError::Disconnected) => thread::sleep(EVERY),
        }
    }
}

/// Logs what is wrong with a file, and which pods stay as they are for it.
fn tell(shared: &Shared, trouble: &Trouble) {
    let Trouble { file, kind, what } = trouble;
    let (shown, what) = (file.display(), one_line(what));
    match kind {
        TroubleKind::Unusable => {
            let kept = kept(&held_back(&shared.snapshot.load(), &ManifestFile::at(file)));
            tracing::warn!(file = %shown, "manifest cannot be used: {what}: {kept}");
        }
        TroubleKind::Twin => tracing::warn!(file = %shown, "{what}: the one there is used"),
        TroubleKind::Ignored => tracing::warn!(file = %shown, "field is ignored, as by a kubelet: {what}"),
    }
}

/// A text of several lines as one.
fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Sends to the channel when something changes in one of the folders; `None` if they cannot be watched, and the caller
/// lists them every so often.
pub(super) fn watcher(
    folders: &[PathBuf],
    every: Duration,
    changed: SyncSender<()>,
) -> Option<notify::RecommendedWatcher> {
    let watching = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let is_change = event.as_ref().map_or(true, |event| !event.kind.is_access());
        if is_change {
            // A full channel announces the change already.
            let _ = changed.try_send(());
        }
    })
    .and_then(|mut watcher| {
        for folder in folders {
            watcher.watch(folder, RecursiveMode::NonRecursive)?;
        }
        Ok(watcher)
    });
    match watching {
        Ok(watcher) => Some(watcher),
        Err(error) => {
            tracing::warn!(%error, ?folders, "folders are not watched, but listed every {every:?}");
            None
        }
    }
}
