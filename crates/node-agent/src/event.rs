//! What happens to a node, as its owner takes it in.

use std::path::PathBuf;
use std::sync::Arc;

use cpu_manager::ContainerId;
use device_manager::{Device, OverBudget, PluginOptions, Question, Reply};
use pod_spec::{ContainerKey, Pod, PodUid, ResourceName};
use topology_admission::{Plan as MovePlan, Sizes};

use crate::listing::Listing;

/// The number of a request that waits for its answer, chosen by the caller.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub u64);

/// Everything that can happen to a node.
#[derive(Clone, Debug)]
pub enum Event {
    /// A client's request, answered under the ticket.
    Request(Ticket, Request),
    /// The watched folder has been read. The first time is when the node has heard of all its pods.
    Listed(Listing),
    /// A plugin registers, lists devices or disconnects.
    Plugin(PluginEvent),
    /// A plugin answered what it was asked.
    Replied(Question, Reply),
    /// Another process removed files with their folder, which is there again. All are written again.
    FilesLost {
        /// What happened, for who asks why the node is not ready.
        why: String,
    },
    /// Some time has passed: what was put off is tried again, and what has been gone for too long is forgotten.
    Timer,
    /// Nothing is asked: a pod that waited for a device plugin has its turn ([`Owner::has_turn`]).
    ///
    /// [`Owner::has_turn`]: crate::Owner::has_turn
    Turn,
}

/// What a client requests.
#[derive(Clone, Debug)]
pub enum Request {
    /// That a pod may run.
    Admit(Arc<Pod>),
    /// The same of a pod that an API server has bound to the node.
    AdmitBound(Arc<Pod>),
    /// That a pod may run, and that others are moved before as a plan says; all of it happens, or nothing.
    Repack {
        /// The pod that did not fit.
        pod: Arc<Pod>,
        /// The moves after which it does.
        plan: Arc<MovePlan>,
    },
    /// That a pod holds nothing any more.
    Delete(PodUid),
    /// That containers of a pod have other amounts.
    Resize(PodUid, Sizes),
    /// A container has been created, and its process is about to start.
    Started {
        /// The container and its pod.
        container: ContainerKey,
        /// Its id in the runtime.
        id: ContainerId,
        /// Its cgroup, below the root of cgroups; `None`: nothing is to be written for it.
        cgroup: Option<PathBuf>,
    },
    /// A container has ended, or has been removed. What it holds stays with its pod.
    Exited(ContainerId),
}

/// What a plugin says of itself.
#[derive(Clone, Debug)]
pub enum PluginEvent {
    /// It has registered.
    Registered(ResourceName, PluginOptions),
    /// It has listed its devices.
    Listed(ResourceName, Vec<Device>),
    /// It has listed more than there is room for, and has no devices until it lists fewer.
    ListRefused(ResourceName, OverBudget),
    /// Its connection has ended: its devices become unhealthy.
    Gone(ResourceName),
}
