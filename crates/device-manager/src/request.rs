//! What is asked for: one container with its devices.

use alloc::collections::BTreeSet;
use core::fmt;

use pod_spec::{Container, Pod, PodUid, ResourceName, Unit};
use topology_hint::Affinity;

use crate::links::{Choices, Links};

/// One container to be served.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Its pod.
    pub pod: &'a Pod,
    /// The container.
    pub container: &'a Container,
    /// The merged hint that was stored for it.
    pub affinity: Affinity,
    /// Which pods run; what others hold is collected, once all sources are ready. The pod itself need not be among
    /// them.
    pub is_active: &'a dyn Fn(&PodUid) -> bool,
    /// Whether the kubelet has heard of all pods since it started.
    pub sources: Sources,
    /// Resources that dynamic resource allocation serves instead: it gives them out, and no device is. As in the
    /// kubelet, hints and starts do not know of it.
    pub claimed: &'a BTreeSet<ResourceName>,
    /// How devices are chosen by their links; `None`: they are not.
    pub links: Option<Choices<'a>>,
    /// The links of which whole ones stay whole, where `links` does not choose; `None`: devices go by name.
    pub keep_whole: Option<&'a Links>,
}

/// Whether all sources of pods have reported since the kubelet started.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sources {
    /// They have.
    #[default]
    Ready,
    /// Not yet, and the container was seen running at the start: it has what it needs, nothing is asked or checked.
    PendingRunning,
    /// Not yet, and the container was not running: a start of the node.
    PendingNotRunning,
}

impl<'a> Request<'a> {
    /// A request on a node where dead pods have been collected and all sources are ready, with no claims.
    #[must_use]
    pub const fn new(pod: &'a Pod, container: &'a Container, affinity: Affinity) -> Self {
        const NONE: &BTreeSet<ResourceName> = &BTreeSet::new();
        Self {
            pod,
            container,
            affinity,
            is_active: &|_| true,
            sources: Sources::Ready,
            claimed: NONE,
            links: None,
            keep_whole: None,
        }
    }
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("unit", &Unit::Container(self.pod, self.container))
            .field("affinity", &self.affinity)
            .field("sources", &self.sources)
            .field("claimed", &self.claimed)
            .finish_non_exhaustive()
    }
}
