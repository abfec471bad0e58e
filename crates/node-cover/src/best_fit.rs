//! Which groups give what is needed, so that groups that are whole stay whole: the caches of CPUs, the switches of devices.
//!
//! A group is *whole* if nothing of it is taken. Of all sets of groups that have enough together the best one
//!
//! 1. breaks the fewest whole groups,
//! 2. has the fewest groups,
//! 3. breaks the fewest whole blocks, as the cores of a cache,
//! 4. leaves the least in its groups: the tightest fit,
//! 5. has the groups that come first.
//!
//! So what fits one broken group comes from the tightest of these. More than a whole group is one group and a rest that
//! comes from the tightest. The search is exact unless its steps run out: size by size, groups that are alike tried once,
//! and what cannot reach enough or cannot be better is left out.

use alloc::vec::Vec;

use smallvec::SmallVec;

use crate::{OutOfSteps, Solution, Steps};

/// Things of which some can be taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// Whether anything of it is taken.
    pub state: GroupState,
    /// How many can be taken.
    pub free: usize,
    /// How many whole blocks are among these.
    pub blocks: usize,
}

/// Whether there is something to break in a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupState {
    /// Nothing of it is taken.
    Whole,
    /// A part of it is taken, or it has one part only.
    Broken,
}

/// What is taken of groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Need {
    /// How many things.
    pub count: usize,
    /// How many things are a block; at least 1.
    pub block: usize,
    /// How many whole blocks at least.
    pub blocks: usize,
    /// From how many groups at most.
    pub groups: usize,
}

/// Positions of groups.
type Chosen = SmallVec<[usize; 16]>;

/// The positions of the best groups, ascending; `None` if no set of them has enough. Cut: they have enough, or none were
/// found, and others may be better.
pub fn best_fit(groups: &[Group], need: Need, steps: &mut Steps) -> Solution<Option<Vec<usize>>> {
    let of = |state| -> Side {
        let own = groups.iter().enumerate().filter(|(_, group)| group.state == state && group.free > 0);
        Side::new(own.map(|(at, group)| (at, *group)), need.blocks > 0)
    };
    let (whole, broken) = (of(GroupState::Whole), of(GroupState::Broken));
    for from_whole in 0..=need.groups.min(whole.len()) {
        for from_broken in 0..=(need.groups - from_whole).min(broken.len()) {
            let (most_whole, most_broken) = (whole.most(0, from_whole), broken.most(0, from_broken));
            let most = (most_whole.0 + most_broken.0, most_whole.1 + most_broken.1);
            if most.0 < need.count || most.1 < need.blocks {
                continue;
            }
            let sides = [(&whole, from_whole), (&broken, from_broken)];
            let mut search = Search { sides, need, best: None, chosen: Chosen::new() };
            let outcome = search.choose(0, 0, from_whole, (0, 0), steps);
            let best = search.best.map(|best| best.groups.into_vec());
            match outcome {
                Err(OutOfSteps) => return Solution::Cut(best),
                Ok(()) if best.is_some() => return Solution::Exact(best),
                Ok(()) => {}
            }
        }
    }
    Solution::Exact(None)
}

/// Groups of one state, those with the most first, and of these those that come first.
struct Side {
    groups: SmallVec<[(usize, Group); 16]>,
    /// The things of so many first groups.
    things: SmallVec<[usize; 16]>,
    /// The position of each group among all by its blocks, most first; empty if blocks do not matter.
    by_blocks: SmallVec<[usize; 16]>,
}

impl Side {
    fn new(groups: impl Iterator<Item = (usize, Group)>, blocks_matter: bool) -> Self {
        let mut groups: SmallVec<[(usize, Group); 16]> = groups.collect();
        groups.sort_by_key(|(at, group)| (usize::MAX - group.free, usize::MAX - group.blocks, *at));
        let mut sum = 0;
        let first = core::iter::once(0);
        let things = first.chain(groups.iter().map(|(_, group)| {
            sum += group.free;
            sum
        }));
        let things = things.collect();
        let mut by_blocks: SmallVec<[usize; 16]> = SmallVec::new();
        if blocks_matter {
            by_blocks.extend(0..groups.len());
            by_blocks.sort_by_key(|at| usize::MAX - groups[*at].1.blocks);
        }
        Self { groups, things, by_blocks }
    }

    fn len(&self) -> usize {
        self.groups.len()
    }

    /// No `count` groups from a position on have more things, or more blocks.
    fn most(&self, from: usize, count: usize) -> (usize, usize) {
        let most_things = self.things[(from + count).min(self.len())] - self.things[from];
        let left = self.by_blocks.iter().filter(|at| **at >= from).take(count);
        (most_things, left.map(|at| self.groups[*at].1.blocks).sum())
    }

    /// No `count` groups have fewer things.
    fn least(&self, count: usize) -> usize {
        self.things[self.len()] - self.things[self.len() - count.min(self.len())]
    }
}

/// The search among all sets with as many whole and as many broken groups.
struct Search<'a> {
    sides: [(&'a Side, usize); 2],
    need: Need,
    best: Option<Best>,
    chosen: Chosen,
}

/// The best groups so far; the field order is the policy.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Best {
    blocks_broken: usize,
    left: usize,
    groups: Chosen,
}

impl Search<'_> {
    /// Goes on with `count` groups of a side, from a position on; `had` is what those chosen before have.
    fn choose(
        &mut self,
        side: usize,
        from: usize,
        count: usize,
        had: (usize, usize),
        steps: &mut Steps,
    ) -> Result<(), OutOfSteps> {
        steps.take()?;
        let Some(&(groups, _)) = self.sides.get(side) else {
            self.judge(had);
            return Ok(());
        };
        if count == 0 {
            let next = self.sides.get(side + 1).map_or(0, |(_, count)| *count);
            return self.choose(side + 1, 0, next, had, steps);
        }
        let mut last: Option<(usize, usize)> = None;
        for at in from..=groups.len() - count {
            let (position, group) = groups.groups[at];
            let kind = (group.free, group.blocks);
            if last == Some(kind) {
                continue;
            }
            if !self.can_be_enough(side, at, count, had) {
                break;
            }
            if self.is_no_better(side, count, had, group) {
                continue;
            }
            last = Some(kind);
            self.chosen.push(position);
            let had = (had.0 + group.free, had.1 + group.blocks);
            let outcome = self.choose(side, at + 1, count - 1, had, steps);
            self.chosen.pop();
            outcome?;
        }
        Ok(())
    }

    fn can_be_enough(&self, side: usize, from: usize, count: usize, had: (usize, usize)) -> bool {
        let here = self.sides[side].0.most(from, count);
        let then = self.sides.get(side + 1).map_or((0, 0), |(next, count)| next.most(0, *count));
        had.0 + here.0 + then.0 >= self.need.count && had.1 + here.1 + then.1 >= self.need.blocks
    }

    /// Whether even the groups with the least leave more than the best set, which breaks no block.
    fn is_no_better(&self, side: usize, count: usize, had: (usize, usize), group: Group) -> bool {
        let Some(best) = self.best.as_ref().filter(|best| best.blocks_broken == 0) else { return false };
        let here = self.sides[side].0.least(count - 1);
        let then = self.sides.get(side + 1).map_or(0, |(next, count)| next.least(*count));
        had.0 + group.free + here + then > self.need.count + best.left
    }

    fn judge(&mut self, (free, blocks): (usize, usize)) {
        let Need { count, block, blocks: at_least, .. } = self.need;
        let whole = blocks.min(count / block);
        if free < count || whole < at_least {
            return;
        }
        let (rest, single) = (count - whole * block, free.saturating_sub(blocks * block));
        let mut groups = self.chosen.clone();
        groups.sort_unstable();
        let blocks_broken = rest.saturating_sub(single).div_ceil(block);
        let found = Best { blocks_broken, left: free - count, groups };
        if self.best.as_ref().is_none_or(|best| found < *best) {
            self.best = Some(found);
        }
    }
}
