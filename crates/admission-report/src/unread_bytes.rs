//! Bytes in a form that the kubelet's memory manager does not read.

use alloc::string::ToString as _;
use core::fmt;

use k8s_quantity::Quantity;
use pod_spec::{Container, ResourceName};

use crate::resource::Resource;

/// An amount of memory that is no 64-bit integer in the form in which it is written: the kubelet keeps what is large for
/// its unit in another form, which its memory manager does not take. Shown as a clause:
/// `the kubelet's memory manager does not read memory 100Ti, and takes 109951162777600`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnreadBytes {
    /// Memory or huge pages.
    pub resource: ResourceName,
    /// What is asked for.
    pub asked: Quantity,
}

impl UnreadBytes {
    /// The first of a container's.
    pub(crate) fn of(container: &Container) -> Option<Self> {
        let mut bytes =
            container.requests.iter().filter(|(resource, _)| Resource::from(*resource).is_memory());
        let (resource, asked) = bytes.find(|(_, amount)| amount.as_int64().is_none())?;
        Some(Self { resource: resource.clone(), asked: asked.clone() })
    }
}

impl fmt::Display for UnreadBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, asked } = self;
        write!(f, "the kubelet's memory manager does not read {resource} {asked}")?;
        let bytes = asked.value();
        let is_read = bytes.to_string().parse().is_ok_and(|plain: Quantity| plain.as_int64() == Some(bytes));
        // A larger amount is cut to the largest number.
        if is_read && bytes < i64::MAX { write!(f, ", and takes {bytes}") } else { Ok(()) }
    }
}
