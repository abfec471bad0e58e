//! Writes of partitions that the kernel never ends.
//!
//! A write of `cpuset.cpus.partition` may make the kernel start one of its threads while it holds the lock of all cpusets.
//! A process that is moved to a cgroup in that moment holds the lock of all forks and exits and waits for the other lock: from
//! then on no process of the machine starts or ends. Seen in guests with Linux 6.12, three times while pods with partitions were
//! started and moved 245 times. The write can only be broken off with its process, so the daemon ends itself: it is started
//! again, and nothing is lost with it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cgroup_cpuset::Files;
use parking_lot::{Condvar, Mutex};

/// A write of a partition takes some milliseconds.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);
/// Files with this in their names change partitions. Writes of memory nodes move memory, which takes its time.
const WATCHED: &str = "cpuset.cpus";

/// Files whose writes of partitions are watched.
#[derive(Clone)]
pub(super) struct Watched<F> {
    files: F,
    watch: Arc<Watch>,
}

/// The write that is in progress.
#[derive(Default)]
struct Watch {
    write: Mutex<Option<(PathBuf, Instant)>>,
    begun: Condvar,
}

impl<F: Files> Watched<F> {
    /// Watches writes to `files` in a thread, which calls `hangs` with the file once a write has not ended for `patience`.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn start(
        files: F,
        patience: Duration,
        hangs: impl FnOnce(&Path) + Send + 'static,
    ) -> io::Result<Self> {
        let watch = Arc::<Watch>::default();
        let watched = watch.clone();
        thread::Builder::new().name("cgroup-watch".to_owned()).spawn(move || {
            loop {
                if let Some(path) = watched.hanging(patience) {
                    return hangs(&path);
                }
            }
        })?;
        Ok(Self { files, watch })
    }
}

impl Watch {
    /// Waits for a write, and then as long as it may take; the file if it is still being written.
    fn hanging(&self, patience: Duration) -> Option<PathBuf> {
        let mut write = self.write.lock();
        let Some((_, began)) = *write else {
            self.begun.wait(&mut write);
            return None;
        };
        self.begun.wait_until(&mut write, began + patience);
        let is_late = |(_, began): &&(PathBuf, Instant)| began.elapsed() >= patience;
        write.as_ref().filter(is_late).map(|(path, _)| path.clone())
    }

    fn set(&self, write: Option<(PathBuf, Instant)>) {
        *self.write.lock() = write;
        self.begun.notify_one();
    }
}

impl<F: Files> Files for Watched<F> {
    fn read(&self, path: &Path) -> io::Result<String> {
        self.files.read(path)
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        let name = path.file_name().and_then(|name| name.to_str());
        if !name.is_some_and(|name| name.starts_with(WATCHED)) {
            return self.files.write(path, text);
        }
        self.watch.set(Some((path.to_owned(), Instant::now())));
        let written = self.files.write(path, text);
        self.watch.set(None);
        written
    }
}

/// Ends the daemon, with a line in the log.
pub(super) fn end(path: &Path) {
    /// The log is written by a thread, which needs a moment.
    const LINE: Duration = Duration::from_millis(200);
    tracing::error!(
        file = %path.display(),
        "the kernel does not end a write for {} s, and no process may be able to start or to end until it is broken off: \
         the daemon ends itself, and continues at its next start",
        PATIENCE.as_secs()
    );
    thread::sleep(LINE);
    // Not an exit: threads that end wait for the same locks.
    let _ = nix::sys::signal::raise(nix::sys::signal::Signal::SIGKILL);
}

#[cfg(test)]
mod tests {
    use crossbeam::channel::{Receiver, Sender, bounded};

    use super::*;

    /// A kernel that ends a write when it is let to.
    struct Slow {
        ends: Receiver<()>,
        begun: Sender<()>,
    }

    impl Files for Slow {
        fn read(&self, _: &Path) -> io::Result<String> {
            Ok(String::new())
        }

        fn write(&self, _: &Path, _: &str) -> io::Result<()> {
            let _ = self.begun.send(());
            let _ = self.ends.recv();
            Ok(())
        }
    }

    /// What is watched while a file of this name is written.
    fn watched(name: &str) -> io::Result<Option<PathBuf>> {
        let ((begun, has_begun), (end, ends)) = (bounded(1), bounded(1));
        let files = Watched { files: Slow { ends, begun }, watch: Arc::default() };
        let (watch, path) = (files.watch.clone(), Path::new("/sys/fs/cgroup/a").join(name));
        let write = thread::spawn(move || files.write(&path, "0-1"));
        let _ = has_begun.recv();
        let during = watch.write.lock().clone().map(|(path, _)| path);
        let _ = end.send(());
        write.join().map_err(|_| io::Error::other("it panicked"))??;
        assert_eq!(*watch.write.lock(), None);
        Ok(during)
    }

    #[test]
    fn writes_of_partitions_are_watched_and_those_of_memory_nodes_are_not() -> io::Result<()> {
        for name in ["cpuset.cpus", "cpuset.cpus.exclusive", "cpuset.cpus.partition"] {
            assert_eq!(watched(name)?, Some(Path::new("/sys/fs/cgroup/a").join(name)));
        }
        assert_eq!(watched("cpuset.mems")?, None);
        assert_eq!(watched("cpu.max")?, None);
        Ok(())
    }

    #[test]
    fn a_write_that_does_not_end_is_reported() -> io::Result<()> {
        let watch = Watch::default();
        let path = PathBuf::from("/sys/fs/cgroup/a/cpuset.cpus.partition");
        watch.set(Some((path.clone(), Instant::now())));
        assert_eq!(watch.hanging(Duration::ZERO), Some(path.clone()));

        let ((tell, hanging), (begun, has_begun), (end, ends)) = (bounded(1), bounded(1), bounded(1));
        let files = Watched::start(Slow { ends, begun }, Duration::from_millis(1), move |path: &Path| {
            let _ = tell.send(path.to_owned());
        })?;
        let file = path.clone();
        let write = thread::spawn(move || files.write(&file, "isolated"));
        let _ = has_begun.recv();
        assert_eq!(hanging.recv().map_err(io::Error::other)?, path);
        let _ = end.send(());
        write.join().map_err(|_| io::Error::other("it panicked"))?
    }
}
