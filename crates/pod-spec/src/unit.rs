//! What one merge is made for.

use crate::{Container, Holder, PlacedDevice, Pod};

/// A container of a pod (scope `container`), or the pod as a whole (scope `pod`).
#[derive(Clone, Copy, Debug)]
pub enum Unit<'a> {
    /// One container.
    Container(&'a Pod, &'a Container),
    /// All containers together.
    Pod(&'a Pod),
}

impl<'a> Unit<'a> {
    /// The pod that the unit is, or is part of.
    #[must_use]
    pub const fn pod(self) -> &'a Pod {
        match self {
            Self::Container(pod, _) | Self::Pod(pod) => pod,
        }
    }

    /// Who holds what the unit is granted.
    #[must_use]
    pub fn holder(self) -> Holder {
        match self {
            Self::Container(pod, container) => Holder::Container(pod.key(container)),
            Self::Pod(pod) => Holder::Pod(pod.uid.clone()),
        }
    }

    /// The devices of claims that the unit has, as far as their NUMA node is known.
    pub fn claimed_devices(self) -> impl Iterator<Item = &'a PlacedDevice> {
        self.pod().constraints.claim_places.known.iter().filter(move |device| match self {
            Self::Container(_, container) => device.containers.contains(&container.name),
            Self::Pod(_) => !device.containers.is_empty(),
        })
    }
}
