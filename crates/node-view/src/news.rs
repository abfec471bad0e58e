//! A queue from the daemon's other threads to the thread that reports pod statuses: exit codes of containers and preempted pods,
//! which no snapshot has.

use std::sync::OnceLock;

use cpu_manager::ContainerId;
use crossbeam::channel::Sender;
use node_agent::EndReason;
use parking_lot::Mutex;
use pod_spec::{ContainerKey, PodUid};

/// An entry of the queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PodNews {
    /// A container has exited; it is queued before a snapshot lacks the container.
    Exited {
        /// Which of its pod.
        container: ContainerKey,
        /// The runtime's id.
        id: ContainerId,
        /// The exit code.
        code: i32,
    },
    /// A pod has ended so that a more important one can run.
    Preempted(PodUid),
}

/// The queue. Without a listener it stays empty.
#[derive(Default)]
pub struct News {
    wake: OnceLock<Sender<()>>,
    queue: Mutex<Vec<PodNews>>,
}

impl News {
    /// Wakes the listener: there is a new snapshot, or an entry.
    pub fn wake(&self) {
        if let Some(wake) = self.wake.get() {
            // A full channel wakes already.
            let _ = wake.try_send(());
        }
    }

    /// Queues the end of a pod, if it was preempted.
    pub fn ended(&self, uid: &PodUid, why: &EndReason) {
        if matches!(why, EndReason::Preempted(_)) {
            self.push(PodNews::Preempted(uid.clone()));
        }
    }

    /// Queues the exit code of a container.
    pub fn exited(&self, container: ContainerKey, id: ContainerId, code: i32) {
        self.push(PodNews::Exited { container, id, code });
    }

    /// Whether a thread listens: the node is a member of a cluster.
    pub fn has_listener(&self) -> bool {
        self.wake.get().is_some()
    }

    fn push(&self, news: PodNews) {
        if self.has_listener() {
            self.queue.lock().push(news);
        }
        self.wake();
    }
}

impl News {
    /// Sets the channel that wakes the listener; only the first call counts.
    pub fn set_listener(&self, wake: Sender<()>) {
        // There is at most one listener.
        let _ = self.wake.set(wake);
    }

    /// Takes the entries since the last call.
    pub fn take(&self) -> Vec<PodNews> {
        std::mem::take(&mut self.queue.lock())
    }
}
