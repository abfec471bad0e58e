//! What is not the owner's: files, the channel, plugins, who writes decisions up, and cgroups.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crossbeam::channel::RecvTimeoutError;
use device_manager::Question;
use kubelet_checkpoint::store::{Fs, OtherFile};
use node_agent::{Enforcement, Event, PluginEvent};
use node_view::Message;
use parking_lot::{Mutex, MutexGuard};
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::mpsc::{Sender, SyncSender};
use shuttle::sync::{Condvar, Mutex as ModelMutex, MutexGuard as ModelGuard};
use topology_admission::Verdict;

use super::super::{Inbox, Plugins, Writer};
use crate::owner::Job;
use node_enforce::Enforcer;

/// So few that senders wait.
const ROOM: usize = 2;

/// A place where another thread may go on.
pub(super) fn pause() {
    AtomicUsize::new(0).load(Ordering::SeqCst);
}

/// Files that are never lost. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Files(Arc<Mutex<BTreeMap<PathBuf, Vec<u8>>>>);

impl Files {
    fn all(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Vec<u8>>> {
        self.0.lock()
    }
}

impl Fs for Files {
    type File = PathBuf;
    type Lock = ();

    fn create(&self, path: &Path) -> io::Result<PathBuf> {
        self.all().insert(path.to_path_buf(), Vec::new());
        Ok(path.to_path_buf())
    }

    fn write(&self, file: &mut PathBuf, contents: &[u8]) -> io::Result<()> {
        self.all().entry(file.clone()).or_default().extend(contents);
        Ok(())
    }

    fn sync(&self, _: &mut PathBuf) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        pause();
        let mut all = self.all();
        let contents = all.remove(from).ok_or(io::ErrorKind::NotFound)?;
        all.insert(to.to_path_buf(), contents);
        Ok(())
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        pause();
        self.all().remove(path).map(|_| ()).ok_or(io::ErrorKind::NotFound.into())
    }

    fn read(&self, path: &Path, _: usize) -> io::Result<Vec<u8>> {
        self.all().get(path).cloned().ok_or(io::ErrorKind::NotFound.into())
    }

    fn other(&self, _: &Path) -> io::Result<Option<OtherFile>> {
        Ok(None)
    }

    fn is_regular(&self, path: &Path) -> io::Result<bool> {
        Ok(self.all().contains_key(path))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        let all = self.all();
        let inside = all.keys().filter(|path| path.parent() == Some(folder));
        Ok(inside.filter_map(|path| Some(path.file_name()?.to_owned())).collect())
    }

    fn lock(&self, _: &Path) -> io::Result<Option<()>> {
        Ok(Some(()))
    }
}

/// The channel to the owner, as the standard library's is: who sends waits for room, and when the owner has gone, so
/// has all that was on its way. What comes is a message, or, as `None`, that the owner's time is up.
#[derive(Clone)]
pub(super) struct Channel(Arc<(ModelMutex<Waiting>, Condvar)>);

struct Waiting {
    messages: VecDeque<Option<Message>>,
    is_open: bool,
}

impl Channel {
    pub(super) fn new() -> Self {
        let waiting = Waiting { messages: VecDeque::new(), is_open: true };
        Self(Arc::new((ModelMutex::new(waiting), Condvar::new())))
    }

    fn locked(&self) -> ModelGuard<'_, Waiting> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed<'a>(&self, waiting: ModelGuard<'a, Waiting>) -> ModelGuard<'a, Waiting> {
        self.0.1.wait(waiting).unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn send(&self, message: Option<Message>) {
        let mut waiting = self.locked();
        while waiting.is_open && waiting.messages.len() == ROOM {
            waiting = self.changed(waiting);
        }
        if waiting.is_open {
            waiting.messages.push_back(message);
        }
        self.0.1.notify_all();
    }
}

/// The owner's end of it.
pub(super) struct ModelInbox {
    pub(super) channel: Channel,
    /// The number of the plugin whose registration the owner took last.
    pub(super) plugin: Arc<Mutex<u8>>,
}

impl Inbox for ModelInbox {
    fn next(&mut self, within: Duration) -> Result<Message, RecvTimeoutError> {
        let mut waiting = self.channel.locked();
        let message = loop {
            match waiting.messages.pop_front() {
                Some(message) => break message,
                None if within.is_zero() => break None,
                None => waiting = self.channel.changed(waiting),
            }
        };
        self.channel.0.1.notify_all();
        if let Some(Message::EventThen(Event::Plugin(PluginEvent::Registered(..)), _)) = &message {
            *self.plugin.lock() += 1;
        }
        message.ok_or(RecvTimeoutError::Timeout)
    }
}

impl Drop for ModelInbox {
    fn drop(&mut self) {
        let mut waiting = self.channel.locked();
        waiting.is_open = false;
        waiting.messages.clear();
        self.channel.0.1.notify_all();
    }
}

/// The sockets: registrations and answers of plugins reach the owner in one order.
#[derive(Clone)]
pub(super) struct ModelPlugins {
    pub(super) asked: Sender<Question>,
}

impl Plugins for ModelPlugins {
    fn ask(&self, question: Question) {
        let _ = self.asked.send(question);
    }
}

/// Checks decisions where the owner gives them out, and has them written up by another thread.
pub(super) struct ModelWriter {
    pub(super) jobs: SyncSender<Job>,
    pub(super) plugin: Arc<Mutex<u8>>,
}

impl Writer for ModelWriter {
    fn write(&self, job: Job) {
        let plugin = *self.plugin.lock();
        if let Verdict::Admitted(_) = &job.decided.verdict {
            let held = job.decided.after.devices().iter().filter(|(pod, ..)| **pod == job.decided.pod.uid);
            for (_, _, _, held) in held {
                assert_eq!(*held.reply.0, [plugin], "an answer of a plugin that has been replaced is taken");
            }
        }
        let _ = self.jobs.send(job);
    }

    fn is_free(&self) -> bool {
        true
    }
}

/// Cgroups: where each container is.
pub(super) struct ModelEnforcer(pub(super) Sender<Order>);

pub(super) enum Order {
    Enforce(Enforcement),
    Then(Box<dyn FnOnce() + Send>),
}

impl Enforcer for ModelEnforcer {
    fn enforce(&mut self, enforcement: Enforcement) {
        let _ = self.0.send(Order::Enforce(enforcement));
    }

    fn is_enforcing(&self) -> bool {
        true
    }

    fn after(&mut self, then: Box<dyn FnOnce() + Send>) {
        let _ = self.0.send(Order::Then(then));
    }
}
