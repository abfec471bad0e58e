//! Names: shared text, so that a ledger with hundreds of pods is copied cheaply.

use alloc::sync::Arc;
use core::borrow::Borrow;
use core::fmt;

use k8s_quantity::Amount;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The text as it is; nothing is checked.
            #[must_use]
            pub fn new(text: &str) -> Self {
                Self(Arc::from(text))
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

name! {
    /// UID of a pod: unique on the node, also across pods of the same name.
    PodUid
}
name! {
    /// Name of a container: unique in its pod, init containers included.
    ContainerName
}
name! {
    /// Name of a resource: `cpu`, `memory`, `hugepages-1Gi`, `nvidia.com/gpu`.
    ResourceName
}

impl ResourceName {
    /// Whether this is a huge page resource: any name that begins with `hugepages-`.
    #[must_use]
    pub fn is_hugepages(&self) -> bool {
        self.0.starts_with("hugepages-")
    }

    /// So much of it as a person reads it: bytes of memory and huge pages in binary units, all else as a count.
    #[must_use]
    pub fn amount(&self, value: u64) -> Amount {
        if self.as_str() == "memory" || self.is_hugepages() {
            Amount::Bytes(value)
        } else {
            Amount::Count(value)
        }
    }

    /// Whether a pod may ask for it at pod level: `cpu`, `memory` and huge pages.
    #[must_use]
    pub fn is_pod_level(&self) -> bool {
        matches!(&*self.0, "cpu" | "memory") || self.is_hugepages()
    }
}

/// One container of one pod.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ContainerKey {
    /// The pod.
    pub pod: PodUid,
    /// The container in it.
    pub container: ContainerName,
}
