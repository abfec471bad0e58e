//! Room for the mix: how many more pods of each kind fit each node, and all nodes together, and what it is worth that a pod
//! takes some of it away.
//!
//! What places are worth is *keep-room*'s rule ([`PodKinds::worth_of_last`]), counted over all nodes: a place of which there are
//! many elsewhere costs little, and one of the last costs much. A kind counts as often as pods of it come.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use topology_admission::{Ledger, Node, PodKinds};

use crate::mix::Mix;

/// The kinds of the mix as nodes see them, and their places on all nodes.
#[derive(Debug, Default)]
pub(crate) struct Rooms {
    /// The epoch of the mix that all of this is of.
    epoch: u64,
    /// By address of the node, one for each set of devices.
    known: BTreeMap<usize, Vec<Arc<OfNode>>>,
    /// By kind, in parts of a place.
    totals: Vec<u64>,
}

/// The kinds as one node sees them.
#[derive(Debug)]
pub(crate) struct OfNode {
    node: Arc<Node>,
    kinds: PodKinds,
}

/// The places on a node in one state.
#[derive(Clone, Debug)]
pub(crate) struct RoomThere {
    of: Arc<OfNode>,
    /// By kind, in parts of a place.
    places: Vec<u32>,
}

impl Rooms {
    /// Forgets everything if the mix has other kinds now, and says whether it has.
    pub(crate) fn follow(&mut self, mix: &Mix) -> bool {
        let is_other = self.epoch != mix.epoch();
        if is_other {
            self.epoch = mix.epoch();
            self.known.clear();
            self.totals = alloc::vec![0; mix.weights().len()];
        }
        is_other
    }

    pub(crate) const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The places on a node. `None` without a mix.
    pub(crate) fn there(&mut self, mix: &Mix, node: &Arc<Node>, ledger: &Ledger) -> Option<RoomThere> {
        if mix.weights().is_empty() {
            return None;
        }
        let known = self.known.entry(Arc::as_ptr(node).addr()).or_default();
        let of = if let Some(own) = known.iter().find(|own| own.kinds.are_of(node, ledger)) {
            Arc::clone(own)
        } else {
            let kinds = PodKinds::new(node, ledger, mix.pods());
            let own = Arc::new(OfNode { node: Arc::clone(node), kinds });
            known.push(Arc::clone(&own));
            own
        };
        let places = of.kinds.places(&of.node, ledger);
        Some(RoomThere { of, places })
    }

    /// By kind: places on all nodes together.
    #[expect(clippy::cast_precision_loss, reason = "they are shown to people")]
    pub(crate) fn places(&self) -> impl Iterator<Item = f64> {
        self.totals.iter().map(|parts| *parts as f64 / PodKinds::PARTS as f64)
    }

    /// One node more has this room.
    pub(crate) fn enter(&mut self, room: &RoomThere) {
        for (total, places) in self.totals.iter_mut().zip(&room.places) {
            *total = total.saturating_add(u64::from(*places));
        }
    }

    /// One node less.
    pub(crate) fn leave(&mut self, room: &RoomThere) {
        for (total, places) in self.totals.iter_mut().zip(&room.places) {
            *total = total.saturating_sub(u64::from(*places));
        }
    }

    /// What the places are worth that a pod takes away, and that without them fewer are left on all nodes.
    pub(crate) fn cost(&self, mix: &Mix, lost: &[u32]) -> f64 {
        let kinds = mix.weights().iter().zip(&self.totals).zip(lost).filter(|(_, lost)| **lost > 0);
        kinds.map(|((weight, total), lost)| weight * PodKinds::worth_of_last(u64::from(*lost), *total)).sum()
    }
}

impl RoomThere {
    /// What of the places is gone in `after`, by kind.
    pub(crate) fn lost(&self, after: &Ledger) -> Vec<u32> {
        let places = self.of.kinds.places(&self.of.node, after);
        self.places.iter().zip(places).map(|(before, after)| before.saturating_sub(after)).collect()
    }
}
