//! What resources at pod level mean on a node.

use kubelet_release::{PodsOfGateOff, Rules};

use crate::PodLevelResources;
use crate::pod::Pod;

/// What requests and limits at pod level mean, by the feature gates `PodLevelResources` and
/// `PodLevelResourceManagers`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PodLevel {
    /// `PodLevelResources` is off: they do not count for the QoS class, and a node refuses pods that have them. Of those
    /// that run nothing is pinned.
    Ignored,
    /// The same before 1.36: containers of those that run are pinned as if their pods had none.
    Unread,
    /// `PodLevelResources` alone is on: they decide the QoS class and the fit of the node. Nothing of pods that have
    /// them is pinned.
    #[default]
    NotPinned,
    /// Both are on: under pod scope such pods are pinned as a whole, under container scope those of their
    /// containers whose CPU and memory requests equal their limits.
    Managed,
}

impl PodLevel {
    /// What they mean while `PodLevelResources` is off.
    #[must_use]
    pub const fn off(rules: &Rules) -> Self {
        match rules.pods_of_gate_off {
            PodsOfGateOff::Served => Self::Unread,
            PodsOfGateOff::LeftAlone => Self::Ignored,
        }
    }

    /// Whether a node refuses pods that have them.
    #[must_use]
    pub const fn is_refused(self) -> bool {
        match self {
            Self::Ignored | Self::Unread => true,
            Self::NotPinned | Self::Managed => false,
        }
    }

    /// Whether managers look at those of `pod`.
    #[must_use]
    pub fn is_read(self, pod: &Pod) -> bool {
        self != Self::Unread && pod.has_pod_level_resources()
    }

    /// Whether they count for the QoS class and for what a pod requests. How a pod is classified differs between
    /// releases, which this does not know: managers get pods whose class has been worked out by their node.
    #[must_use]
    pub const fn counts(self) -> PodLevelResources {
        match self {
            Self::Ignored | Self::Unread => PodLevelResources::Ignored,
            Self::NotPinned | Self::Managed => PodLevelResources::Count,
        }
    }
}
