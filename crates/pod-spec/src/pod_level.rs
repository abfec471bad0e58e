//! What resources at pod level mean on a node.

use crate::PodLevelResources;

/// What requests and limits at pod level mean, by the feature gates `PodLevelResources` and
/// `PodLevelResourceManagers`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PodLevel {
    /// `PodLevelResources` is off: they do not count for the QoS class, and a node refuses pods that have them.
    Ignored,
    /// `PodLevelResources` alone is on: they decide the QoS class and the fit of the node. Nothing of pods that have
    /// them is pinned.
    #[default]
    NotPinned,
    /// Both are on: under pod scope such pods are pinned as a whole, under container scope those of their containers
    /// that have CPU and memory of their own.
    Managed,
}

impl PodLevel {
    /// Whether they count for the QoS class and for what a pod requests. How a pod is classified differs between
    /// releases, which this does not know: managers get pods whose class has been worked out by their node.
    #[must_use]
    pub const fn counts(self) -> PodLevelResources {
        match self {
            Self::Ignored => PodLevelResources::Ignored,
            Self::NotPinned | Self::Managed => PodLevelResources::Count,
        }
    }
}
