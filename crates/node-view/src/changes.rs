//! Changes in watched folders, for threads that read the folders again after each.

use std::path::PathBuf;
use std::time::Duration;

use crossbeam::channel::{self, Receiver, Sender};
use crossbeam::select;
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

/// How long a thread waits for changes.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Folders are read again after this time even if nothing has changed.
    pub longest: Duration,
    /// Files change in several steps. The steps are over when nothing has changed for this time.
    pub settled: Duration,
    /// Folders are read this long after the first change even if the changes go on.
    pub latest: Duration,
}

/// The changes in some folders.
pub struct Changes {
    announced: Receiver<()>,
    announce: Sender<()>,
    pace: Pace,
    /// Sends the changes until it is dropped. `None`: folders cannot be watched here, and are read at the longest pace.
    _watcher: Option<RecommendedWatcher>,
}

impl Changes {
    /// Watches folders, but not the folders in them.
    pub fn of(folders: &[PathBuf], pace: Pace) -> Self {
        let (announce, announced) = channel::bounded(1);
        let changed = announce.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
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
        match watcher {
            Ok(watcher) => Self { announced, announce, pace, _watcher: Some(watcher) },
            Err(error) => {
                let every = pace.longest;
                // A folder that is missing is named by its reader, which fails too.
                if !matches!(error.kind, notify::ErrorKind::PathNotFound) {
                    tracing::warn!(%error, ?folders, "folders are not watched, but listed every {every:?}");
                }
                Self { announced, announce, pace, _watcher: None }
            }
        }
    }

    /// Announces a change that is in no folder.
    pub fn announcer(&self) -> impl Fn() + Send + 'static {
        let announce = self.announce.clone();
        move || {
            // A full channel announces the change already.
            let _ = announce.try_send(());
        }
    }

    /// Waits until the folders are to be read again.
    pub fn wait(&self) {
        let Pace { longest, settled, latest } = self.pace;
        if self.announced.recv_timeout(longest).is_err() {
            return;
        }
        let latest = channel::after(latest);
        loop {
            select! {
                recv(self.announced) -> _ => {}
                recv(latest) -> _ => return,
                default(settled) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const HOUR: Duration = Duration::from_hours(1);
    const SHORT: Duration = Duration::from_millis(20);

    #[test]
    fn several_changes_are_one() {
        let folder = tempfile::tempdir().unwrap();
        // So long that a busy machine announces all three in time.
        let settled = Duration::from_secs(1);
        let pace = Pace { longest: HOUR, settled, latest: HOUR };
        let changes = Changes::of(&[folder.path().to_path_buf()], pace);
        for name in ["a", "b", "c"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        changes.wait();
        assert!(changes.announced.is_empty(), "no change is left for the next wait");
    }

    #[test]
    fn changes_that_go_on_are_read_in_time() {
        let (sender, receiver) = channel::bounded(1);
        let (announce, _) = channel::bounded(1);
        let writer = std::thread::spawn(move || while sender.send(()).is_ok() {});
        let pace = Pace { longest: HOUR, settled: HOUR, latest: SHORT };
        let changes = Changes { announced: receiver, announce, pace, _watcher: None };
        changes.wait();
        drop(changes);
        writer.join().unwrap();
    }

    #[test]
    fn folders_that_cannot_be_watched_are_read_at_the_longest_pace() {
        let pace = Pace { longest: SHORT, settled: HOUR, latest: HOUR };
        Changes::of(&[PathBuf::from("/nonexistent/folder")], pace).wait();
    }
}
