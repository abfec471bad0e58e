//! Which nodes share a request: the combination that the kubelet's walk over all of them ends with, without the walk.
//!
//! With the number of nodes fixed, so are each node's share and what is left over. The sum of what remains free is
//! the same for all combinations, so the most even one has the least sum of squares; and a node with more free CPUs
//! in the place of another always makes it less. So the nodes with the most free CPUs bound what can be reached, and
//! so they do for every beginning of a combination with the best of the nodes that may follow. The combinations are
//! searched in the order of the walk, and beginnings that cannot reach the best known are passed over. What is left
//! over is bounded by handing it out group by group to whoever has most; [`remainder`](crate::remainder) says what
//! really comes of it.
//!
//! The kubelet compares deviations rounded to thousandths, and the first of equals wins: the bound is rounded the
//! same way. Afterwards the combination is overwritten as in the kubelet, by position.
//!
//! Subsets that have enough CPUs but not enough whole groups hang the kubelet; they are passed over here.
//!
//! Cost: nodes × size bounds where nodes are about equally loaded, or nothing is left over; each is a few hundred
//! steps. Where the bound is not reached the search goes on; after [`WORK_LIMIT`] steps the best so far counts. The
//! kubelet has no bound.

use alloc::vec::Vec;
use core::cell::Cell;
use core::cmp::Reverse;
use core::ops::ControlFlow;

use crate::balance::{Spread, Walked, overwritten};
use crate::remainder::{Remainder, Repeats};

/// How many combinations and subsets are looked at for one request: tenths of a second's worth.
const WORK_LIMIT: u32 = 1 << 20;

/// Which nodes give, as positions of nodes.
#[derive(Clone, Debug)]
pub(crate) struct Shares {
    /// Each gives an equal share.
    pub(crate) nodes: Vec<usize>,
    /// These give what is left over, one group at a time.
    pub(crate) more: Vec<usize>,
}

/// The question: how to share `count` CPUs in groups of `group`.
pub(crate) struct Sharing<'a> {
    /// Nodes in order of free CPUs; one that spans sockets is there several times.
    order: &'a [usize],
    /// The same, each once.
    distinct: &'a [usize],
    /// Free CPUs of each node.
    free: &'a [i64],
    count: i64,
    group: i64,
    work: Work,
}

/// Steps that may still be made.
pub(crate) struct Work(Cell<u32>);

impl Work {
    /// One step, or the end.
    pub(crate) fn spend(&self) -> ControlFlow<()> {
        match self.0.get().checked_sub(1) {
            None => ControlFlow::Break(()),
            Some(left) => {
                self.0.set(left);
                ControlFlow::Continue(())
            }
        }
    }
}

/// A combination and how even it leaves the nodes.
struct Found {
    deviation: u64,
    positions: Vec<usize>,
    more: Vec<usize>,
}

impl<'a> Sharing<'a> {
    pub(crate) const fn new(
        order: &'a [usize],
        distinct: &'a [usize],
        free: &'a [i64],
        count: i64,
        group: i64,
    ) -> Self {
        Self { order, distinct, free, count, group, work: Work(Cell::new(WORK_LIMIT)) }
    }

    /// The best combination of `size` nodes.
    pub(crate) fn best(&self, size: usize) -> Option<Shares> {
        let mut search = Search::new(self, size)?;
        let widest = search.widest();
        let floor = search.bound(&widest, self.order.len())?;
        let seed = search.found(&widest);
        search.floor = floor;
        search.seed = seed.as_ref().map(|seed| seed.deviation);
        let _ = search.descend(0, &mut Vec::with_capacity(size));
        let Found { deviation, positions, more } = search.best.or(seed)?;
        let walked = if deviation == 0 { Walked::OneFurther } else { Walked::ToTheEnd };
        let positions = overwritten(positions, self.order.len(), walked);
        Some(Shares { nodes: positions.iter().map(|&at| self.order[at]).collect(), more })
    }
}

/// The search among combinations of one size.
struct Search<'a> {
    sharing: &'a Sharing<'a>,
    size: usize,
    share: i64,
    rest: i64,
    /// Of what is free afterwards, on all nodes.
    spread: Spread,
    /// The sum of the squares of what is free now.
    squares: i64,
    /// For each position the free CPUs from it on, largest first, of those that can give a share.
    tails: Vec<Vec<i64>>,
    /// No combination is more even.
    floor: u64,
    /// What has been found before the search: only as good or better counts.
    seed: Option<u64>,
    best: Option<Found>,
}

impl<'a> Search<'a> {
    /// `None` if too few nodes can give an equal share.
    fn new(sharing: &'a Sharing<'a>, size: usize) -> Option<Self> {
        let sharers = i64::try_from(size).ok().filter(|size| *size > 0)?;
        let share = sharing.count / sharers / sharing.group * sharing.group;
        let mut tails = alloc::vec![Vec::new()];
        let mut tail: Vec<i64> = Vec::new();
        for &node in sharing.order.iter().rev() {
            let free = sharing.free[node];
            if free >= share {
                tail.insert(tail.partition_point(|other| *other > free), free);
            }
            tails.push(tail.clone());
        }
        tails.reverse();
        let free = sharing.distinct.iter().map(|&node| sharing.free[node]);
        (tail.len() >= size).then_some(Self {
            sharing,
            size,
            share,
            rest: sharing.count - share * sharers,
            spread: Spread { count: sharing.distinct.len(), sum: free.clone().sum::<i64>() - sharing.count },
            squares: free.map(|free| free * free).sum(),
            tails,
            floor: 0,
            seed: None,
            best: None,
        })
    }

    fn free_at(&self, position: usize) -> i64 {
        self.sharing.free[self.sharing.order[position]]
    }

    /// The positions with the most free CPUs.
    fn widest(&self) -> Vec<usize> {
        let mut positions: Vec<_> = (0..self.sharing.order.len()).collect();
        positions.sort_by_key(|&at| Reverse(self.free_at(at)));
        positions.truncate(self.size);
        positions.sort_unstable();
        positions
    }

    /// Tries every combination that begins with `chosen` and goes on at `from`.
    fn descend(&mut self, from: usize, chosen: &mut Vec<usize>) -> ControlFlow<()> {
        let missing = self.size - chosen.len();
        if missing == 0 {
            return self.try_combination(chosen);
        }
        for at in from..=self.sharing.order.len() - missing {
            self.sharing.work.spend()?;
            if !self.may_improve(self.bound(chosen, at)) {
                break;
            }
            if self.free_at(at) < self.share {
                continue;
            }
            chosen.push(at);
            if self.may_improve(self.bound(chosen, at + 1)) {
                self.descend(at + 1, chosen)?;
            }
            chosen.pop();
        }
        ControlFlow::Continue(())
    }

    fn try_combination(&mut self, chosen: &[usize]) -> ControlFlow<()> {
        if let Some(found) = self.found(chosen)
            && self.may_improve(Some(found.deviation))
        {
            let is_perfect = found.deviation == self.floor;
            self.best = Some(found);
            if is_perfect {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    fn may_improve(&self, deviation: Option<u64>) -> bool {
        deviation.is_some_and(|deviation| match (&self.best, self.seed) {
            (Some(best), _) => deviation < best.deviation,
            (None, Some(seed)) => deviation <= seed,
            (None, None) => true,
        })
    }

    /// No combination that begins with `chosen` and goes on at `from` is more even than this; `None` if none can
    /// give so much.
    fn bound(&self, chosen: &[usize], from: usize) -> Option<u64> {
        let missing = self.size - chosen.len();
        let tail = self.tails[from].get(..missing)?;
        let mut left: Vec<i64> =
            chosen.iter().map(|&at| self.free_at(at)).chain(tail.iter().copied()).collect();
        let mut squares = self.squares;
        for free in &mut left {
            squares += self.share * (self.share - 2 * *free);
            *free -= self.share;
        }
        let (group, mut rest) = (self.sharing.group, self.rest);
        while rest > 0 {
            let most = left.iter_mut().max().filter(|most| **most >= group)?;
            squares += group * (group - 2 * *most);
            *most -= group;
            rest -= group;
        }
        Some(self.spread.deviation(squares))
    }

    /// How even `chosen` leaves the nodes, and which of them give what is left over.
    fn found(&self, chosen: &[usize]) -> Option<Found> {
        let Sharing { order, distinct, free, count, group, ref work } = *self.sharing;
        let nodes: Vec<_> = chosen.iter().map(|&at| order[at]).collect();
        let mut once = nodes.clone();
        once.sort_unstable();
        once.dedup();
        let free_here: i64 = once.iter().map(|&node| free[node]).sum();
        let whole: i64 = nodes.iter().map(|&node| free[node] / group * group).sum();
        if free_here < count || whole < count || nodes.iter().any(|&node| free[node] < self.share) {
            return None;
        }
        let mut after = free.to_vec();
        for &node in &nodes {
            after[node] -= self.share;
        }
        let squares = distinct.iter().map(|&node| after[node] * after[node]).sum();
        let (deviation, more) = if self.rest == 0 {
            (self.spread.deviation(squares), Vec::new())
        } else {
            let remainder = Remainder {
                givers: nodes.iter().copied().filter(|&node| after[node] >= group).collect(),
                repeats: if once.len() == nodes.len() { Repeats::Never } else { Repeats::Somewhere },
                after: &after,
                squares,
                spread: self.spread,
                rest: self.rest,
                group,
                work,
            };
            remainder.best()?
        };
        Some(Found { deviation, positions: chosen.to_vec(), more })
    }
}
