//! What a unit asks of links, and which links serve it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use node_config::LinkRule;
use numa_bitmask::NodeMask;
use pod_spec::{ResourceName, Unit};
use topology_model::PciAddress;

use super::{Choice, LinkId, Links, Rank};
use crate::choose::Tier;
use crate::device_ids::DeviceIds;
use crate::inventory::{Inventory, Stock};
use crate::{Devices, Holdings};

/// Devices that a unit asks for together; at least two.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Demand {
    /// The group of its resources; `None`: it is one resource by itself.
    pub group: Option<String>,
    /// How many of which resource.
    pub asked: BTreeMap<ResourceName, u64>,
}

/// A demand on a node: what there is for it, and which links serve it.
#[derive(Clone, Debug)]
pub struct Linked<'a> {
    /// What is asked for.
    pub demand: Demand,
    /// The links that have enough, the first to be taken first where nothing else decides.
    pub serving: Vec<LinkId>,
    pub(super) links: &'a Links,
    pub(super) supplies: Vec<Supply<'a>>,
}

/// What there is of one resource of a demand.
#[derive(Clone, Debug)]
pub(super) struct Supply<'a> {
    pub(super) resource: ResourceName,
    stock: &'a Stock,
    /// What init containers of the pod have left, and the unit is given first.
    left: Vec<Option<PciAddress>>,
    /// How many it needs beside these.
    pub(super) needed: u64,
    /// Healthy devices that no container holds.
    free: Vec<Free>,
}

/// A device that can be given.
#[derive(Clone, Copy, Debug)]
struct Free {
    on: NodeMask,
    lists_a_node: bool,
    address: Option<PciAddress>,
}

/// Which of the links that serve a demand is taken: the smallest key. The field order is the policy.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    beside: u64,
    rank: Rank,
    distance: u64,
    left: usize,
    link: LinkId,
}

impl Devices {
    /// The demands of a unit on links; none of what it holds already.
    #[must_use]
    pub fn linked<'a>(
        self,
        inventory: &'a Inventory,
        held: &'a Holdings,
        links: &'a Links,
        unit: Unit<'_>,
    ) -> Vec<Linked<'a>> {
        let mut demands: Vec<Demand> = Vec::new();
        for (resource, count) in self.asked(inventory, held, unit) {
            let is_placed = inventory.devices(&resource).any(|device| links.address(&device.id).is_some());
            if count == 0 || !is_placed || holds(held, unit, &resource) {
                continue;
            }
            let group = links.group_of(&resource).map(String::from);
            let asked = BTreeMap::from([(resource.clone(), count)]);
            match demands.iter_mut().find(|known| group.is_some() && known.group == group) {
                Some(known) => drop(known.asked.insert(resource, count)),
                None => demands.push(Demand { group, asked }),
            }
        }
        demands.retain(|demand| demand.asked.values().sum::<u64>() > 1);
        demands.into_iter().map(|demand| Linked::new(inventory, held, links, unit, demand)).collect()
    }
}

fn holds(held: &Holdings, unit: Unit<'_>, resource: &ResourceName) -> bool {
    match unit {
        Unit::Container(pod, container) => held.held(&pod.uid, &container.name, resource).is_some(),
        Unit::Pod(pod) => held.of_pod(&pod.uid).any(|(_, other, _)| other == resource),
    }
}

impl<'a> Linked<'a> {
    fn new(
        inventory: &'a Inventory,
        held: &'a Holdings,
        links: &'a Links,
        unit: Unit<'_>,
        demand: Demand,
    ) -> Self {
        let supplies = demand.asked.iter().filter_map(|(resource, count)| {
            let stock = inventory.stock(resource)?;
            let left_over = match unit {
                Unit::Container(pod, _) => held.reusable(&pod.uid, resource),
                Unit::Pod(_) => None,
            };
            Some(Supply::new(resource.clone(), stock, links, *count, left_over, held.taken(resource)))
        });
        let mut linked = Self { supplies: supplies.collect(), demand, serving: Vec::new(), links };
        linked.serving = links.ids().filter(|link| linked.serves(*link)).collect();
        linked
    }

    /// Whether fewer devices are free than are needed, on whatever link.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.supplies.iter().any(|supply| (supply.free.len() as u64) < supply.needed)
    }

    fn serves(&self, link: LinkId) -> bool {
        self.links.members(link).is_some_and(|members| {
            self.supplies.iter().all(|supply| {
                let is_on = |address: &Option<PciAddress>| address.is_some_and(|own| members.contains(&own));
                supply.left.iter().all(is_on) && supply.on(members).count() as u64 >= supply.needed
            })
        })
    }

    /// One link for each way in which the NUMA nodes of links that serve can differ, without those that have no more than
    /// another one anywhere.
    #[must_use]
    pub fn alternatives(&self) -> Vec<LinkId> {
        let places = |link: &LinkId| -> Vec<u64> {
            let members = self.links.members(*link);
            let counts = self.supplies.iter().flat_map(|supply| {
                let mut counts: BTreeMap<NodeMask, u64> =
                    supply.stock.list.places().iter().map(|mask| (*mask, 0)).collect();
                for free in members.into_iter().flat_map(|members| supply.on(members)) {
                    *counts.entry(free.on).or_default() += 1;
                }
                // More than what is needed makes no difference.
                counts.into_values().map(|count| count.min(supply.needed)).collect::<Vec<_>>()
            });
            counts.collect()
        };
        let mut kept: Vec<(LinkId, Vec<u64>)> = Vec::new();
        for link in &self.serving {
            let counts = places(link);
            let has_no_more =
                |less: &[u64], more: &[u64]| less.iter().zip(more).all(|(less, more)| less <= more);
            if kept.iter().any(|(_, known)| has_no_more(&counts, known)) {
                continue;
            }
            kept.retain(|(_, known)| !has_no_more(known, &counts));
            kept.push((*link, counts));
        }
        kept.into_iter().map(|(link, _)| link).collect()
    }

    /// The nodes of the free devices of a link that the demand could have.
    #[must_use]
    pub fn nodes(&self, link: LinkId) -> NodeMask {
        let members = self.links.members(link);
        let free =
            members.into_iter().flat_map(|members| self.supplies.iter().flat_map(|all| all.on(members)));
        free.fold(NodeMask::EMPTY, |nodes, free| nodes | free.on)
    }

    /// How the devices are chosen for a unit with this affinity; `None` if it has to be refused.
    #[must_use]
    pub fn choice(&self, near: Option<NodeMask>) -> Option<Choice> {
        let keys = self.serving.iter().filter_map(|link| self.key(*link, near));
        let best = keys.min();
        // What is taken beside the affinity whatever is chosen.
        let unavoidable: u64 = self
            .supplies
            .iter()
            .map(|supply| {
                let aligned = supply.free.iter().filter(|free| free.tier(supply, near) == Tier::Aligned);
                supply.needed.saturating_sub(aligned.count() as u64)
            })
            .sum();
        let resources: BTreeSet<ResourceName> = self.demand.asked.keys().cloned().collect();
        let (within, first) = match (self.links.rule, best) {
            (LinkRule::Require, None) => return None,
            (LinkRule::Require, Some(best)) => (Some(best.link), Some(best.link)),
            (LinkRule::Prefer | LinkRule::Ignore, best) => {
                let costs_nothing = |best: &Key| near.is_none() || best.beside <= unavoidable;
                (None, best.filter(costs_nothing).map(|best| best.link))
            }
        };
        Some(Choice { resources, within, order: self.order(first, near) })
    }

    fn key(&self, link: LinkId, near: Option<NodeMask>) -> Option<Key> {
        let (members, rank) = (self.links.members(link)?, self.links.rank(link)?);
        let mut key = Key { beside: 0, rank, distance: 0, left: 0, link };
        for supply in &self.supplies {
            let mut free: Vec<(Tier, u64)> = supply
                .on(members)
                .map(|free| (free.tier(supply, near), self.links.distance(near, free.on)))
                .collect();
            free.sort_unstable();
            let needed = usize::try_from(supply.needed).unwrap_or(usize::MAX);
            let given = free.get(..needed)?;
            key.beside += given.iter().filter(|(tier, _)| *tier != Tier::Aligned).count() as u64;
            key.distance += given.iter().map(|(_, distance)| *distance).sum::<u64>();
            key.left += free.len() - needed;
        }
        Some(key)
    }

    /// For each resource the addresses of the devices that can be among those given: of the nearest ones all that have to
    /// be chosen from.
    pub(super) fn in_play(
        &self,
        within: Option<LinkId>,
        near: Option<NodeMask>,
    ) -> Vec<(u64, Vec<PciAddress>)> {
        let members = within.and_then(|link| self.links.members(link));
        let in_play = self.supplies.iter().map(|supply| {
            let may_be_given =
                |free: &&Free| members.is_none_or(|all| free.address.is_some_and(|own| all.contains(&own)));
            let free = || supply.free.iter().filter(may_be_given);
            let aligned = free().filter(|free| free.tier(supply, near) == Tier::Aligned).count() as u64;
            let is_cut = aligned >= supply.needed;
            let free = free().filter(|free| !is_cut || free.tier(supply, near) == Tier::Aligned);
            (supply.needed, free.filter_map(|free| free.address).collect())
        });
        in_play.collect()
    }
}

impl<'a> Supply<'a> {
    fn new(
        resource: ResourceName,
        stock: &'a Stock,
        links: &Links,
        count: u64,
        left_over: Option<&DeviceIds>,
        taken: Option<&DeviceIds>,
    ) -> Self {
        let most = usize::try_from(count).unwrap_or(usize::MAX);
        let left: Vec<Option<PciAddress>> =
            left_over.into_iter().flatten().take(most).map(|id| links.address(id)).collect();
        let mut walk = taken.map(DeviceIds::walk).unwrap_or_default();
        let free = stock.list.healthy().filter(|entry| !walk.contains(&entry.device.id)).map(|entry| Free {
            on: entry.mask,
            lists_a_node: entry.lists_a_node,
            address: links.address(&entry.device.id),
        });
        let free = free.collect();
        Self { resource, stock, needed: count.saturating_sub(left.len() as u64), left, free }
    }

    fn on(&self, members: &BTreeSet<PciAddress>) -> impl Iterator<Item = &Free> {
        self.free.iter().filter(|free| free.address.is_some_and(|address| members.contains(&address)))
    }

    /// How many of a link are free, and how many it has that could be.
    pub(super) fn counts(&self, links: &Links, members: &BTreeSet<PciAddress>) -> (u64, u64) {
        let healthy = self.stock.list.healthy().filter_map(|entry| links.address(&entry.device.id));
        let all = healthy.filter(|address| members.contains(address)).count() as u64;
        (self.on(members).count() as u64, all)
    }

    /// How many free ones have no address that is known.
    pub(super) fn unplaced(&self) -> u64 {
        self.free.iter().filter(|free| free.address.is_none()).count() as u64
    }
}

impl Free {
    fn tier(&self, supply: &Supply<'_>, near: Option<NodeMask>) -> Tier {
        Tier::at(self.lists_a_node, self.on, near.filter(|_| supply.stock.list.is_aligned()))
    }
}
