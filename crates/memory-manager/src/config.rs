//! What an administrator decides about memory.

use kubelet_release::{EmptyMemoryRequest, Rules};
use pod_spec::{PodLevel, ResourceList};

use crate::Reservations;

/// Everything that a [`Static`](crate::Static) is made from besides the machine.
#[derive(Clone, Debug)]
pub struct Config {
    /// `reservedMemory`: what of each node is kept for the system.
    pub reserved: Reservations,
    /// What the node keeps for itself in all: system-reserved, kube-reserved and the hard eviction threshold
    /// together, by resource, sums of zero left out. The reservations must sum to it.
    pub node_allocatable: ResourceList,
    /// What resources at pod level mean.
    pub pod_level: PodLevel,
    /// What a node is worth of which more is reserved than it has.
    pub wrapped_tables: WrappedTables,
    /// What is done when a pod with pod-level bookings is admitted again.
    pub readmission: Readmission,
    /// Whether a node can start again whose groups do not list the same sizes of huge pages.
    pub uneven_group: UnevenGroup,
    /// What is done for a container that asks for neither memory nor huge pages.
    pub empty_request: EmptyMemoryRequest,
}

impl Default for Config {
    /// The rule of the default release.
    fn default() -> Self {
        Self {
            reserved: Reservations::default(),
            node_allocatable: ResourceList::default(),
            pod_level: PodLevel::default(),
            wrapped_tables: WrappedTables::default(),
            readmission: Readmission::default(),
            uneven_group: UnevenGroup::default(),
            empty_request: Rules::default().empty_memory_request,
        }
    }
}

/// What a node is worth of which more is reserved, or bound in huge pages, than it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WrappedTables {
    /// Its allocatable amount wraps around to nearly 2^64 bytes, so that every request fits there, and sums over
    /// nodes wrap as well. As in the kubelet.
    Wrap,
    /// It has nothing to give.
    #[default]
    Empty,
}

/// What is done when a pod is admitted again that was booked as a whole (pod-level resources, pod scope).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Readmission {
    /// It is booked a second time, and after that the stored state does not pass a start. As in the kubelet.
    BookAgain,
    /// It keeps what it has.
    #[default]
    Keep,
}

/// Whether a node can start again where nodes are bound together of which one lists no pages of a size that another lists
/// ([`UnevenPages`](crate::UnevenPages)).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UnevenGroup {
    /// It crashes, as the kubelet.
    Crash,
    /// It can: a node has nothing of what it does not list.
    #[default]
    Start,
}
