//! How many units of a mix a NUMA node has room for.

use alloc::vec::Vec;

use pod_spec::ResourceName;

use crate::node::room::Room;
use crate::placement::mix::{Mix, Shape};

/// Parts of one place, so that the fraction which is left counts too.
const PARTS: u64 = 64;

/// A node's resources: the rows of [`Node::room`](crate::Node::room).
pub(crate) type Rows = [(ResourceName, Room)];

/// What a unit takes on each of the NUMA nodes that it needs, by row.
pub(crate) struct Share(Vec<(usize, u64)>);

/// A mix, in terms of the rows.
pub(crate) struct Places {
    shares: Vec<(Share, u64)>,
}

impl Share {
    /// The share of a unit that sits on as few nodes as it could if they were empty; without what no single node has.
    pub(crate) fn new(rows: &Rows, shape: &Shape) -> Self {
        // Amounts with the most that a node has; what is on no node alone has no place.
        let asked: Vec<(usize, u64, u64)> = shape
            .iter()
            .filter_map(|(resource, amount)| {
                let row = rows.iter().position(|(name, _)| name == resource)?;
                let most = rows.get(row)?.1.nodes.iter().map(|cell| cell.allocatable).max()?;
                (most > 0).then_some((row, *amount, most))
            })
            .collect();
        let width = asked.iter().map(|(_, amount, most)| amount.div_ceil(*most)).max().unwrap_or(1);
        Self(asked.into_iter().map(|(row, amount, _)| (row, amount.div_ceil(width))).collect())
    }

    /// What of a row it takes.
    fn of(&self, row: usize) -> u64 {
        self.0.iter().find(|(own, _)| *own == row).map_or(0, |(_, amount)| *amount)
    }
}

impl Places {
    pub(crate) fn new(rows: &Rows, mix: &Mix) -> Self {
        let shares = mix.iter().map(|(shape, count)| (Share::new(rows, shape), u64::from(*count)));
        Self { shares: shares.filter(|(share, _)| !share.0.is_empty()).collect() }
    }

    /// How many places, in parts and weighed by the mix, `taken` takes away on the node at `position`.
    pub(crate) fn lost(&self, rows: &Rows, position: usize, taken: &Share) -> u64 {
        let free = |row: usize| {
            rows.get(row).and_then(|(_, room)| room.nodes.get(position)).map_or(0, |cell| cell.free)
        };
        let places = |share: &Share, left: &dyn Fn(usize) -> u64| {
            let fits = |(row, amount): &(usize, u64)| left(*row).saturating_mul(PARTS) / amount;
            share.0.iter().map(fits).min().unwrap_or(0)
        };
        let after = |row: usize| free(row).saturating_sub(taken.of(row));
        self.shares.iter().map(|(share, count)| (places(share, &free) - places(share, &after)) * count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::room::Cell;

    /// One row: what is free on each node, of so much.
    fn row(resource: &str, nodes: &[(u64, u64)]) -> (ResourceName, Room) {
        let cell = |(free, allocatable): &(u64, u64)| Cell {
            free: *free,
            allocatable: *allocatable,
            ..Cell::default()
        };
        (resource.into(), Room { nodes: nodes.iter().map(cell).collect(), elsewhere: Cell::default() })
    }

    fn shape(amounts: &[(&str, u64)]) -> Shape {
        amounts.iter().map(|(resource, amount)| ((*resource).into(), *amount)).collect()
    }

    #[test]
    fn a_place_with_a_card_is_lost_only_where_cards_are() {
        let rows = [row("acme.com/card", &[(2, 2), (0, 0)]), row("cpu", &[(8, 8), (8, 8)])];
        let (small, with_card) = (shape(&[("cpu", 2)]), shape(&[("acme.com/card", 1), ("cpu", 4)]));
        let mix = Mix::from([(small.clone(), 1), (with_card, 1)]);
        let (places, taken) = (Places::new(&rows, &mix), Share::new(&rows, &small));
        assert_eq!(places.lost(&rows, 0, &taken), PARTS + PARTS / 2);
        assert_eq!(places.lost(&rows, 1, &taken), PARTS);
    }

    #[test]
    fn a_wide_unit_has_its_share_on_each_node() {
        let rows = [row("cpu", &[(8, 8), (4, 8)]), row("memory", &[(100, 100), (100, 100)])];
        // Twelve CPUs need two nodes, so on each it takes six and half of its memory.
        let wide = shape(&[("cpu", 12), ("memory", 50)]);
        let places = Places::new(&rows, &Mix::from([(wide.clone(), 1)]));
        let taken = Share::new(&rows, &wide);
        assert_eq!((taken.of(0), taken.of(1)), (6, 25));
        assert_eq!(places.lost(&rows, 0, &taken), PARTS, "8 of 6, then 2 of 6");
        assert_eq!(places.lost(&rows, 1, &taken), 4 * PARTS / 6, "4 of 6, then nothing");
    }
}
