//! Names: shared text, so that devices and results are copied cheaply.

use alloc::string::String;
use alloc::sync::Arc;
use core::borrow::Borrow;
use core::fmt;
use core::ops::Deref;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

        impl Default for $name {
            fn default() -> Self {
                Self::new("")
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(Arc::from(text))
            }
        }

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                &*self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                &*self.0 == *other
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }
    };
}

name! {
    /// Name of a driver: `gpu.example.com`.
    DriverName
}
name! {
    /// Name of a pool: unique for its driver.
    PoolName
}
name! {
    /// Name of a device: unique in its pool.
    DeviceName
}
name! {
    /// Name of an attribute or a capacity: `domain/id`, or `id` alone, whose domain is the driver's name.
    QualifiedName
}
name! {
    /// Name of a set of counters: unique in its pool.
    CounterSetName
}
name! {
    /// Name of a counter: unique in its set.
    CounterName
}
name! {
    /// Name of a `DeviceClass`.
    ClassName
}
name! {
    /// Name of a request, `gpu`, of an alternative within its request, or of an alternative in full, `gpu/large`.
    RequestName
}
name! {
    /// Which share of a device with several allocations: a UID in a cluster.
    ShareId
}

/// One device of the cluster.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct DeviceId {
    /// The driver that manages it.
    pub driver: DriverName,
    /// Its pool.
    pub pool: PoolName,
    /// Its name there.
    pub device: DeviceName,
}

impl fmt::Display for DeviceId {
    /// `driver/pool/device`, as in messages of kube-scheduler.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.driver, self.pool, self.device)
    }
}
