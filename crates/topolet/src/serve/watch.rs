//! The watched folder: read at once when something happens in it, and every now and then in any case.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use node_agent::{Event, Folder, Listing, Others};
use notify::{RecursiveMode, Watcher as _};
use pod_spec::PodLevelResources;

use super::owner::Message;

/// As the kubelet's `fileCheckFrequency`.
const EVERY: Duration = Duration::from_secs(20);
/// Files come in several steps; they are read when nothing has happened for so long.
const SETTLED: Duration = Duration::from_millis(50);
/// They are read after so long even if something happens all the time.
const LATEST: u32 = 20;

/// Watches a folder for the rest of the program; without one there are no such pods.
pub(super) fn start(
    folder: Option<&Path>,
    pod_level: PodLevelResources,
    owner: SyncSender<Message>,
) -> anyhow::Result<()> {
    let Some(path) = folder.map(Path::to_path_buf) else {
        let none = Listing { pods: Vec::new(), others: Others::Gone };
        // It ends only with the program.
        let _ = owner.send(Message::Event(Event::Listed(none)));
        return Ok(());
    };
    thread::Builder::new()
        .name("manifests".to_owned())
        .spawn(move || watch(&path, Folder::new(&path, pod_level), &owner))?;
    Ok(())
}

fn watch(path: &Path, mut folder: Folder, owner: &SyncSender<Message>) {
    let (sender, changes) = mpsc::sync_channel(1);
    let _watcher = watcher(&[path.to_path_buf()], EVERY, sender);
    let mut is_told = false;
    loop {
        match folder.read() {
            Ok((listing, troubles)) => {
                is_told = false;
                for trouble in troubles {
                    tracing::error!(file = %trouble.file.display(), "manifest cannot be used: {}", trouble.what);
                }
                if owner.send(Message::Event(Event::Listed(listing))).is_err() {
                    return;
                }
            }
            Err(error) => {
                if !std::mem::replace(&mut is_told, true) {
                    tracing::error!(cause = %error.error, "{error}: its pods stay as they are");
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
            // Nobody watches: the folder is only listed.
            Err(RecvTimeoutError::Disconnected) => thread::sleep(EVERY),
        }
    }
}

/// Has the channel told of changes in folders; `None` if they cannot be watched, and are only listed every so often.
pub(super) fn watcher(
    folders: &[PathBuf],
    every: Duration,
    changed: SyncSender<()>,
) -> Option<notify::RecommendedWatcher> {
    let watching = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let is_change = event.as_ref().map_or(true, |event| !event.kind.is_access());
        if is_change {
            // One that has not been looked at stands for all.
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
