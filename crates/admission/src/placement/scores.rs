//! The score of each NUMA node for one unit.

use alloc::vec::Vec;

use node_config::{Placement, Scope, Strategy};
use pod_spec::{ResourceName, Unit};
use topology_policy::{NodeScores, Ties};

use crate::ledger::Ledger;
use crate::node::Node;
use crate::node::room::Cell;
use crate::placement::mix::{Mix, Shape, add_device_users, given, mix};
use crate::placement::places::{Places, Rows, Share};

/// What is kept from one unit of a pod to the next.
#[derive(Default)]
pub(crate) struct Scoring {
    /// The mix that is given, or the units that held something before the pod came and those of the pod that were scored.
    mix: Option<Mix>,
}

impl Scoring {
    /// What decides between equal node sets for `unit`; `None` where the kubelet's rules alone do.
    pub(crate) fn scores(
        &mut self,
        node: &Node,
        scope: Scope,
        ledger: &Ledger,
        unit: Unit<'_>,
    ) -> Option<NodeScores> {
        let placement = &node.options.placement;
        if placement.strategy == Strategy::LowestNumber {
            return None;
        }
        let rows = node.room(ledger);
        let costs: Vec<u64> = match placement.strategy {
            Strategy::LowestNumber => return None,
            Strategy::MostAllocated => by_share(node, &rows, |name| weight(placement, name)),
            Strategy::LeastAllocated => {
                let free = by_share(node, &rows, |name| weight(placement, name));
                let most = free.iter().max().copied().unwrap_or(0);
                free.iter().map(|own| most - own).collect()
            }
            Strategy::SpareDevices => {
                let shape = node.shape(ledger, unit);
                by_share(node, &rows, |name| unrequested(name, &shape))
            }
            Strategy::KeepRoom => {
                let shape = node.shape(ledger, unit);
                let taken = Share::new(&rows, &shape);
                let mix = self.mix_with(placement, ledger, scope, shape);
                let places = if placement.mix.is_empty() {
                    let mut mix = mix.clone();
                    add_device_users(
                        &mut mix,
                        rows.iter().map(|(name, _)| name).filter(|name| is_device(name)),
                    );
                    Places::new(&rows, &mix)
                } else {
                    Places::new(&rows, mix)
                };
                positions(node).map(|position| places.lost(&rows, position, &taken)).collect()
            }
        };
        Some(scaled(&costs))
    }

    /// The mix that is given, or that of the node with the unit that is being placed.
    fn mix_with(&mut self, placement: &Placement, ledger: &Ledger, scope: Scope, shape: Shape) -> &Mix {
        if !placement.mix.is_empty() {
            return self.mix.get_or_insert_with(|| given(&placement.mix));
        }
        let mix = self.mix.get_or_insert_with(|| mix(ledger, scope));
        *mix.entry(shape).or_default() += 1;
        mix
    }
}

fn positions(node: &Node) -> core::ops::Range<usize> {
    0..node.nodes.len()
}

/// What a resource counts.
fn weight(placement: &Placement, name: &ResourceName) -> u64 {
    if placement.weights.is_empty() {
        return u64::from(matches!(name.as_str(), "cpu" | "memory"));
    }
    placement.weights.get(name.as_str()).copied().unwrap_or(0).into()
}

/// Devices that the unit does not ask for count 1.
fn unrequested(name: &ResourceName, shape: &Shape) -> u64 {
    u64::from(is_device(name) && shape.iter().all(|(asked, _)| asked != name))
}

fn is_device(name: &ResourceName) -> bool {
    name.as_str().contains('/')
}

/// By node: the sum over the resources of weight times the share of the node's amount that is free.
fn by_share(node: &Node, rows: &Rows, weight: impl Fn(&ResourceName) -> u64) -> Vec<u64> {
    const WHOLE: u128 = 1 << 16;
    let share = |cell: &Cell| {
        let (free, all) = (u128::from(cell.free.min(cell.allocatable)), u128::from(cell.allocatable));
        u64::try_from(free * WHOLE / all.max(1)).unwrap_or(0)
    };
    let cost = |position: usize| {
        rows.iter().filter_map(|(name, room)| Some(weight(name) * share(room.nodes.get(position)?))).sum()
    };
    positions(node).map(cost).collect()
}

/// Costs as scores: what the cheapest node costs counts as 0, what the dearest does as the highest score.
fn scaled(costs: &[u64]) -> NodeScores {
    let (least, most) = (costs.iter().min().copied().unwrap_or(0), costs.iter().max().copied().unwrap_or(0));
    let span = u128::from((most - least).max(1));
    let score = |cost: &u64| u128::from(cost - least) * u128::from(NodeScores::MAX) / span;
    NodeScores::new(costs.iter().map(|cost| u16::try_from(score(cost)).unwrap_or(NodeScores::MAX)))
}

impl Node {
    /// What decides between node sets of equal size: distances where they are on, then the scores of a strategy.
    pub(crate) fn ties<'a>(&'a self, scores: Option<&'a NodeScores>) -> Ties<'a> {
        let distances = self.distances.as_ref();
        match scores {
            Some(scores) => Ties::Scored { distances, scores },
            None => distances.map_or(Ties::LowestNumber, Ties::Closest),
        }
    }
}
