//! What an administrator could change: more devices or huge pages on a NUMA node, other reserved CPUs, groups of nodes
//! that are dissolved.

use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

use device_manager::{Device, Links};
use k8s_quantity::{Format, Quantity};
use node_config::{Amounts, LinkRule, OwnOptions, Regroup};
use numa_bitmask::{NodeIndex, NodeMask};
use pod_spec::ResourceName;
use topology_model::NodeId;
use topology_policy::KubeletPolicy;

use crate::attempt::refusal::Cause;
use crate::attempt::standing::Standing;
use crate::attempt::trace::UnitTrace;
use crate::explain::change::Change;
use crate::explain::explanation::WouldFit;
use crate::explain::trial::{MOST_OF_A_KIND, Trial};
use crate::ledger::Ledger;
use crate::node::Node;

/// Maximum number of devices that a suggestion adds: more are not practical.
const MOST_DEVICES: u64 = 4096;

/// How much more of which resource.
type Amount = (ResourceName, u64);

impl Trial<'_> {
    /// More devices and huge pages on one node: what it lacks, or what all nodes lack together.
    pub(crate) fn more(&mut self) -> Vec<WouldFit> {
        let mut candidates: Vec<(NodeIndex, NodeId, Vec<Amount>)> = Vec::new();
        for (index, id) in self.node.nodes().iter() {
            let here = self.unit().map(|unit| self.lacking(unit, index)).unwrap_or_default();
            for amounts in [here, self.lacking_together()] {
                let is_known = candidates.iter().any(|(at, _, known)| (*at, known) == (index, &amounts));
                if !amounts.is_empty() && !is_known {
                    candidates.push((index, id, amounts));
                }
            }
        }
        candidates.sort_by_key(|(_, _, amounts)| {
            let sizes = amounts.iter().map(|(resource, more)| more / page_size(resource).max(1));
            (amounts.len(), sizes.fold(0, u64::saturating_add))
        });
        let mut found = Vec::new();
        for (index, id, amounts) in candidates {
            let Some((node, ledger)) = with_more(self.node, self.ledger, index, id, &amounts) else {
                continue;
            };
            let node = node.as_ref().unwrap_or(self.node);
            found.extend(self.attempt_on(node, ledger).with(Change::More { node: id, amounts }));
            if found.len() == MOST_OF_A_KIND {
                break;
            }
        }
        found
    }

    /// What of devices and huge pages `index` lacks for the unit; nothing if that would not be enough.
    fn lacking(&self, unit: &UnitTrace, index: NodeIndex) -> Vec<Amount> {
        let mut lacking = Vec::new();
        for row in &unit.resources {
            match unit.standing(row, index) {
                Standing::Fits => {}
                Standing::Lacks(lack) if self.is_addable(&row.resource) => {
                    lacking.push((row.resource.clone(), whole_pages(&row.resource, lack)));
                }
                _ if self.rules.policy == KubeletPolicy::SingleNumaNode => return Vec::new(),
                _ => {}
            }
        }
        lacking
    }

    /// What of devices and huge pages all nodes together lack for the unit, or the node as a whole for the pod.
    fn lacking_together(&self) -> Vec<Amount> {
        let shortages = match &self.refused.cause {
            Cause::Shortage(shortages) => shortages.as_slice(),
            _ => &[],
        };
        let of_node =
            shortages.iter().map(|shortage| (&shortage.resource, shortage.missing().unsigned_abs()));
        let rows = self.unit().into_iter().flat_map(|unit| &unit.resources);
        let of_unit = rows.filter_map(|row| {
            let amounts = row.amounts.as_ref()?;
            Some((&row.resource, amounts.asked.saturating_sub(amounts.free())))
        });
        let mut lacking: Vec<Amount> = Vec::new();
        for (resource, lack) in of_node.chain(of_unit) {
            if lack > 0 && self.is_addable(resource) && lacking.iter().all(|(known, _)| known != resource) {
                lacking.push((resource.clone(), whole_pages(resource, lack)));
            }
        }
        lacking
    }

    /// Whether it is devices or huge pages.
    fn is_addable(&self, resource: &ResourceName) -> bool {
        resource.is_hugepages() || self.ledger.inventory().is_registered(resource)
    }

    /// The CPUs that are reserved on one node reserved on another.
    pub(crate) fn reserved(&mut self) -> Vec<WouldFit> {
        let (Some(policy), Some(held)) = (&self.node.cpus, self.ledger.cpus()) else { return Vec::new() };
        let is_about_nodes = !matches!(self.refused.cause, Cause::Shortage(_) | Cause::Mismatch(_));
        let asks =
            self.unit().is_some_and(|unit| unit.resources.iter().any(|row| row.resource.as_str() == "cpu"));
        if !is_about_nodes || !asks {
            return Vec::new();
        }
        let mut found = Vec::new();
        let nodes = self.node.nodes().all();
        for from in nodes {
            for to in nodes.without(from) {
                let moved = policy.with_reserved_moved(held, NodeMask::single(from), NodeMask::single(to));
                let Some((policy, held)) = moved else { continue };
                let change = Change::ReserveCpus(policy.reserved().clone());
                let node = Node { cpus: Some(policy), ..self.node.clone() };
                let ledger = self.ledger.clone().with_cpus(held);
                found.extend(self.attempt_on(&node, ledger).with(change));
                if found.len() == MOST_OF_A_KIND {
                    return found;
                }
            }
        }
        found
    }

    /// Groups of nodes that no pod needs any more dissolved.
    pub(crate) fn regroup(&mut self) -> Option<WouldFit> {
        let held = self.ledger.memory()?;
        let is_bound = |node| held.group(node).mask().len() > 1;
        if self.node.options.regroup != Regroup::Never || !self.node.nodes().all().iter().any(is_bound) {
            return None;
        }
        let options = OwnOptions { regroup: Regroup::WhenUnneeded, ..self.node.options.clone() };
        let node = Node { options, ..self.node.clone() };
        self.attempt_on(&node, self.ledger.clone()).with(Change::Regroup)
    }
}

impl Trial<'_> {
    /// Devices of several links.
    pub(crate) fn prefer_links(&mut self) -> Option<WouldFit> {
        let node = preferring_links(self.node)?;
        self.attempt_on(&node, self.ledger.clone()).with(Change::PreferLinks)
    }
}

/// The node that only prefers devices of one link; `None` if it did not require them.
pub(crate) fn preferring_links(node: &Node) -> Option<Node> {
    let is_required = |links: &&Arc<Links>| links.rule() == LinkRule::Require;
    let links = node.links.as_ref().filter(is_required)?.under(LinkRule::Prefer);
    Some(node.clone().with_links(links))
}

/// The node (if it becomes another) and the ledger with more of these on one node.
pub(crate) fn with_more(
    node: &Node,
    ledger: &Ledger,
    index: NodeIndex,
    id: NodeId,
    amounts: &[Amount],
) -> Option<(Option<Node>, Ledger)> {
    let mut inventory = ledger.inventory().clone();
    let mut changed: Option<(Node, Ledger)> = None;
    for (resource, more) in amounts {
        if resource.is_hugepages() {
            let (node, ledger) = changed.take().unwrap_or_else(|| (node.clone(), ledger.clone()));
            changed = Some(with_more_pages(node, ledger, index, resource, *more)?);
        } else if *more > MOST_DEVICES {
            return None;
        } else {
            let added = (0..*more).map(|at| Device::new(&format!("one-more-{at}"), &[id.0]));
            let devices: Vec<Device> = inventory.devices(resource).cloned().chain(added).collect();
            inventory.list(resource, devices);
        }
    }
    Some(match changed {
        Some((node, ledger)) => (Some(node), ledger.with_inventory(inventory)),
        None => (None, ledger.with_inventory(inventory)),
    })
}

/// The same node with more huge pages in one place; `None` where that is not possible.
fn with_more_pages(
    node: Node,
    ledger: Ledger,
    index: NodeIndex,
    resource: &ResourceName,
    more: u64,
) -> Option<(Node, Ledger)> {
    let (memory, held) = match (&node.memory, ledger.memory()) {
        (Some(policy), Some(held)) => {
            let (policy, held) = policy.with_more_pages(held, index, resource, more)?;
            (Some(policy), Some(held))
        }
        // Where they are does not matter.
        _ => (None, None),
    };
    let mut allocatable = node.allocatable.clone();
    change(&mut allocatable, resource.as_str(), i64::try_from(more).ok()?)?;
    change(&mut allocatable, "memory", -i64::try_from(more).ok()?)?;
    Some((Node { memory, allocatable, ..node }, ledger.with_memory(held)))
}

/// Adds to an amount that there is; `None` if there is none, or it would fall below zero.
fn change(amounts: &mut Amounts, resource: &str, by: i64) -> Option<()> {
    let amount = amounts.get_mut(resource)?;
    let sum = amount.value().checked_add(by).filter(|sum| *sum >= 0)?;
    *amount = Quantity::from_units(sum, Format::BinarySi);
    Some(())
}

/// The bytes of a page; 1 for what is no huge page.
pub(crate) fn page_size(resource: &ResourceName) -> u64 {
    let size = resource.as_str().strip_prefix("hugepages-").map(ToString::to_string);
    let size = size.and_then(|size| size.parse::<Quantity>().ok()).and_then(|size| size.as_int64());
    size.and_then(|size| u64::try_from(size).ok()).filter(|size| *size > 0).unwrap_or(1)
}

fn whole_pages(resource: &ResourceName, bytes: u64) -> u64 {
    let size = page_size(resource);
    bytes.div_ceil(size).saturating_mul(size)
}
