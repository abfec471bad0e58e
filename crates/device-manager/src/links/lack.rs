//! Which link lacks what.

use alloc::vec::Vec;

use pod_spec::ResourceName;
use topology_model::Link;

use super::demand::{Demand, Linked};

/// A demand that no link serves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkLack {
    /// What is asked for.
    pub demand: Demand,
    /// The links that have devices of the demand; those that lack least first.
    pub links: Vec<LinkRoom>,
    /// Free devices on no link, since their PCI address is not known: how many of which resource.
    pub unplaced: Vec<(ResourceName, u64)>,
}

/// What a link has of a demand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkRoom {
    /// The link.
    pub link: Link,
    /// Each resource of the demand.
    pub has: Vec<ResourceRoom>,
}

/// What a link has of one resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResourceRoom {
    /// Which.
    pub resource: ResourceName,
    /// How many are needed beside those that init containers have left.
    pub needed: u64,
    /// How many are free.
    pub free: u64,
    /// How many there are, unhealthy ones left out.
    pub all: u64,
}

impl LinkRoom {
    /// How many devices are missing.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.has.iter().map(|room| room.needed.saturating_sub(room.free)).sum()
    }
}

impl Linked<'_> {
    /// What each link has of it.
    #[must_use]
    pub fn lack(&self) -> LinkLack {
        let mut links: Vec<LinkRoom> = self
            .links
            .iter()
            .map(|link| {
                let has = self.supplies.iter().map(|supply| {
                    let (free, all) = supply.counts(self.links, &link.members);
                    ResourceRoom { resource: supply.resource.clone(), needed: supply.needed, free, all }
                });
                LinkRoom { link: link.clone(), has: has.collect() }
            })
            .filter(|room| room.has.iter().any(|own| own.all > 0))
            .collect();
        links.sort_by_key(LinkRoom::missing);
        let unplaced = self.supplies.iter().map(|supply| (supply.resource.clone(), supply.unplaced()));
        let unplaced = unplaced.filter(|(_, count)| *count > 0).collect();
        LinkLack { demand: self.demand.clone(), links, unplaced }
    }
}
