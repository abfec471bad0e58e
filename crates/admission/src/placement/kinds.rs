//! How many more pods of each kind of a mix have room on a node: what a cluster's scheduler compares nodes by.
//!
//! A kind is a pod. Its units (containers, or under scope `pod` all of them) have places as *keep-room* counts them, and a pod
//! has as many as the unit with the fewest. Under policy `none` no NUMA node limits a unit, and its places are those of the
//! machine as a whole. What a placement takes away is the difference of two counts: that of the ledger before it, and that of
//! the ledger after it, which the node's own rule has made.

use alloc::vec;
use alloc::vec::Vec;

use node_config::Scope;
use pod_spec::{Pod, Unit};
use topology_policy::KubeletPolicy;

use crate::ledger::Ledger;
use crate::node::Node;
use crate::placement::places::{HALF, PARTS, Share};
use crate::placement::rows::{Row, Rows};

/// Kinds of pods as a node with certain devices gives them room.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodKinds {
    /// The resources with what a node has of each, as [`Rows`] has them; nothing of it is free.
    rows: Rows,
    /// By kind: its units; none where it takes nothing that has a place.
    kinds: Vec<Vec<Share>>,
    sums: Sums,
}

/// Where a unit has to find everything that it asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sums {
    /// On as few NUMA nodes as it can.
    OnNodes,
    /// Anywhere on the machine.
    OnMachine,
}

impl PodKinds {
    /// Parts of a place: counts are in them.
    pub const PARTS: u64 = PARTS;

    /// What the node of `ledger` makes of these pods.
    pub fn new<'a>(node: &Node, ledger: &Ledger, pods: impl IntoIterator<Item = &'a Pod>) -> Self {
        let sums = if node.policy() == KubeletPolicy::None { Sums::OnMachine } else { Sums::OnNodes };
        let mut rows = sums.of(Rows::new(node, ledger));
        let kinds = pods.into_iter().map(|pod| units(&rows, node, ledger, pod)).collect();
        rows.rows.iter_mut().for_each(|row| row.free.fill(0));
        Self { rows, kinds, sums }
    }

    /// What the last `lost` of `all` places of a kind are worth, both in parts, of 1 for infinitely many places: the more there
    /// are, the less each.
    #[must_use]
    pub fn worth_of_last(lost: u64, all: u64) -> f64 {
        let (left, all, half) = (float(all.saturating_sub(lost)), float(all), float(HALF));
        half * (all - left) / ((all + half) * (left + half))
    }

    /// Whether these are the kinds of the node of `ledger` too: it has the same resources and devices.
    #[must_use]
    pub fn are_of(&self, node: &Node, ledger: &Ledger) -> bool {
        let mut rows = self.sums.of(Rows::new(node, ledger));
        rows.rows.iter_mut().for_each(|row| row.free.fill(0));
        rows == self.rows
    }

    /// How many more pods of each kind have room beside what `ledger` holds, in parts ([`Self::PARTS`] are one place). The part
    /// of a place that is left over counts a quarter, so that it decides between equals. 0 of a kind that takes nothing that has
    /// a place, or that the node admits at no time.
    #[must_use]
    pub fn places(&self, node: &Node, ledger: &Ledger) -> Vec<u32> {
        let rows = self.sums.of(Rows::new(node, ledger));
        let of_unit = |share: &Share| -> u64 {
            let on = |at: usize| share.places(|row| rows.free(row, at));
            (0..rows.nodes).map(on).fold(0, u64::saturating_add) / share.width()
        };
        let of_pod = |units: &Vec<Share>| {
            let fewest = units.iter().map(of_unit).min().unwrap_or(0);
            u32::try_from(fewest).unwrap_or(u32::MAX)
        };
        self.kinds.iter().map(of_pod).collect()
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a place more or less of as many as are not exact is worth nothing"
)]
const fn float(parts: u64) -> f64 {
    parts as f64
}

impl Sums {
    /// The rows as units of the node find them.
    fn of(self, rows: Rows) -> Rows {
        match self {
            Self::OnNodes => rows,
            Self::OnMachine => {
                let sum = |of: &[u64]| vec![of.iter().copied().fold(0, u64::saturating_add)];
                let one = |row: &Row| Row {
                    name: row.name.clone(),
                    free: sum(&row.free),
                    allocatable: sum(&row.allocatable),
                };
                Rows { rows: rows.rows.iter().map(one).collect(), nodes: 1 }
            }
        }
    }
}

/// The units of a pod that take anything that has a place; none if the node admits it at no time.
fn units(rows: &Rows, node: &Node, ledger: &Ledger, pod: &Pod) -> Vec<Share> {
    let limits = pod.containers.iter().flat_map(|container| &container.limits);
    let mut devices = limits.filter(|(name, amount)| name.as_str().contains('/') && !amount.is_zero());
    if devices.any(|(name, _)| rows.position(name.as_str()).is_none()) {
        return Vec::new();
    }
    let rules = node.rules_of(pod);
    let share = |unit| Share::new(rows, &rows.asked(node, ledger, unit));
    let shares: Vec<Share> = match rules.scope {
        Scope::Pod => vec![share(Unit::Pod(pod))],
        Scope::Container => {
            pod.containers.iter().map(|container| share(Unit::Container(pod, container))).collect()
        }
    };
    if rules.policy == KubeletPolicy::SingleNumaNode && shares.iter().any(|share| share.width() > 1) {
        return Vec::new();
    }
    shares.into_iter().filter(|share| !share.is_nothing()).collect()
}
