//! A node of which only amounts are known: what another producer publishes for each NUMA node.
//!
//! The rule is the best that amounts allow, and not the kubelet's. Under `single-numa-node` each container of a
//! Guaranteed pod (or the pod as a whole, by scope) must fit one zone. Under `restricted` it must fit as few zones as it
//! would need if nothing were held. Under `best-effort` and `none`, and where the policy is not published, everything
//! passes. A container takes what it is given from the first zone that has enough, as a kubelet does; a resource that no
//! zone publishes is not looked at.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::hash::{Hash as _, Hasher};

use admission_report::{BriefReason, Resource, Wanted};
use node_config::Scope;
use node_cover::{Cover, Row, Steps};
use node_resource_topology::{NodeResourceTopology, PublishedPolicies, UnreadableZones, ZoneAmount};
use numa_bitmask::{NodeIndex, NodeMask};
use pod_spec::{Container, Pod, PodLevelResources, ResourceList, ResourceName, Role};
use topology_policy::KubeletPolicy;

use crate::score::{Alignment, Fit};

/// What a `NodeResourceTopology` of another producer says of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Zones {
    policies: PublishedPolicies,
    /// In ascending order of NUMA nodes.
    zones: Vec<BTreeMap<ResourceName, ZoneAmount>>,
}

/// A pod that fits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PlacedInZones {
    pub(crate) after: Zones,
    pub(crate) fit: Fit,
}

/// What a unit asks for.
type Asked = Vec<(ResourceName, u64)>;

impl Zones {
    /// # Errors
    /// The object has no NUMA node, or one that cannot be read.
    pub fn read(object: &NodeResourceTopology) -> Result<Self, UnreadableZones> {
        let amounts = object.amounts()?;
        let mut zones: Vec<BTreeMap<ResourceName, ZoneAmount>> =
            amounts.nodes().map(|_| BTreeMap::new()).collect();
        for resource in amounts.resources() {
            for (zone, (_, amount)) in zones.iter_mut().zip(amounts.of(resource)) {
                zone.extend(amount.map(|amount| (resource.clone(), amount)));
            }
        }
        Ok(Self { policies: object.policies(), zones })
    }

    /// The same node on which nothing is held.
    pub(crate) fn empty(&self) -> Self {
        let mut empty = self.clone();
        for amount in empty.zones.iter_mut().flat_map(BTreeMap::values_mut) {
            amount.available = amount.allocatable;
        }
        empty
    }

    /// Feeds a hash that is the same for equal zones.
    pub(crate) fn hash_state(&self, hasher: &mut impl Hasher) {
        for (resource, amount) in self.zones.iter().flatten() {
            resource.hash(hasher);
            amount.available.hash(hasher);
        }
    }

    /// Takes what `pod` asks for.
    pub(crate) fn place(&self, pod: &Pod) -> Result<PlacedInZones, BriefReason> {
        let mut after = self.clone();
        let mut alignment = Alignment::OneZone;
        for (asked, role) in self.units(pod) {
            let zones = after.zones_for(&asked)?;
            if zones.len() > 1 {
                alignment = Alignment::NoZone;
            }
            // What an init container had is free for those after it.
            if role != Role::Init {
                after.take(zones, &asked);
            }
        }
        Ok(PlacedInZones { after, fit: Fit::by_zones(alignment) })
    }

    /// What is aligned together, of resources that are published.
    fn units(&self, pod: &Pod) -> Vec<(Asked, Role)> {
        let published = |list: ResourceList| -> Asked {
            let known = list.into_iter().filter(|(resource, _)| self.publishes(resource));
            known
                .map(|(resource, amount)| (resource, u64::try_from(amount.value()).unwrap_or(u64::MAX)))
                .collect()
        };
        let units: Vec<(Asked, Role)> = match self.policies.scope.unwrap_or(Scope::Container) {
            Scope::Pod => Vec::from([(published(self.policies.aligned(pod)), Role::App)]),
            Scope::Container => {
                let class = Some(pod.qos_class(PodLevelResources::Count));
                let alone = |container: &Container| Pod {
                    containers: Vec::from([container.clone()]).into(),
                    status_qos: class,
                    ..pod.clone()
                };
                let each = pod.containers.iter();
                each.map(|own| (published(self.policies.aligned(&alone(own))), own.role)).collect()
            }
        };
        units.into_iter().filter(|(asked, _)| !asked.is_empty()).collect()
    }

    fn publishes(&self, resource: &ResourceName) -> bool {
        self.zones.iter().any(|zone| zone.contains_key(resource))
    }

    /// The zones that serve a unit.
    fn zones_for(&self, asked: &Asked) -> Result<NodeMask, BriefReason> {
        let one = |amount: fn(&ZoneAmount) -> u64| self.first_zone(asked, amount);
        if let Some(zone) = one(available) {
            return Ok(zone.into());
        }
        match self.policies.policy {
            Some(KubeletPolicy::SingleNumaNode) => Err(self.no_zone(asked)),
            Some(KubeletPolicy::Restricted) => {
                let now = self.fewest(asked, available).ok_or_else(|| self.lack(asked))?;
                let empty = self.fewest(asked, allocatable).map_or(now.len(), NodeMask::len);
                if now.len() > empty {
                    let wanted = asked.iter().map(wanted).collect();
                    let policy = KubeletPolicy::Restricted.name();
                    return Err(BriefReason::WiderSets { policy, wanted });
                }
                Ok(now)
            }
            Some(KubeletPolicy::BestEffort | KubeletPolicy::None) | None => {
                Ok(self.fewest(asked, available).unwrap_or_else(|| NodeMask::all(self.zones.len())))
            }
        }
    }

    fn first_zone(&self, asked: &Asked, amount: fn(&ZoneAmount) -> u64) -> Option<NodeIndex> {
        let has_all = |zone: &BTreeMap<ResourceName, ZoneAmount>| {
            asked.iter().all(|(resource, needed)| zone.get(resource).map_or(0, amount) >= *needed)
        };
        NodeIndex::new(self.zones.iter().position(has_all)?).ok()
    }

    /// The smallest set of zones that has enough together; `None` if all of them have not.
    fn fewest(&self, asked: &Asked, amount: fn(&ZoneAmount) -> u64) -> Option<NodeMask> {
        let all = NodeMask::all(self.zones.len());
        let rows = asked.iter().map(|(resource, needed)| {
            let own = self.zones.iter().map(|zone| zone.get(resource).map_or(0, amount));
            Row::per_node(*needed, all.iter().zip(own))
        });
        Some(Cover::new(all, rows)?.smallest(&mut Steps::default()).into_inner())
    }

    fn no_zone(&self, asked: &Asked) -> BriefReason {
        let has = |(resource, needed): &(ResourceName, u64)| {
            self.zones.iter().any(|zone| zone.get(resource).map_or(0, available) >= *needed)
        };
        let nowhere: Vec<Wanted> = asked.iter().filter(|one| !has(one)).map(wanted).collect();
        if nowhere.is_empty() {
            return BriefReason::NotTogether(asked.iter().map(wanted).collect());
        }
        BriefReason::NoNode(nowhere)
    }

    /// The first resource of which all zones together have too little.
    fn lack(&self, asked: &Asked) -> BriefReason {
        let sum = |resource: &ResourceName| {
            let each = self.zones.iter().filter_map(|zone| zone.get(resource)).map(available);
            each.fold(0, u64::saturating_add)
        };
        let lacking = asked.iter().find(|(resource, needed)| sum(resource) < *needed);
        lacking.map_or(BriefReason::Cut, |one| BriefReason::Machine(wanted(one)))
    }

    fn take(&mut self, zones: NodeMask, asked: &Asked) {
        for (resource, needed) in asked {
            let mut left = *needed;
            for index in zones {
                let amount = self.zones.get_mut(index.get()).and_then(|zone| zone.get_mut(resource));
                let Some(amount) = amount else { continue };
                let taken = left.min(amount.available);
                amount.available -= taken;
                left -= taken;
            }
        }
    }
}

const fn available(amount: &ZoneAmount) -> u64 {
    amount.available
}

const fn allocatable(amount: &ZoneAmount) -> u64 {
    amount.allocatable
}

fn wanted((resource, amount): &(ResourceName, u64)) -> Wanted {
    Wanted { resource: Resource::from(resource), amount: Some(*amount) }
}
