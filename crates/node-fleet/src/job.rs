//! What is to be sent, and when it may be.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use crossbeam::channel::Sender;
use parking_lot::Mutex;

use crate::conditions::Work;

/// A node by its position in the fleet.
pub(crate) type NodeNumber = usize;

/// Something to be sent.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Job {
    /// The node's object is made, or found.
    Register(NodeNumber),
    /// Its Lease is renewed.
    Lease(NodeNumber),
    /// Its status is sent.
    Status(NodeNumber),
    /// What schedulers read of it is written.
    Publish(NodeNumber),
    /// The pod of that UID is looked at: a container starts or ends.
    Look(NodeNumber, String),
    /// The API server is told of the pod of that UID.
    Pod(NodeNumber, String),
}

impl Job {
    /// What does not work if it fails.
    pub(crate) const fn work(&self) -> Work {
        match self {
            Self::Register(_) => Work::Registration,
            Self::Lease(_) => Work::Leases,
            Self::Status(_) => Work::NodeStatuses,
            Self::Publish(_) => Work::Publication,
            Self::Look(..) | Self::Pod(..) => Work::PodStatuses,
        }
    }
}

/// Jobs whose time has come go to the senders, the others wait.
pub(crate) struct Jobs {
    due: Sender<Job>,
    later: Mutex<BinaryHeap<Reverse<(Instant, Job)>>>,
}

impl Jobs {
    pub(crate) fn new(due: Sender<Job>) -> Self {
        Self { due, later: Mutex::default() }
    }

    /// It is done as soon as a sender is free.
    pub(crate) fn add(&self, job: Job) {
        // Senders that are gone have ended with the program.
        let _ = self.due.send(job);
    }

    /// It is done then.
    pub(crate) fn add_at(&self, at: Instant, job: Job) {
        self.later.lock().push(Reverse((at, job)));
    }

    /// Hands out what is due.
    pub(crate) fn hand_out(&self, now: Instant) {
        let mut later = self.later.lock();
        while later.peek().is_some_and(|Reverse((at, _))| *at <= now) {
            if let Some(Reverse((_, job))) = later.pop() {
                self.add(job);
            }
        }
    }
}
