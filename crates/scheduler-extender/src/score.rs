//! How good a node is for a pod that fits it, from 0 to 10: alignment first, then how full it becomes.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use device_manager::{DeviceIds, Topology};
use numa_bitmask::{NodeIndex, NodeMask};
use pod_spec::{Pod, ResourceName};
use topology_admission::{Ledger, Node, Placed, Placement};
use topology_model::NodeId;

use crate::judgement::ClaimElsewhere;
use crate::rooms::RoomThere;

/// A score: 0 to [`Score::BEST`], in thousandths of kube-scheduler's steps of 0 to 10.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Score(u16);

impl Score {
    /// kube-scheduler's greatest score of an extender.
    pub const BEST: Self = Self(10 * STEP);
    /// A node of which nothing better is known.
    pub(crate) const UNKNOWN: Self = Self(0);

    /// The number in kube-scheduler's own steps, 0 to 10.
    #[must_use]
    pub const fn get(self) -> u8 {
        (self.0 / STEP) as u8
    }

    /// The number where the greatest score is `most`, 0 to `most`: the more steps, the finer.
    #[must_use]
    pub fn of(self, most: u16) -> u16 {
        let score = u32::from(self.0) * u32::from(most) / u32::from(Self::BEST.0);
        u16::try_from(score).unwrap_or(most)
    }
}

/// What the room that nodes would lose is worth: the least and the most, by alignment.
pub(crate) struct Spans(BTreeMap<Alignment, (f64, f64)>);

impl Spans {
    pub(crate) fn of<'a>(fits: impl Iterator<Item = &'a (&'a Fit, Option<f64>)>) -> Self {
        let mut spans = BTreeMap::new();
        for (alignment, cost) in fits.filter_map(|(fit, cost)| Some((fit.alignment, (*cost)?))) {
            let (least, most) = spans.entry(alignment).or_insert((cost, cost));
            (*least, *most) = (cost.min(*least), cost.max(*most));
        }
        Self(spans)
    }

    /// Which share a node spares that loses room of this worth, in thousandths, against the others of its alignment.
    pub(crate) fn spared(&self, fit: &Fit, cost: f64) -> Option<u16> {
        let (least, most) = self.0.get(&fit.alignment)?;
        let share = if most > least { (most - cost) / (most - least) } else { 1.0 };
        // From 0 to 1.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is 0 to 1000")]
        Some((share * f64::from(WHOLE)) as u16)
    }
}

/// What of a band is for how full a node becomes, in thousandths: the rest is for room.
const TIE: u16 = 20;

/// Thousandths of a step.
const STEP: u16 = 1000;

/// How a pod lies, the best first. Every band is above the next, however full the nodes are and whatever room they lose.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Alignment {
    /// All of it on one NUMA node, or it has nothing that has a place.
    OneNode,
    /// Each container on one, and not all on the same.
    OneNodeEach,
    /// By published amounts it fits one zone.
    OneZone,
    /// Each container on one, and a device of it is near another.
    RemoteDevices,
    /// Some container on two.
    TwoNodes,
    MoreNodes,
    /// By published amounts it fits no zone alone.
    NoZone,
}

impl Alignment {
    /// The lowest score in steps, and by how many it rises with what is allocated.
    const fn band(self) -> (u16, u16) {
        match self {
            Self::OneNode => (8, 2),
            Self::OneNodeEach => (6, 1),
            Self::OneZone => (5, 0),
            Self::RemoteDevices => (4, 1),
            Self::TwoNodes => (2, 1),
            Self::MoreNodes => (0, 1),
            Self::NoZone => (0, 0),
        }
    }
}

/// How a pod lies on a node that it fits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fit {
    pub(crate) alignment: Alignment,
    /// How full the node becomes, in thousandths.
    filled: u16,
    /// The places that it takes away, by kind of the mix; `None`: that is not known.
    pub(crate) lost: Option<Box<[u32]>>,
    /// The first claim with devices elsewhere than its container's CPUs and memory.
    pub(crate) elsewhere: Option<ClaimElsewhere>,
}

impl Fit {
    /// Where nothing but the alignment counts.
    pub(crate) const fn by_zones(alignment: Alignment) -> Self {
        Self { alignment, filled: 0, lost: None, elsewhere: None }
    }

    /// Of a pod that was given `placement`, after which the node's ledger is `after`. `room` is what there was before.
    pub(crate) fn of(
        node: &Node,
        pod: &Pod,
        placement: &Placement,
        after: &Ledger,
        room: Option<&RoomThere>,
    ) -> Self {
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
        Self {
            alignment: worst,
            filled: u16::try_from(allocated(node, after, pod)).unwrap_or(0),
            lost: room.map(|room| room.lost(after).into()),
            elsewhere: first,
        }
    }

    /// The score. `spared` is how much of the worth of the lost room this node spares beside the others, in thousandths; between
    /// equal nodes the one that becomes fuller is better. `None`: the room is not known, and fullness alone decides.
    pub(crate) fn score(&self, spared: Option<u16>) -> Score {
        let (lowest, width) = self.alignment.band();
        let Some(spared) = spared else {
            let steps = (self.filled.saturating_mul(width + 1) / WHOLE).min(width);
            return Score((lowest + steps) * STEP);
        };
        let spared = u32::from(spared.min(WHOLE)) * u32::from(WHOLE - TIE) / u32::from(WHOLE)
            + u32::from(self.filled.min(WHOLE)) * u32::from(TIE) / u32::from(WHOLE);
        // The best of the next band is above.
        let width = if self.alignment == Alignment::OneNode { width * STEP } else { (width + 1) * STEP - 1 };
        let within = spared * u32::from(width) / u32::from(WHOLE);
        Score(lowest * STEP + u16::try_from(within).unwrap_or(0))
    }
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
const WHOLE: u16 = 1000;

/// The mean share that is allocated of exclusive CPUs, memory, huge pages and devices, of those that the pod asks for.
fn allocated(node: &Node, after: &Ledger, pod: &Pod) -> u32 {
    const WHOLE: u32 = self::WHOLE as u32;
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
            assert!(worse + width < better, "{pair:?}");
            // The worst of the one and the best of the other, in the finest steps.
            let fit = |alignment, filled| Fit { filled, ..Fit::by_zones(alignment) };
            let (worst, best) = (fit(pair[0], 0).score(Some(0)), fit(pair[1], WHOLE).score(Some(WHOLE)));
            for most in [10, 100, 1000] {
                assert!(worst.of(most) > best.of(most), "{pair:?} {most}");
            }
        }
        let (lowest, width) = Alignment::OneNode.band();
        assert_eq!(lowest + width, u16::from(Score::BEST.get()));
    }
}
