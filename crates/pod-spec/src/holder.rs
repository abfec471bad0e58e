//! Who holds something: one container, or a pod as a whole.

use core::fmt;

use crate::{ContainerKey, ContainerName, PodUid};

/// Who holds what was granted. Containers come before pods as a whole in the order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Holder {
    /// One container.
    Container(ContainerKey),
    /// A pod with resources at pod level, for all its containers together.
    Pod(PodUid),
}

impl Holder {
    /// The pod that holds it, or whose container does.
    #[must_use]
    pub const fn pod(&self) -> &PodUid {
        match self {
            Self::Container(key) => &key.pod,
            Self::Pod(pod) => pod,
        }
    }

    /// The container; `None` for a pod as a whole.
    #[must_use]
    pub const fn container(&self) -> Option<&ContainerName> {
        match self {
            Self::Container(key) => Some(&key.container),
            Self::Pod(_) => None,
        }
    }
}

impl From<ContainerKey> for Holder {
    fn from(key: ContainerKey) -> Self {
        Self::Container(key)
    }
}

/// `UID/container`, or the UID of a pod as a whole.
impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Container(key) => write!(f, "{}/{}", key.pod, key.container),
            Self::Pod(pod) => write!(f, "{pod}"),
        }
    }
}
