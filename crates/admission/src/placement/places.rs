//! What the room on NUMA nodes is worth to the units of a mix.

use alloc::vec::Vec;

use pod_spec::ResourceName;

use crate::node::room::Room;
use crate::placement::mix::{Mix, Shape};

/// Parts of one place.
const PARTS: u64 = 64;

/// Places of a kind that are worth half of what infinitely many are.
const HALF: u64 = 3 * PARTS;

/// What infinitely many places of a kind are worth.
const FULL: u64 = 1 << 24;

/// A node's resources: the rows of [`Node::room`](crate::Node::room).
pub(crate) type Rows = [(ResourceName, Room)];

/// What a unit takes on each of the NUMA nodes that it needs.
pub(crate) struct Share {
    /// Amounts by row, none of them 0.
    amounts: Vec<(usize, u64)>,
    /// How many nodes it needs.
    width: u64,
}

/// A mix in terms of the rows, and the places that there are for it.
pub(crate) struct Places {
    kinds: Vec<Kind>,
}

struct Kind {
    share: Share,
    count: u64,
    /// In parts of a place, by node.
    on_nodes: Vec<u64>,
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
        let amounts = asked.into_iter().map(|(row, amount, _)| (row, amount.div_ceil(width))).collect();
        Self { amounts, width }
    }

    /// What of a row it takes.
    fn of(&self, row: usize) -> u64 {
        self.amounts.iter().find(|(own, _)| *own == row).map_or(0, |(_, amount)| *amount)
    }

    /// How many shares there is room for, in parts: whole ones, and of the part of one that is left a quarter.
    fn places(&self, free: impl Fn(usize) -> u64) -> u64 {
        let places = |parts: u64| {
            let fits = |(row, amount): &(usize, u64)| free(*row).saturating_mul(parts) / amount;
            self.amounts.iter().map(fits).min().unwrap_or(0)
        };
        let (whole, all) = (places(1).saturating_mul(PARTS), places(PARTS));
        whole.saturating_add(all.saturating_sub(whole) / 4)
    }
}

impl Places {
    pub(crate) fn new(rows: &Rows, mix: &Mix) -> Self {
        let nodes = rows.first().map_or(0, |(_, room)| room.nodes.len());
        let kind = |(shape, count): (&Shape, &u32)| {
            let share = Share::new(rows, shape);
            let on_nodes = (0..nodes).map(|at| share.places(|row| free(rows, row, at))).collect();
            Kind { share, count: u64::from(*count), on_nodes }
        };
        Self { kinds: mix.iter().map(kind).filter(|kind| !kind.share.amounts.is_empty()).collect() }
    }

    /// What the places that `taken` takes away on the node at `position` are worth.
    pub(crate) fn lost(&self, rows: &Rows, position: usize, taken: &Share) -> u64 {
        let lost = |kind: &Kind| {
            let before = kind.on_nodes.get(position).copied().unwrap_or(0);
            let after = kind.share.places(|row| free(rows, row, position).saturating_sub(taken.of(row)));
            let all = kind.on_nodes.iter().fold(0_u64, |sum, own| sum.saturating_add(*own));
            let left = all - before + after.min(before);
            kind.count.saturating_mul(worth(all / kind.share.width) - worth(left / kind.share.width))
        };
        self.kinds.iter().map(lost).fold(0, u64::saturating_add)
    }
}

fn free(rows: &Rows, row: usize, position: usize) -> u64 {
    rows.get(row).and_then(|(_, room)| room.nodes.get(position)).map_or(0, |cell| cell.free)
}

/// What so many parts of places are worth: the more there are, the less each.
fn worth(parts: u64) -> u64 {
    let worth = u128::from(FULL) * u128::from(parts) / (u128::from(parts) + u128::from(HALF));
    u64::try_from(worth).unwrap_or(FULL)
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
        // Of eight places of its own kind one is lost on either node, and of the two with a card one; half of that is left.
        let own = worth(8 * PARTS) - worth(7 * PARTS);
        assert_eq!(places.lost(&rows, 1, &taken), own);
        assert_eq!(places.lost(&rows, 0, &taken), own + worth(2 * PARTS) - worth(PARTS + PARTS / 8));
    }

    #[test]
    fn the_last_place_is_worth_most() {
        let lost = |places: u64| worth(places * PARTS) - worth((places - 1) * PARTS);
        assert!((2..20).all(|places| lost(places) < lost(places - 1)));
        assert_eq!(worth(HALF), FULL / 2);
        assert!(worth(u64::MAX) < FULL);
    }

    #[test]
    fn what_holds_no_whole_unit_counts_little() {
        // A unit of 3 CPUs leaves 1 of 4, or 4 of 7: units of 4 lose one place on either node.
        let rows = [row("cpu", &[(4, 8), (7, 8)])];
        let (four, three) = (shape(&[("cpu", 4)]), shape(&[("cpu", 3)]));
        let places = Places::new(&rows, &Mix::from([(four, 1)]));
        let taken = Share::new(&rows, &three);
        assert!(places.lost(&rows, 0, &taken) > places.lost(&rows, 1, &taken));
    }

    #[test]
    fn a_wide_unit_has_its_share_on_each_node() {
        let rows = [row("cpu", &[(8, 8), (4, 8)]), row("memory", &[(100, 100), (100, 100)])];
        // Twelve CPUs need two nodes, so on each it takes six and half of its memory.
        let wide = shape(&[("cpu", 12), ("memory", 50)]);
        let places = Places::new(&rows, &Mix::from([(wide.clone(), 1)]));
        let taken = Share::new(&rows, &wide);
        assert_eq!((taken.of(0), taken.of(1)), (6, 25));
        let (before, on_0, on_1) = (64 + 21 / 4 + 42 / 4, 42 / 4 + 21 / 4, 64 + 21 / 4);
        assert_eq!(places.lost(&rows, 0, &taken), worth(before / 2) - worth(on_0 / 2), "8 of 6, then 2 of 6");
        assert_eq!(
            places.lost(&rows, 1, &taken),
            worth(before / 2) - worth(on_1 / 2),
            "4 of 6, then nothing"
        );
    }
}
