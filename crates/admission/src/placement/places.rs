//! What the room on NUMA nodes is worth to the units of a mix.

use alloc::vec;
use alloc::vec::Vec;

use crate::placement::mix::Mix;
use crate::placement::rows::{Amounts, Rows};

/// Parts of one place.
pub(crate) const PARTS: u64 = 64;

/// Places of a kind that are worth half of what infinitely many are.
pub(crate) const HALF: u64 = 3 * PARTS;

/// What infinitely many places of a kind are worth.
const FULL: u64 = 1 << 24;

/// What a unit takes on each of the NUMA nodes that it needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Share {
    /// Amounts by row, none of them 0.
    amounts: Vec<(usize, u64)>,
    /// How many nodes it needs.
    width: u64,
}

/// The places that there are for a mix.
pub(crate) struct Places {
    kinds: Vec<Kind>,
}

struct Kind {
    unit: Amounts,
    share: Share,
    count: u64,
    /// In parts of a place, by node, and on all of them.
    on_nodes: Vec<u64>,
    all: u64,
}

impl Share {
    /// The share of a unit that sits on as few nodes as it could if they were empty; without what no single node has.
    pub(crate) fn new(rows: &Rows, unit: &Amounts) -> Self {
        let most = |row: usize| {
            let row = rows.rows.get(row);
            row.and_then(|row| row.allocatable.iter().max()).copied().unwrap_or(0)
        };
        let asked = || unit.iter().enumerate().filter(|(row, amount)| **amount > 0 && most(*row) > 0);
        let width = asked().map(|(row, amount)| amount.div_ceil(most(row))).max().unwrap_or(1);
        Self { amounts: asked().map(|(row, amount)| (row, amount.div_ceil(width))).collect(), width }
    }

    /// What of a row it takes.
    fn of(&self, row: usize) -> u64 {
        self.amounts.iter().find(|(own, _)| *own == row).map_or(0, |(_, amount)| *amount)
    }

    /// How many nodes it needs, at least one.
    pub(crate) const fn width(&self) -> u64 {
        self.width
    }

    /// Whether it takes nothing that has a place.
    pub(crate) const fn is_nothing(&self) -> bool {
        self.amounts.is_empty()
    }

    /// How many shares there is room for, in parts: whole ones, and of the part of one that is left a quarter.
    pub(crate) fn places(&self, free: impl Fn(usize) -> u64) -> u64 {
        let fits = |(row, amount): &(usize, u64)| free(*row).saturating_mul(PARTS) / amount;
        let all = self.amounts.iter().map(fits).min().unwrap_or(0);
        // A whole share fits as often as all parts of it do.
        all - (all % PARTS - all % PARTS / 4)
    }
}

impl Places {
    /// The places of a mix; none until they are [counted](Self::count).
    pub(crate) fn new(rows: &Rows, mix: &Mix) -> Self {
        let mut places = Self { kinds: Vec::new() };
        for (unit, count) in mix.kinds() {
            places.add(rows, unit, count);
        }
        places
    }

    /// So many units more of a kind. A kind of which no node has anything has no places.
    pub(crate) fn add(&mut self, rows: &Rows, unit: &Amounts, count: u32) {
        if let Some(known) = self.kinds.iter_mut().find(|kind| kind.unit == *unit) {
            known.count = known.count.saturating_add(count.into());
            return;
        }
        let share = Share::new(rows, unit);
        if !share.amounts.is_empty() {
            let (unit, count, on_nodes) = (unit.clone(), count.into(), vec![0; rows.nodes]);
            self.kinds.push(Kind { unit, share, count, on_nodes, all: 0 });
        }
    }

    /// Counts the places that there are now.
    pub(crate) fn count(&mut self, rows: &Rows) {
        for Kind { share, on_nodes, all, .. } in &mut self.kinds {
            *all = 0;
            for (at, places) in on_nodes.iter_mut().enumerate() {
                *places = share.places(|row| rows.free(row, at));
                *all = all.saturating_add(*places);
            }
        }
    }

    /// What the places that `taken` takes away on the node at `position` are worth.
    pub(crate) fn lost(&self, rows: &Rows, position: usize, taken: &Share) -> u64 {
        let lost = |kind: &Kind| {
            let before = kind.on_nodes.get(position).copied().unwrap_or(0);
            if before == 0 {
                return 0;
            }
            let after =
                kind.share.places(|row| rows.free(row, position).saturating_sub(taken.of(row))).min(before);
            if after == before {
                return 0;
            }
            let left = kind.all - before + after;
            let worth = |parts: u64| worth(parts / kind.share.width);
            kind.count.saturating_mul(worth(kind.all) - worth(left))
        };
        self.kinds.iter().map(lost).fold(0, u64::saturating_add)
    }
}

/// What so many parts of places are worth: the more there are, the less each.
fn worth(parts: u64) -> u64 {
    // Any more are worth one less than `FULL` too, and the product fits.
    let parts = parts.min(1 << 39);
    FULL * parts / (parts + HALF)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::PodKinds;
    use crate::placement::rows::Row;

    /// Resources, and what is free of each on each node, of so much.
    fn rows<const N: usize>(of: [(&str, &[(u64, u64)]); N]) -> Rows {
        let nodes = of.first().map_or(0, |(_, cells)| cells.len());
        let row = |(name, cells): (&str, &[(u64, u64)])| Row {
            name: name.into(),
            free: cells.iter().map(|(free, _)| *free).collect(),
            allocatable: cells.iter().map(|(_, allocatable)| *allocatable).collect(),
        };
        Rows { rows: of.map(row).into(), nodes }
    }

    /// The places of a mix of these units.
    fn places<const N: usize>(rows: &Rows, units: [&Amounts; N]) -> Places {
        let mut places = Places::new(rows, &Mix::default());
        for unit in units {
            places.add(rows, unit, 1);
        }
        places.count(rows);
        places
    }

    #[test]
    fn a_place_with_a_card_is_lost_only_where_cards_are() {
        let rows = rows([("acme.com/card", &[(2, 2), (0, 0)]), ("cpu", &[(8, 8), (8, 8)])]);
        let (small, with_card) = (vec![0, 2], vec![1, 4]);
        let (places, taken) = (places(&rows, [&small, &with_card]), Share::new(&rows, &small));
        // One of its eight places is lost on either node, and one of the two with a card; half of that is left.
        let own = worth(8 * PARTS) - worth(7 * PARTS);
        assert_eq!(places.lost(&rows, 1, &taken), own);
        assert_eq!(places.lost(&rows, 0, &taken), own + worth(2 * PARTS) - worth(PARTS + PARTS / 8));
    }

    #[test]
    fn the_last_place_is_worth_most() {
        let lost = |places: u64| worth(places * PARTS) - worth((places - 1) * PARTS);
        assert!((2..20).all(|places| lost(places) < lost(places - 1)));
        assert_eq!(worth(HALF), FULL / 2);
        // A scheduler compares nodes by the same worth.
        for places in [1, 2, 5, 100] {
            let of_last = PodKinds::worth_of_last(PARTS, places * PARTS);
            let own = f64::from(u32::try_from(lost(places)).unwrap()) / f64::from(1 << 24);
            assert!((own - of_last).abs() < 1e-6, "{places}");
        }
        assert!(worth(u64::MAX) < FULL);
    }

    #[test]
    fn what_holds_no_whole_unit_counts_little() {
        // A unit of 3 CPUs leaves 1 of 4, or 4 of 7: units of 4 lose their place on the first node alone.
        let rows = rows([("cpu", &[(4, 8), (7, 8)])]);
        let places = places(&rows, [&vec![4]]);
        let taken = Share::new(&rows, &vec![3]);
        assert!(places.lost(&rows, 0, &taken) > places.lost(&rows, 1, &taken));
    }

    #[test]
    fn a_wide_unit_has_its_share_on_each_node() {
        let rows = rows([("cpu", &[(8, 8), (4, 8)]), ("memory", &[(100, 100), (100, 100)])]);
        // Twelve CPUs need two nodes, so on each it takes six and half of its memory.
        let wide = vec![12, 50];
        let (places, taken) = (places(&rows, [&wide]), Share::new(&rows, &wide));
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
