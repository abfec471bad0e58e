//! What an owner wants done: files first, and when they are safe, the rest.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cpu_manager::ContainerId;
use device_manager::{Question, StartError};
use kubelet_checkpoint::store::StateFile;
use memory_manager::Moved;
use pod_spec::{ContainerKey, Pod, PodUid};
use thiserror::Error;
use topology_admission::{Counted, Deferral, Ledger, SizeError, Stale, Trace, Verdict, When};

use crate::deferred_pod::DeferredPod;
use crate::enforcement::Enforcement;
use crate::event::Ticket;
use crate::pod_move::PodMove;
use node_state::moves::MOVES;
use node_state::{Source, record};

/// A file of the node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FileName {
    /// A state file of the kubelet.
    State(StateFile),
    /// The record of one pod.
    Pod(PodUid),
    /// A change of several pods that has been decided and is not in all their files yet.
    Moves,
}

impl FileName {
    /// The path below the root.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        match self {
            Self::State(file) => PathBuf::from(file.path()),
            Self::Pod(uid) => record::path(uid),
            Self::Moves => PathBuf::from(MOVES),
        }
    }
}

/// A file to be written or removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Write {
    /// The file to write.
    pub file: FileName,
    /// Its new text; `None`: it is removed.
    pub text: Option<String>,
}

/// Whether the writes of a plan, which are done in order, are safe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WriteOutcome {
    /// Every file of the plan is on disk.
    All,
    /// So many are, the next has failed, and the rest was not tried.
    Failed {
        /// How many are safe.
        done: usize,
        /// Why the next is not.
        why: String,
    },
}

/// Something to be done.
#[derive(Clone, Debug)]
pub enum Effect {
    /// The client with this ticket is answered.
    Answer(Ticket, Answer),
    /// A pod has been decided on; who asked for it is answered with that.
    Decided(Box<PodDecision>),
    /// A pod waits for device plugins from now on.
    Deferred(Arc<DeferredPod>),
    /// A plugin is asked; its answer comes back as an event.
    Ask(Question),
    /// A running container's CPUs and memory nodes are written.
    Enforce(Enforcement),
    /// A pod holds nothing any more; what of it still runs is to be ended.
    Ended(PodUid, EndReason),
    /// Something changed in the CPU manager's counters besides what a decision counts.
    Counted(Vec<cpu_manager::Change>),
    /// Files could not be written. They are tried again at the next timer.
    NotWritten(String),
}

/// Why a pod has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EndReason {
    /// A request deleted it.
    Deleted,
    /// Its manifest is not in the folder any more, or is another one.
    ManifestGone,
    /// A pod that is more important took its place.
    Preempted(PodUid),
}

/// An answer other than a decision.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// The request has been carried out and is on disk.
    Done,
    /// A pod has other amounts, and they are on disk.
    Resized {
        /// The ledger before.
        before: Box<Ledger>,
        /// The ledger afterwards.
        after: Box<Ledger>,
    },
    /// The pod runs already, as it is.
    Unchanged,
    /// The pod waits for device plugins, and is decided on later.
    Deferred(Deferral),
    /// It cannot be done.
    Failed(RequestError),
}

/// Why something cannot be done.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RequestError {
    /// Nothing is known of the pod.
    #[error("no pod is called {0}")]
    NoPod(PodUid),
    /// The pod has no such container.
    #[error("pod {} has no container {}", .0.pod, .0.container)]
    NoContainer(ContainerKey),
    /// No container has that id.
    #[error("no container has id {0}")]
    NoContainerId(ContainerId),
    /// The id is of another container.
    #[error("container id {0} is taken")]
    IdTaken(ContainerId),
    /// A pod of that name runs with another manifest.
    #[error(
        "pod {0} is here already with another manifest, and what a running pod asks for does not change: delete it first"
    )]
    OtherManifest(String),
    /// The pod is being decided on.
    #[error("pod {0} is being decided on: ask again when it is")]
    Waiting(String),
    /// The pod waits for a device plugin, and what is asked for takes one that runs.
    #[error("pod {0} waits for a device plugin and does not run yet")]
    Deferred(String),
    /// The pod was refused, and what is asked for takes one that runs.
    #[error("pod {0} was refused and does not run")]
    Refused(String),
    /// A device plugin does not let the container start.
    #[error(transparent)]
    Start(StartError),
    /// The pod is in the folder.
    #[error("pod {0} comes from the folder: remove its manifest there")]
    InFolder(String),
    /// No pod can be resized to these amounts.
    #[error(transparent)]
    Size(SizeError),
    /// The pod cannot have these amounts, now or never.
    #[error("{when}: {message}")]
    NotResized {
        /// Whether it can be later.
        when: When,
        /// Why not.
        message: String,
    },
    /// The pod is resized where it comes from.
    #[error("pod {pod} comes from the {source_name}, and only pods of requests can be resized")]
    ResizedElsewhere {
        /// Namespace and name.
        pod: String,
        /// `folder` or `cluster`.
        source_name: &'static str,
    },
    /// The pod was deleted while it waited for a plugin.
    #[error("pod {0} was deleted while it was being decided on")]
    DeletedMeanwhile(String),
    /// The node is another one than that which the moves were planned on.
    #[error("{0}: plan the moves anew")]
    StalePlan(Stale),
    /// A pod cannot be moved as it was planned, and none was.
    #[error("no pod is moved: {0}")]
    NotMoved(String),
    /// It could not be made durable, so it has not happened.
    #[error("failed to store the change: {0}")]
    NotStored(String),
}

/// A decision on a pod.
#[derive(Clone, Debug)]
pub struct PodDecision {
    /// The request for it; `None`: the pod is from the folder.
    pub ticket: Option<Ticket>,
    /// The pod that was decided on, with its manifest.
    pub pod: Arc<Pod>,
    /// Where it came from.
    pub source: Source,
    /// Admitted, with the placement, or refused, with the reason.
    pub verdict: Verdict,
    /// What the providers were asked and answered.
    pub trace: Trace,
    /// What the counters gain.
    pub counted: Counted,
    /// Containers of other pods whose memory moves.
    pub moved: Vec<Moved>,
    /// Pods that moved so that this one fits, in the order in which they are placed anew.
    pub made_room: Vec<PodMove>,
    /// The ledger that was decided on; with pods that moved, as the moves before it left it.
    pub before: Ledger,
    /// The ledger afterwards; with pods that moved, before those that are placed after it.
    pub after: Ledger,
    /// From the first look at the pod until its files were safe, plugins included.
    pub took: Duration,
    /// Of that, the time in which the decision was worked out, as far as it was measured.
    pub worked: Duration,
}
