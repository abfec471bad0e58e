//! Which nodes of a combination give what equal shares leave over, one group at a time.
//!
//! The kubelet tries every subset of those that have a group left, larger ones first, and hands out in rounds: of a
//! subset with more nodes than groups the first ones give one each, of a smaller one some give more.
//!
//! One each is computed: the most even are those with the most free CPUs; of subsets of a size the first that
//! begins with nodes as good. It is the best of all where handing out group by group, always to the node with
//! the most free CPUs, gives the same result, which is so where the nodes are about equally loaded. Else the
//! smaller subsets are looked at one by one, until that bound is reached.
//!
//! Example: 1, 3, 2 and 3 CPUs left, two groups of one: 3 and 3 give, which leaves 1, 2, 2, 2. The largest subset
//! that begins with the second and the fourth node is these two; no larger one has them in front.

use alloc::vec::Vec;
use core::ops::ControlFlow;

use crate::balance::{Spread, Walked, overwritten, walk};
use crate::work::Work;

/// The question: which of some nodes give `rest` CPUs in groups of `group`.
pub(crate) struct Remainder<'a> {
    /// Those that have a group left, in the order of the combination.
    pub(crate) givers: Vec<usize>,
    pub(crate) repeats: Repeats,
    /// What each node of the machine has left.
    pub(crate) after: &'a [i64],
    /// The sum of the squares of that.
    pub(crate) squares: i64,
    pub(crate) spread: Spread,
    pub(crate) rest: i64,
    pub(crate) group: i64,
    pub(crate) work: &'a Work,
}

/// Whether a node is there several times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Repeats {
    Never,
    Somewhere,
}

/// The deviation that some subset leaves, and its positions among the givers.
struct Given {
    deviation: u64,
    subset: Vec<usize>,
}

impl Remainder<'_> {
    /// The most even way, and the nodes of its subset; `None` if the nodes have too few groups.
    pub(crate) fn best(&self) -> Option<(u64, Vec<usize>)> {
        let floor = self.floor()?;
        let mut best = self.one_each();
        if best.as_ref().is_none_or(|best| best.deviation > floor) {
            let smaller = if best.is_some() { self.groups() - 1 } else { self.givers.len() };
            for size in (1..=smaller).rev() {
                let may_improve = |floor| best.as_ref().is_none_or(|best| floor < best.deviation);
                if !self.floor_of(size).is_some_and(may_improve) {
                    continue;
                }
                if self.look_at(size, floor, &mut best).is_break() {
                    break;
                }
            }
        }
        let Given { deviation, subset } = best?;
        let subset = overwritten(subset, self.givers.len(), Walked::ToTheEnd);
        Some((deviation, subset.into_iter().map(|at| self.givers[at]).collect()))
    }

    fn groups(&self) -> usize {
        usize::try_from(self.rest / self.group).unwrap_or(0)
    }

    fn left(&self, at: usize) -> i64 {
        self.after[self.givers[at]]
    }

    /// No way is more even.
    fn floor(&self) -> Option<u64> {
        self.floor_of(self.givers.len())
    }

    /// No subset of `size` is more even than giving each group from where most is left, of the nodes with most.
    fn floor_of(&self, size: usize) -> Option<u64> {
        let mut nodes = self.givers.clone();
        nodes.sort_unstable();
        nodes.dedup();
        let mut left: Vec<_> = nodes.into_iter().map(|node| self.after[node]).collect();
        left.sort_unstable_by(|a, b| b.cmp(a));
        left.truncate(size);
        let mut squares = self.squares;
        for _ in 0..self.groups() {
            let most = left.iter_mut().max().filter(|most| **most >= self.group)?;
            squares += self.group * (self.group - 2 * *most);
            *most -= self.group;
        }
        Some(self.spread.deviation(squares))
    }

    /// What is left when nodes that had `sum` CPUs together have given one group each.
    fn one_each_of(&self, sum: i64) -> u64 {
        self.spread.deviation(self.squares + self.group * (self.rest - 2 * sum))
    }

    /// The first of the best subsets of which no node gives twice.
    fn one_each(&self) -> Option<Given> {
        let (count, groups) = (self.givers.len(), self.groups());
        if self.repeats == Repeats::Somewhere {
            return None;
        }
        let deviation = self.one_each_of(self.most(0..count, groups)?);
        // Those that give stand before the others of a subset.
        let (others, limit) =
            (0..=count - groups).rev().map(|others| (others, count - others)).find(|&(_, limit)| {
                self.most(0..limit, groups).is_some_and(|sum| self.one_each_of(sum) == deviation)
            })?;
        let mut subset = Vec::with_capacity(groups + others);
        let mut sum = 0;
        while subset.len() < groups {
            let from = subset.last().map_or(0, |last| last + 1);
            let missing = groups - subset.len() - 1;
            let is_good = |at: &usize| {
                self.most(at + 1..limit, missing)
                    .is_some_and(|most| self.one_each_of(sum + self.left(*at) + most) == deviation)
            };
            let at = (from..limit).find(is_good)?;
            sum += self.left(at);
            subset.push(at);
        }
        let next = subset.last().map_or(0, |last| last + 1);
        subset.extend(next..next + others);
        Some(Given { deviation, subset })
    }

    /// What the `how_many` nodes with the most left have together.
    fn most(&self, among: core::ops::Range<usize>, how_many: usize) -> Option<i64> {
        let mut left: Vec<_> = among.map(|at| self.left(at)).collect();
        left.sort_unstable_by(|a, b| b.cmp(a));
        left.get(..how_many).map(|most| most.iter().sum())
    }

    /// Keeps the first subset of `size` that is better; breaks when no other can be.
    fn look_at(&self, size: usize, floor: u64, best: &mut Option<Given>) -> ControlFlow<()> {
        let mut left = self.after.to_vec();
        walk(self.givers.len(), size, |subset| {
            self.work.spend()?;
            let Some(deviation) = self.hand_out(subset, &mut left) else { return ControlFlow::Continue(()) };
            if best.as_ref().is_none_or(|best| deviation < best.deviation) {
                *best = Some(Given { deviation, subset: subset.to_vec() });
                if deviation == floor {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        })
    }

    /// How even the nodes are when those of `subset` have given in turns; `None` if they have too few groups.
    /// `left` is the room to work in, and left as it was.
    fn hand_out(&self, subset: &[usize], left: &mut [i64]) -> Option<u64> {
        let (mut rest, mut squares) = (self.rest, self.squares);
        while rest > 0 {
            let before = rest;
            for node in subset.iter().map(|&at| self.givers[at]) {
                if rest > 0 && left[node] >= self.group {
                    squares += self.group * (self.group - 2 * left[node]);
                    left[node] -= self.group;
                    rest -= self.group;
                }
            }
            if rest == before {
                break;
            }
        }
        for node in subset.iter().map(|&at| self.givers[at]) {
            left[node] = self.after[node];
        }
        (rest == 0).then(|| self.spread.deviation(squares))
    }
}
