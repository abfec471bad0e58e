//! What a decision adds to the kubelet's counters.

use core::ops::AddAssign;

use kubelet_release::EmptyMemoryRequest;

use crate::{AllocateError, PodLevel, Static};

/// By how much each counter rises. Of the kubelet's counters all but the first two exist only with both pod-level gates,
/// and stay zero otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counted {
    /// `kubelet_memory_manager_pinning_requests_total`.
    pub pinning_requests: u32,
    /// `kubelet_memory_manager_pinning_errors_total`.
    pub pinning_errors: u32,
    /// `resource_manager_allocations_total` with the decision's [`Source`].
    pub allocations: u32,
    /// `resource_manager_allocation_errors_total` with the decision's [`Source`].
    pub allocation_errors: u32,
    /// `resource_manager_container_assignments` of type `node_exclusive`.
    pub node_exclusive: u32,
    /// The same of type `pod_exclusive`.
    pub pod_exclusive: u32,
    /// The same of type `pod_shared`.
    pub pod_shared: u32,
}

impl AddAssign for Counted {
    fn add_assign(&mut self, more: Self) {
        self.pinning_requests += more.pinning_requests;
        self.pinning_errors += more.pinning_errors;
        self.allocations += more.allocations;
        self.allocation_errors += more.allocation_errors;
        self.node_exclusive += more.node_exclusive;
        self.pod_exclusive += more.pod_exclusive;
        self.pod_shared += more.pod_shared;
    }
}

/// Out of what a container is served: a label of the counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The node: one container at a time.
    Node,
    /// What is booked for the pod as a whole.
    Pod,
}

impl Source {
    /// The label's value.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Pod => "pod",
        }
    }
}

impl Static {
    /// What a refused allocation out of `source` adds.
    pub(crate) fn counted_refusal(&self, source: Source, error: &AllocateError) -> Counted {
        // The request is read before anything is counted.
        if let (Source::Node, AllocateError::NotInt64, EmptyMemoryRequest::LeftAlone) =
            (source, error, self.empty_request)
        {
            return Counted::default();
        }
        let counted =
            Counted { pinning_requests: 1, pinning_errors: 1, allocation_errors: 1, ..Counted::default() };
        self.existing(counted)
    }

    /// Only those counters that exist with the gates as they are.
    pub(crate) fn existing(&self, counted: Counted) -> Counted {
        let Counted { pinning_requests, pinning_errors, .. } = counted;
        match self.pod_level {
            PodLevel::Managed => counted,
            PodLevel::Ignored | PodLevel::Unread | PodLevel::NotPinned => {
                Counted { pinning_requests, pinning_errors, ..Counted::default() }
            }
        }
    }
}
