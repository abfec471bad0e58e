//! Devices that come from one link, where the option `devices.links` asks for that.
//!
//! A *demand* is what a unit asks of one resource, or of a named group of resources, if that is several devices. A link
//! serves a demand if enough of its devices are free. Under `require` the unit is given devices of one link, or refused;
//! under `prefer` it is where that costs no alignment.
//!
//! Of several links that serve a demand the first is taken of:
//!
//! 1. those that need the fewest devices beside the nodes of the unit's affinity,
//! 2. links of PCI before domains, and among those a link that lies inside another one,
//! 3. those whose devices are the nearest to the nodes of the affinity, which are those of its CPUs,
//! 4. those that have the fewest devices of the demand left,
//! 5. the lowest address, or the first name of a domain.
//!
//! Where only `prefer` asks and no link serves all, the link that has most of it is emptied first, then the one that has
//! most of the rest. In a link the links inside it are filled in the same way: three of four devices of a switch are two of
//! one port and one of the other.
//!
//! A device is on a link by its PCI address. That is its id, or what is before `::` in its id, unless the configuration or
//! an inventory says it. A resource without any address has no demand.
//!
//! What a plugin prefers goes ahead: it is asked about the devices of the link under `require`, about all under `prefer`,
//! and what it leaves open is chosen as above.

mod demand;
mod order;
mod lack;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use node_config::LinkRule;
use numa_bitmask::NodeMask;
use pod_spec::ResourceName;
use topology_model::{Link, LinkKind, PciAddress};

use crate::device::DeviceId;

pub use demand::{Demand, Linked};
pub use lack::{LinkLack, LinkRoom, ResourceRoom};

/// The links of a node, and what belongs together on them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Links {
    rule: LinkRule,
    /// Those of PCI before domains, and links inside others before these.
    ranked: Vec<Ranked>,
    groups: BTreeMap<String, BTreeSet<ResourceName>>,
    addresses: BTreeMap<DeviceId, PciAddress>,
    /// By position of the node; `None`: not known.
    distances: Vec<Option<Vec<u64>>>,
}

/// A link by its position in [`Links`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LinkId(usize);

/// A link, and how many levels of links are inside it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Ranked {
    link: Link,
    levels: u32,
}

/// How the devices of some resources are chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// Which resources.
    pub resources: BTreeSet<ResourceName>,
    /// The only link whose devices may be given; `None`: any may.
    pub within: Option<LinkId>,
    /// Whose devices are given first.
    pub order: Vec<LinkId>,
}

/// How devices of a container are chosen by their links.
#[derive(Clone, Copy, Debug)]
pub struct Choices<'a> {
    /// The links.
    pub links: &'a Links,
    /// One for each demand.
    pub choices: &'a [Choice],
}

/// The devices of one resource, as a choice has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen<'a> {
    links: &'a Links,
    choice: &'a Choice,
}

impl Links {
    /// The links of a node, with the groups of resources, the addresses of devices whose ids do not say them, and the
    /// distance rows of the NUMA nodes.
    #[must_use]
    pub fn new(
        rule: LinkRule,
        links: Vec<Link>,
        groups: BTreeMap<String, BTreeSet<ResourceName>>,
        addresses: BTreeMap<DeviceId, PciAddress>,
        distances: Vec<Option<Vec<u64>>>,
    ) -> Self {
        let levels = levels(&links);
        let ranked = links.into_iter().zip(levels).map(|(link, levels)| Ranked { link, levels });
        let mut ranked: Vec<Ranked> = ranked.collect();
        // Those of one rank stay as they came.
        ranked.sort_by_key(Ranked::rank);
        Self { rule, ranked, groups, addresses, distances }
    }

    /// What becomes of a demand that no link serves.
    #[must_use]
    pub const fn rule(&self) -> LinkRule {
        self.rule
    }

    /// The same links under another rule.
    #[must_use]
    pub fn under(&self, rule: LinkRule) -> Self {
        Self { rule, ..self.clone() }
    }

    /// The links, those of PCI first.
    pub fn iter(&self) -> impl Iterator<Item = &Link> {
        self.ranked.iter().map(|ranked| &ranked.link)
    }

    /// A link.
    #[must_use]
    pub fn get(&self, id: LinkId) -> Option<&Link> {
        self.ranked.get(id.0).map(|ranked| &ranked.link)
    }

    /// The addresses of devices whose ids do not say them.
    #[must_use]
    pub const fn addresses(&self) -> &BTreeMap<DeviceId, PciAddress> {
        &self.addresses
    }

    /// Where a device is plugged in; `None`: not known.
    #[must_use]
    pub fn address(&self, id: &DeviceId) -> Option<PciAddress> {
        let text = id.as_str();
        let replicated = || text.split_once("::").and_then(|(first, _)| first.parse().ok());
        self.addresses.get(id).copied().or_else(|| text.parse().ok()).or_else(replicated)
    }

    /// The links that a device is on: domains, then outer links before those inside them.
    pub(crate) fn path(&self, id: &DeviceId) -> Vec<LinkId> {
        let Some(address) = self.address(id) else { return Vec::new() };
        let is_on = |link: &LinkId| self.members(*link).is_some_and(|members| members.contains(&address));
        let mut path: Vec<LinkId> = self.ids().filter(is_on).collect();
        // Stable: links of one rank stay in their order.
        path.sort_by_key(|link| core::cmp::Reverse(self.rank(*link)));
        path
    }

    /// The first link that has all these devices; `None` if there is none, or the address of one is not known.
    pub fn common<'a>(&self, ids: impl IntoIterator<Item = &'a DeviceId>) -> Option<&Link> {
        let addresses: Vec<PciAddress> = ids.into_iter().map(|id| self.address(id)).collect::<Option<_>>()?;
        self.iter().find(|link| addresses.iter().all(|address| link.members.contains(address)))
    }

    /// The name of the group of a resource, if it is in one.
    #[must_use]
    pub fn group_of(&self, resource: &ResourceName) -> Option<&str> {
        let mut groups = self.groups.iter();
        groups.find(|(_, resources)| resources.contains(resource)).map(|(name, _)| name.as_str())
    }

    fn ids(&self) -> impl Iterator<Item = LinkId> + use<> {
        (0..self.ranked.len()).map(LinkId)
    }

    fn members(&self, id: LinkId) -> Option<&BTreeSet<PciAddress>> {
        self.get(id).map(|link| &link.members)
    }

    fn rank(&self, id: LinkId) -> Option<Rank> {
        self.ranked.get(id.0).map(Ranked::rank)
    }

    /// The distance from the nearest node of `near` to the nearest one of a device; the same for all devices where
    /// that is not known.
    fn distance(&self, near: Option<NodeMask>, device: NodeMask) -> u64 {
        let from = near.into_iter().flat_map(NodeMask::iter);
        let rows = from.filter_map(|node| self.distances.get(node.get())?.as_ref());
        let each = rows.flat_map(|row| device.iter().filter_map(|node| row.get(node.get()).copied()));
        each.min().unwrap_or(0)
    }
}

/// Which of two links is taken where both will do; the field order is the policy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Rank {
    is_domain: bool,
    levels: u32,
}

impl Ranked {
    const fn rank(&self) -> Rank {
        Rank { is_domain: matches!(self.link.kind, LinkKind::Domain), levels: self.levels }
    }
}

/// Of each link how many lie inside each other inside it.
fn levels(links: &[Link]) -> Vec<u32> {
    let mut by_size: Vec<usize> = (0..links.len()).collect();
    by_size.sort_by_key(|at| links[*at].members.len());
    let mut levels = vec![0; links.len()];
    for (place, at) in by_size.iter().enumerate() {
        let members = &links[*at].members;
        let is_inside = |inner: &&usize| {
            let inner = &links[**inner].members;
            inner.len() < members.len() && inner.is_subset(members)
        };
        let inside = by_size[..place].iter().filter(is_inside);
        levels[*at] = inside.map(|inner| levels[*inner] + 1).max().unwrap_or(0);
    }
    levels
}

impl<'a> Choices<'a> {
    pub(crate) fn of(self, resource: &ResourceName) -> Option<Chosen<'a>> {
        let choice = self.choices.iter().find(|choice| choice.resources.contains(resource))?;
        Some(Chosen { links: self.links, choice })
    }
}

impl Chosen<'_> {
    /// Whether the device may be given.
    pub(crate) fn allows(self, id: &DeviceId) -> bool {
        let Some(within) = self.choice.within else { return true };
        let members = self.links.members(within);
        members.zip(self.links.address(id)).is_some_and(|(members, address)| members.contains(&address))
    }

    /// The first are given first.
    pub(crate) fn place(self, id: &DeviceId, near: Option<NodeMask>, on: NodeMask) -> (usize, u64) {
        let order = &self.choice.order;
        let address = self.links.address(id);
        let has = |link: &LinkId| {
            self.links.members(*link).zip(address).is_some_and(|(all, own)| all.contains(&own))
        };
        (order.iter().position(has).unwrap_or(order.len()), self.links.distance(near, on))
    }
}
