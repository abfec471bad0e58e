//! How good a node is for a pod that fits it, from 0 to 10: alignment first, then how full it becomes.

use alloc::string::String;
use alloc::vec::Vec;

use device_manager::{DeviceIds, Topology};
use numa_bitmask::{NodeIndex, NodeMask};
use pod_spec::{Pod, ResourceName};
use topology_admission::{Ledger, Node, Placed, Placement};
use topology_model::NodeId;

use crate::judgement::ClaimElsewhere;

/// A score: 0 to [`Score::BEST`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Score(u8);

impl Score {
    /// kube-scheduler's greatest score of an extender.
    pub const BEST: Self = Self(10);
    /// A node by whose published amounts a pod fits one zone.
    pub(crate) const ONE_ZONE: Self = Self(5);
    /// A node of which nothing better is known.
    pub(crate) const UNKNOWN: Self = Self(0);

    /// The number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// How a pod lies, the best first. Every band is above the next, however full the nodes are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Alignment {
    /// All of it on one NUMA node, or it has nothing that has a place.
    OneNode,
    /// Each container on one, and not all on the same.
    OneNodeEach,
    /// Each container on one, and a device of it is near another.
    RemoteDevices,
    /// Some container on two.
    TwoNodes,
    MoreNodes,
}

impl Alignment {
    /// The lowest score, and by how much it rises with what is allocated.
    const fn band(self) -> (u8, u32) {
        match self {
            Self::OneNode => (8, 2),
            Self::OneNodeEach => (6, 1),
            Self::RemoteDevices => (4, 1),
            Self::TwoNodes => (2, 1),
            Self::MoreNodes => (0, 1),
        }
    }
}

/// How a pod lies on a node that it fits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fit {
    pub(crate) score: Score,
    /// The first claim with devices elsewhere than its container's CPUs and memory.
    pub(crate) elsewhere: Option<ClaimElsewhere>,
}

impl From<Score> for Fit {
    fn from(score: Score) -> Self {
        Self { score, elsewhere: None }
    }
}

/// Of a pod that was given `placement`, after which the node's ledger is `after`.
pub(crate) fn score(node: &Node, pod: &Pod, placement: &Placement, after: &Ledger) -> Fit {
    let mut all = NodeMask::EMPTY;
    let mut worst = Alignment::OneNode;
    let mut first = None;
    for placed in &placement.containers {
        let lies = Lies::of(node, after, pod, placed);
        all |= lies.nodes;
        worst = worst.max(lies.alignment);
        first = first.or(lies.elsewhere);
    }
    if worst == Alignment::OneNode && all.len() > 1 {
        worst = Alignment::OneNodeEach;
    }
    let (lowest, width) = worst.band();
    let steps = (allocated(node, after, pod) * (width + 1) / WHOLE).min(width);
    let score = Score(lowest.saturating_add(u8::try_from(steps).unwrap_or(0)));
    Fit { score, elsewhere: first }
}

/// How a container lies.
struct Lies {
    nodes: NodeMask,
    alignment: Alignment,
    elsewhere: Option<ClaimElsewhere>,
}

impl Lies {
    fn of(node: &Node, after: &Ledger, pod: &Pod, placed: &Placed) -> Self {
        let own = own_nodes(node, placed);
        let mut lies = alignment(node, after, (own, placed));
        let places = &pod.constraints.claim_places;
        let devices = places.known.iter().filter(|device| device.containers.contains(&placed.name));
        let devices = devices
            .filter_map(|device| Some((device.claim.as_str(), node.nodes().index_of(NodeId(device.node))?)));
        let devices: Vec<(&str, NodeIndex)> = devices.collect();
        if own.is_empty() {
            // A container without exclusive CPUs and memory is where its devices are.
            lies.nodes = devices.iter().fold(lies.nodes, |all, (_, node)| all | NodeMask::from(*node));
            return lies;
        }
        let is_off = |device: &&(&str, NodeIndex)| !own.contains(device.1);
        if let Some((claim, _)) = devices.iter().find(is_off) {
            let off = devices.iter().filter(is_off).filter(|(other, _)| other == claim);
            let off = off.fold(NodeMask::EMPTY, |all, (_, node)| all | NodeMask::from(*node));
            let ids = |mask: NodeMask| mask.iter().filter_map(|index| node.nodes().id(index)).collect();
            lies.alignment = lies.alignment.max(Alignment::RemoteDevices);
            lies.elsewhere =
                Some(ClaimElsewhere { claim: String::from(*claim), devices: ids(off), container: ids(own) });
        }
        lies
    }
}

/// The NUMA nodes of a container's exclusive CPUs and bound memory.
fn own_nodes(node: &Node, placed: &Placed) -> NodeMask {
    let mut nodes = NodeMask::EMPTY;
    if let (Some(policy), Some(cpus)) =
        (node.cpus(), placed.cpus.as_ref().and_then(|granted| granted.exclusive()))
    {
        nodes |= policy.nodes_of(cpus);
    }
    if let Some(memory_manager::Granted::Blocks(blocks)) = &placed.memory {
        let booked = blocks.iter().filter(|block| block.size > 0);
        nodes = booked.fold(nodes, |nodes, block| nodes | block.nodes.mask());
    }
    nodes
}

/// How a container lies, its claims left out.
fn alignment(node: &Node, after: &Ledger, (nodes, placed): (NodeMask, &Placed)) -> Lies {
    let near = |resource: &ResourceName, id| {
        let device = after.inventory().device(resource, id)?;
        let Topology::Nodes(ids) = &device.topology else { return None };
        Some(node.nodes().mask_of(ids.iter().copied())).filter(|mask| !mask.is_empty())
    };
    let devices =
        placed.devices.iter().flat_map(|(resource, ids)| ids.iter().filter_map(move |id| near(resource, id)));
    let (mut is_remote, mut of_devices) = (false, NodeMask::EMPTY);
    for device in devices {
        is_remote |= !nodes.is_empty() && !device.meets(nodes);
        // One that is near several nodes needs none of them in particular.
        if device.len() == 1 {
            of_devices |= device;
        }
    }
    let own = if nodes.is_empty() { of_devices } else { nodes };
    let alignment = match (own.len(), is_remote) {
        (0 | 1, false) => Alignment::OneNode,
        (0 | 1, true) => Alignment::RemoteDevices,
        (2, _) => Alignment::TwoNodes,
        _ => Alignment::MoreNodes,
    };
    Lies { nodes: own, alignment, elsewhere: None }
}

/// A share of everything, in thousandths.
const WHOLE: u32 = 1000;

/// The mean share that is allocated of exclusive CPUs, memory, huge pages and devices, of those that the pod asks for.
fn allocated(node: &Node, after: &Ledger, pod: &Pod) -> u32 {
    let asks = |resource: &str| {
        pod.containers
            .iter()
            .any(|container| container.limits.get(resource).is_some_and(|amount| !amount.is_zero()))
    };
    let (mut sum, mut count) = (0, 0);
    let mut add = |free: u64, all: u64| {
        if all > 0 {
            let taken = u128::from(all.saturating_sub(free)) * u128::from(WHOLE) / u128::from(all);
            sum += u32::try_from(taken).unwrap_or(WHOLE);
            count += 1;
        }
    };
    if let (Some(policy), Some(held)) = (node.cpus(), after.cpus())
        && asks("cpu")
    {
        add(policy.available(held).len() as u64, policy.allocatable().len() as u64);
    }
    if let (Some(policy), Some(held)) = (node.memory(), after.memory()) {
        for resource in policy.resources().iter().filter(|resource| asks(resource.as_str())) {
            let of = policy.allocatable().filter(|(_, other, _)| *other == resource);
            let (free, all) = of.fold((0_u64, 0_u64), |(free, all), (index, _, bytes)| {
                (free.saturating_add(held.amounts(index, resource).free), all.saturating_add(bytes))
            });
            add(free, all);
        }
    }
    for resource in after.inventory().registered().filter(|resource| asks(resource.as_str())) {
        let all = after.inventory().healthy(resource).count();
        let taken = after.devices().taken(resource).map_or(0, DeviceIds::len);
        add(all.saturating_sub(taken) as u64, all as u64);
    }
    sum.checked_div(count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_better_alignment_is_never_outweighed() {
        let all = [
            Alignment::OneNode,
            Alignment::OneNodeEach,
            Alignment::RemoteDevices,
            Alignment::TwoNodes,
            Alignment::MoreNodes,
        ];
        for pair in all.windows(2) {
            let [(better, _), (worse, width)] = [pair[0].band(), pair[1].band()];
            assert!(u32::from(worse) + width < u32::from(better), "{pair:?}");
        }
        let (lowest, width) = Alignment::OneNode.band();
        assert_eq!(u32::from(lowest) + width, u32::from(Score::BEST.get()));
    }
}
