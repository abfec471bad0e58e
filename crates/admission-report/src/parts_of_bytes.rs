//! Bytes that are written in thousandths: `400m`, where `400Mi` is meant.

use alloc::string::{String, ToString as _};
use core::fmt;

use k8s_quantity::Quantity;
use pod_spec::{Container, ContainerName, ResourceName};

use crate::resource::Resource;

/// An amount of memory with a fraction of a byte. `m` is a thousandth everywhere in Kubernetes. Shown as a clause:
/// `memory 400m is not a whole number of bytes, since m is a thousandth: 400Mi are mebibytes`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartsOfBytes {
    /// Memory or huge pages.
    pub resource: ResourceName,
    /// What is asked for.
    pub asked: Quantity,
}

impl PartsOfBytes {
    /// The first of a container's, and the container.
    pub(crate) fn of(container: &Container) -> Option<(ContainerName, Self)> {
        let amounts = container.requests.iter().chain(&container.limits);
        let mut bytes = amounts.filter(|(resource, _)| Resource::from(*resource).is_memory());
        let (resource, asked) = bytes.find(|(_, amount)| thousandths(amount).is_some())?;
        Some((container.name.clone(), Self { resource: resource.clone(), asked: asked.clone() }))
    }
}

/// The number before the unit of thousandths, if the amount has that.
fn thousandths(amount: &Quantity) -> Option<String> {
    amount.to_string().strip_suffix('m').map(String::from)
}

impl fmt::Display for PartsOfBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, asked } = self;
        write!(f, "{resource} {asked} is not a whole number of bytes, since m is a thousandth")?;
        thousandths(asked).map_or(Ok(()), |number| write!(f, ": {number}Mi are mebibytes"))
    }
}
