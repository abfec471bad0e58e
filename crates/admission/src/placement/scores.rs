//! The score of each NUMA node for one unit.

use alloc::vec::Vec;

use node_config::{Placement, Scope, Strategy};
use pod_spec::Unit;
use topology_policy::{NodeScores, Ties};

use crate::ledger::Ledger;
use crate::node::Node;
use crate::placement::mix::Mix;
use crate::placement::places::{Places, Share};
use crate::placement::rows::{Amounts, Row, Rows};

/// What is kept from one unit of a pod to the next.
#[derive(Default)]
pub(crate) struct Scoring {
    /// The rows, and what the unit asked for that was scored last.
    rows: Option<(Rows, Amounts)>,
    places: Option<Places>,
}

impl Scoring {
    /// What decides between equal node sets for `unit`; `None` where the kubelet's rules alone do.
    pub(crate) fn scores(
        &mut self,
        node: &Node,
        scope: Scope,
        ledger: &mut Ledger,
        unit: Unit<'_>,
    ) -> Option<NodeScores> {
        let placement = &node.options.placement;
        let rows = match self.rows.take() {
            Some((mut rows, last)) => {
                rows.refresh(node, ledger, &last);
                debug_assert!(rows == Rows::new(node, ledger), "a unit took what it did not ask for");
                rows
            }
            None => Rows::new(node, ledger),
        };
        let asked = rows.asked(node, ledger, unit);
        let (rows, asked) = self.rows.insert((rows, asked));
        let costs: Vec<u64> = match placement.strategy {
            Strategy::LowestNumber => return None,
            Strategy::MostAllocated => by_share(rows, |_, row| weight(placement, row)),
            Strategy::LeastAllocated => {
                let free = by_share(rows, |_, row| weight(placement, row));
                let most = free.iter().max().copied().unwrap_or(0);
                free.iter().map(|own| most - own).collect()
            }
            Strategy::SpareDevices => {
                // Devices that the unit does not ask for count 1.
                by_share(rows, |at, row| {
                    u64::from(row.is_device() && asked.get(at).is_none_or(|amount| *amount == 0))
                })
            }
            Strategy::KeepRoom => {
                let takes_nothing = asked.iter().all(|amount| *amount == 0);
                if takes_nothing && node.others.is_empty() {
                    return None;
                }
                let places = match &mut self.places {
                    Some(places) if placement.mix.is_empty() => {
                        places.add(rows, asked, 1);
                        places
                    }
                    Some(places) => places,
                    none => none.insert(places_of(placement, rows, ledger, scope, asked)),
                };
                places.count(rows);
                let taken = Share::new(rows, asked);
                (0..rows.nodes).map(|position| places.lost(rows, position, &taken)).collect()
            }
        };
        Some(scaled(&costs))
    }
}

/// The places of the mix that is given, or of that of the node: with the unit that is being placed, and those who may come for
/// devices.
fn places_of(
    placement: &Placement,
    rows: &Rows,
    ledger: &mut Ledger,
    scope: Scope,
    asked: &Amounts,
) -> Places {
    if !placement.mix.is_empty() {
        return Places::new(rows, &Mix::given(rows, &placement.mix));
    }
    let mut mix = ledger.learn_mix(rows, scope);
    mix.add(asked, 1);
    let mut places = Places::new(rows, &mix);
    for unit in mix.device_users(rows) {
        places.add(rows, &unit, 1);
    }
    places
}

/// What a resource counts.
fn weight(placement: &Placement, row: &Row) -> u64 {
    let name = row.name.as_str();
    if placement.weights.is_empty() {
        return u64::from(matches!(name, "cpu" | "memory"));
    }
    placement.weights.get(name).copied().unwrap_or(0).into()
}

/// By node: the sum over the resources of weight times the share of the node's amount that is free.
fn by_share(rows: &Rows, weight: impl Fn(usize, &Row) -> u64) -> Vec<u64> {
    const WHOLE: u128 = 1 << 16;
    let share = |row: &Row, position: usize| {
        let cell = |of: &[u64]| u128::from(of.get(position).copied().unwrap_or(0));
        let (free, all) = (cell(&row.free), cell(&row.allocatable));
        u64::try_from(free.min(all) * WHOLE / all.max(1)).unwrap_or(0)
    };
    let cost = |position: usize| {
        rows.rows.iter().enumerate().map(|(at, row)| weight(at, row) * share(row, position)).sum()
    };
    (0..rows.nodes).map(cost).collect()
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
