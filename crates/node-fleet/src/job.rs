//! What is to be sent, and when it may be.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use cluster_node::Backoff;
use crossbeam::channel::Sender;
use parking_lot::Mutex;

use crate::conditions::Work;

/// A node by its position in the fleet.
pub(crate) type NodeNumber = usize;

/// The longest pause until something that has failed is tried again.
const AGAIN: Duration = Duration::from_secs(1);

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
    /// The status or the deletion of the pod of that UID is sent.
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

/// A job, and how long it rests if it fails.
#[derive(Clone, Debug)]
pub(crate) struct Tried {
    pub(crate) job: Job,
    backoff: Backoff,
}

impl Tried {
    /// After one more failure.
    pub(crate) fn pause(&mut self, random: u64) -> Duration {
        self.backoff.pause(random)
    }
}

impl From<Job> for Tried {
    fn from(job: Job) -> Self {
        Self { job, backoff: Backoff::up_to(AGAIN) }
    }
}

/// A job for later, the earliest first.
struct Later(Instant, Tried);

impl Later {
    const fn key(&self) -> (Instant, &Job) {
        (self.0, &self.1.job)
    }
}

impl PartialEq for Later {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Later {}

impl PartialOrd for Later {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Later {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

/// Jobs whose time has come go to the senders, the others wait.
pub(crate) struct Jobs {
    due: Sender<Tried>,
    later: Mutex<BinaryHeap<Later>>,
}

impl Jobs {
    pub(crate) fn new(due: Sender<Tried>) -> Self {
        Self { due, later: Mutex::default() }
    }

    /// It is done as soon as a sender is free.
    pub(crate) fn add(&self, job: impl Into<Tried>) {
        // Senders that are gone have ended with the program.
        let _ = self.due.send(job.into());
    }

    /// It is done then.
    pub(crate) fn add_at(&self, at: Instant, job: impl Into<Tried>) {
        self.later.lock().push(Later(at, job.into()));
    }

    /// Hands out what is due.
    pub(crate) fn hand_out(&self, now: Instant) {
        let mut later = self.later.lock();
        while later.peek().is_some_and(|Later(at, _)| *at <= now) {
            if let Some(Later(_, job)) = later.pop() {
                self.add(job);
            }
        }
    }
}
