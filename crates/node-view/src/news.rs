//! What the daemon's other threads tell the one that reports on pods: how containers ended and which pods were preempted,
//! which no snapshot of the node says.

use std::sync::OnceLock;

use cpu_manager::ContainerId;
use crossbeam::channel::Sender;
use node_agent::EndReason;
use parking_lot::Mutex;
use pod_spec::{ContainerKey, PodUid};

/// One piece of news.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PodNews {
    /// A container is about to be reported as ended.
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

/// News that nobody has taken. Without a listener there are none.
#[derive(Default)]
pub struct News {
    wake: OnceLock<Sender<()>>,
    told: Mutex<Vec<PodNews>>,
}

impl News {
    /// The node is another one than before.
    pub fn changed(&self) {
        if let Some(wake) = self.wake.get() {
            // A full channel wakes already.
            let _ = wake.try_send(());
        }
    }

    /// A pod has ended.
    pub fn ended(&self, uid: &PodUid, why: &EndReason) {
        if matches!(why, EndReason::Preempted(_)) {
            self.tell(PodNews::Preempted(uid.clone()));
        }
    }

    /// A container has ended with an exit code.
    pub fn exited(&self, container: ContainerKey, id: ContainerId, code: i32) {
        self.tell(PodNews::Exited { container, id, code });
    }

    /// Whether somebody listens: the node is a member of a cluster.
    pub fn is_heard(&self) -> bool {
        self.wake.get().is_some()
    }

    fn tell(&self, told: PodNews) {
        if self.is_heard() {
            self.told.lock().push(told);
        }
        self.changed();
    }
}

impl News {
    /// Wakes somebody with each change from now on.
    pub fn listen(&self, wake: Sender<()>) {
        // There is one listener at most.
        let _ = self.wake.set(wake);
    }

    /// What has come since the last time.
    pub fn take(&self) -> Vec<PodNews> {
        std::mem::take(&mut self.told.lock())
    }
}
