//! Changes of the kubelet's state files, as the kernel reports them.
//!
//! A kubelet writes its decision on a pod before it asks the runtime for the pod's sandbox, and for its containers after
//! that. Containers with shared CPUs are narrowed in between, so that at the creation nothing is left to write.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kubelet_checkpoint::store::StateFile;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use std::os::fd::AsFd as _;

/// A kubelet renames a new file to the name of the old one; other programs write it in its place.
const CHANGES: AddWatchFlags = AddWatchFlags::IN_MOVED_TO.union(AddWatchFlags::IN_CLOSE_WRITE);

/// A kubelet's folder, as far as it is watched.
#[derive(Debug)]
pub(crate) struct Watch {
    folder: PathBuf,
    inotify: Option<Inotify>,
    fails: Option<Errno>,
}

impl Watch {
    /// Of the folder with the state files, which need not be there yet.
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), inotify: None, fails: None }
    }

    /// Waits for a change of a state file, but not longer than `time`. Whether there was one, or may have been.
    pub(crate) fn changed_within(&mut self, time: Duration) -> bool {
        if self.inotify.is_none() {
            self.begin();
            if self.inotify.is_some() {
                // What has changed before is not reported.
                return true;
            }
        }
        let Some(inotify) = &self.inotify else {
            std::thread::sleep(time);
            return false;
        };
        let timeout = PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(inotify.as_fd(), PollFlags::POLLIN)], timeout) {
            Ok(0) | Err(Errno::EINTR) => return false,
            Ok(_) => {}
            Err(error) => return self.ended(error),
        }
        match inotify.read_events() {
            Ok(events) => {
                let is_of = |name: &std::ffi::OsStr| {
                    [StateFile::Cpu, StateFile::Memory].iter().any(|file| Path::new(name) == file.path())
                };
                // An event without a name is of the folder itself, or says that there were too many of them.
                let is_folder = events.iter().any(|event| event.mask.contains(AddWatchFlags::IN_IGNORED));
                let changed = events.iter().any(|event| event.name.as_deref().is_none_or(is_of));
                if is_folder {
                    self.inotify = None;
                }
                changed
            }
            Err(Errno::EAGAIN) => false,
            Err(error) => self.ended(error),
        }
    }

    fn begin(&mut self) {
        let begun = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK).and_then(|inotify| {
            inotify.add_watch(&self.folder, CHANGES)?;
            Ok(inotify)
        });
        match begun {
            Ok(inotify) => (self.inotify, self.fails) = (Some(inotify), None),
            Err(error) => _ = self.ended(error),
        }
    }

    /// It does not work any more, and is tried again at the next call.
    fn ended(&mut self, error: Errno) -> bool {
        self.inotify = None;
        if self.fails != Some(error) {
            let folder = self.folder.display();
            tracing::warn!(
                "changes in {folder} are not reported ({error}), and looked for every second instead"
            );
        }
        self.fails = Some(error);
        false
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_is_replaced_or_written_is_reported_and_others_are_not() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let root = folder.path().join("kubelet");
        let mut watch = Watch::new(&root);
        let soon = Duration::from_millis(20);
        assert!(!watch.changed_within(soon), "there is no folder");
        assert!(fs::create_dir(&root).is_ok());
        assert!(watch.changed_within(soon), "what happened before is not known");
        assert!(!watch.changed_within(soon));
        let (new, state) = (root.join(".new"), root.join("cpu_manager_state"));
        assert!(fs::write(&new, "{}").is_ok());
        assert!(!watch.changed_within(soon), "it is another file");
        assert!(fs::rename(&new, &state).is_ok());
        assert!(watch.changed_within(Duration::from_secs(10)));
        assert!(fs::write(&state, "{}").is_ok());
        assert!(watch.changed_within(Duration::from_secs(10)));
        assert!(fs::remove_dir_all(&root).and_then(|()| fs::create_dir(&root)).is_ok());
        while watch.inotify.is_some() {
            watch.changed_within(soon);
        }
        assert!(watch.changed_within(soon), "it is another folder");
    }
}
