//! The reachable set of one size whose nodes are closest to each other, or cost least by their scores.
//!
//! First the least sum of distances is found, then the lowest set that has it, in the way of `lowest`: a set as
//! close as that without the highest node, else that node stays.
//!
//! The search takes the node that is nearest to those taken, then tries without it. A branch is left when
//!
//! - no set in it can be close enough. Each node that is still to be taken costs its distances to the nodes taken
//!   and, by halves, those to its nearest others; the cheapest such nodes bound the rest;
//! - nothing in it can be reached;
//! - a node is left out, but not one with the same distances to all others that costs no less alone and serves no
//!   better: exchanging the two would not raise the sum. So of nodes that nothing tells apart only the number matters.
//!
//! Few sets, and distances that are missing or so large that floats round, are met one by one.

use node_cover::{OutOfSteps, Steps};
use numa_bitmask::{NodeIndex, NodeMask};
use smallvec::SmallVec;

use crate::costs::{self, Costs};
use crate::distance::Tie;
use crate::work::Stop;
use crate::zone::{Reach, Zone};

/// Up to this number of sets nothing is prepared.
const FEW: u64 = 128;

/// How many prices of a row are tried.
const PRICES: usize = 10;

/// What each node costs at least, twice.
type Each = SmallVec<[(u64, NodeIndex); NodeIndex::LIMIT]>;

/// Offers the closest reachable sets of `size` nodes to `tie`.
pub(crate) fn closest(
    zone: &Zone<'_, '_>,
    size: u32,
    tie: &mut Tie<'_>,
    steps: &mut Steps,
) -> Result<(), Stop> {
    let is_large = count_of_size(zone.room, size) > FEW;
    let Some(costs) = is_large.then(|| Costs::new(zone, tie.ties())).flatten() else {
        return each(zone, size, NodeMask::EMPTY, zone.room, tie, steps);
    };
    // Where another zone has a closer set, nothing here matters.
    let limit = tie.best().and_then(|mask| costs::sum(mask, tie.ties())).unwrap_or(u64::MAX / 4);
    let mut search = Search { zone, size, costs: &costs, limit, found: None, goal: Goal::Least, steps };
    let searched = search.grow().and_then(|()| search.descend(NodeMask::EMPTY, 0, zone.room));
    let Some(best) = search.found else { return Ok(searched?) };
    // Found at all is better than nothing, should the work run out.
    searched.or_else(|stop| tie.offer(best).map_err(Stop::from).and(Err(stop.into())))?;
    let lowest = search.lowest(best);
    tie.offer(*lowest.as_ref().unwrap_or(&best))?;
    lowest?;
    Ok(())
}

/// Offers every reachable set with all of `keep` and the rest from `from`, the lowest numbers first.
fn each(
    zone: &Zone<'_, '_>,
    size: u32,
    keep: NodeMask,
    from: NodeMask,
    tie: &mut Tie<'_>,
    steps: &mut Steps,
) -> Result<(), Stop> {
    steps.take()?;
    let Some(more) = size.checked_sub(keep.len()) else { return Ok(()) };
    if from.len() < more || !zone.may_find(keep, zone.room - keep - from, size) {
        return Ok(());
    }
    if more == 0 || from.len() == more {
        let set = if more == 0 { keep } else { keep | from };
        if zone.reaches(set, steps)? {
            tie.offer(set)?;
        }
        return Ok(());
    }
    let Some(highest) = from.last() else { return Ok(()) };
    each(zone, size, keep, from.without(highest), tie, steps)?;
    each(zone, size, keep.with(highest), from.without(highest), tie, steps)
}

/// What is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goal {
    /// The least sum.
    Least,
    /// Any sum within the limit.
    Any,
}

struct Search<'s, 'z, 'a> {
    zone: &'s Zone<'z, 'a>,
    size: u32,
    costs: &'s Costs,
    /// Sums above it are of no use.
    limit: u64,
    found: Option<NodeMask>,
    goal: Goal,
    steps: &'s mut Steps,
}

impl Search<'_, '_, '_> {
    /// Sets grown from each node, nearest first: a good one to measure against.
    fn grow(&mut self) -> Result<(), OutOfSteps> {
        for seed in self.zone.room {
            let (mut set, mut sum) = (NodeMask::single(seed), self.costs.adds(seed, NodeMask::EMPTY));
            while set.len() < self.size {
                self.steps.take_many(u64::from(self.zone.room.len()))?;
                let fits = |node: &NodeIndex| self.zone.may_find(set.with(*node), NodeMask::EMPTY, self.size);
                let others = (self.zone.room - set).iter().filter(fits);
                let Some((adds, next)) = others.map(|node| (self.costs.adds(node, set), node)).min() else {
                    break;
                };
                set = set.with(next);
                sum += adds;
            }
            if set.len() == self.size {
                self.meet(set, sum)?;
            }
        }
        Ok(())
    }

    /// Takes a whole set if it is close enough and can be reached.
    fn meet(&mut self, set: NodeMask, sum: u64) -> Result<(), OutOfSteps> {
        let is_better = sum < self.limit || sum == self.limit && self.found.is_none();
        if is_better && self.zone.reaches(set, self.steps)? {
            (self.limit, self.found) = (sum, Some(set));
        }
        Ok(())
    }

    /// Looks at the sets with all of `keep`, whose sum is `sum`, and the rest from `from`.
    fn descend(&mut self, keep: NodeMask, sum: u64, from: NodeMask) -> Result<(), OutOfSteps> {
        let mut from = from;
        loop {
            self.steps.take()?;
            let Some(more) = self.size.checked_sub(keep.len()) else { return Ok(()) };
            if from.len() < more || self.goal == Goal::Any && self.found.is_some() {
                return Ok(());
            }
            if more == 0 {
                return self.meet(keep, sum);
            }
            let Some(node) = self.promising(keep, sum, from, more) else { return Ok(()) };
            if !self.zone.may_find(keep, self.zone.room - keep - from, self.size) {
                return Ok(());
            }
            let adds = self.costs.adds(node, keep);
            self.descend(keep.with(node), sum + adds, from.without(node))?;
            from = from.without(node) - self.costs.worse[node.get()];
        }
    }

    /// The node that looks nearest among those that no other surpasses; `None` if `more` nodes of `from` cannot be
    /// close enough.
    fn promising(&self, keep: NodeMask, sum: u64, from: NodeMask, more: u32) -> Option<NodeIndex> {
        let costs = self.costs;
        // Another set is of use only if it is closer than one that is found.
        let limit =
            if self.found.is_some() { self.limit.checked_sub(costs.grain.max(1))? } else { self.limit };
        let left = (2 * limit).checked_sub(2 * sum)?;
        let surpassed =
            from.iter().fold(NodeMask::EMPTY, |surpassed, node| surpassed | costs.worse[node.get()]);
        let mut each = Each::new();
        let mut nearest = None;
        for node in from {
            let row = &costs.pairs[node.get()];
            let near = costs.nearest[node.get()].iter().filter(|other| from.contains(**other));
            let halves: u64 = near.take(more as usize - 1).map(|other| u64::from(row[other.get()])).sum();
            let twice = 2 * costs.adds(node, keep) + halves;
            each.push((twice, node));
            if !surpassed.contains(node) && nearest.is_none_or(|(least, _)| twice < least) {
                nearest = Some((twice, node));
            }
        }
        let more = more as usize;
        let cheapest = each.get_mut(..more)?.len();
        each.select_nth_unstable_by_key(cheapest - 1, |(twice, _)| *twice);
        let least: u64 = each.iter().take(more).map(|(twice, _)| *twice).sum();
        if least > left || self.is_too_dear(keep, &each, more, left) {
            return None;
        }
        nearest.map(|(_, node)| node)
    }

    /// Whether sets that meet the zone's rows cost more than `left`. The cheapest nodes may bring too little to a
    /// row: with any price on what a row gets, the cheapest nodes by cost less what they bring, and what is needed
    /// at that price, bound the cost too.
    fn is_too_dear(&self, keep: NodeMask, each: &Each, more: usize, left: u64) -> bool {
        let Reach::Rows { rows, base, .. } = &self.zone.reach else { return false };
        let with = keep | *base;
        for row in rows {
            let lack = row.lack(with);
            let brought = |node| row.gain(with, node).min(lack);
            let cheapest = each.iter().take(more).map(|(_, node)| u128::from(brought(*node)));
            if lack == 0 || cheapest.sum::<u128>() >= u128::from(lack) {
                continue;
            }
            let share = |node| part(brought(node), lack);
            let mut priced: SmallVec<[(f64, f64); NodeIndex::LIMIT]> =
                each.iter().map(|(twice, node)| (float(*twice), share(*node))).collect();
            let (mut low, mut high, limit) = (0.0, 2.0 * float(left), float(left));
            for _ in 0..PRICES {
                let price = f64::midpoint(low, high);
                let dear = |own: &(f64, f64)| own.0 - price * own.1;
                priced.select_nth_unstable_by(more - 1, |a, b| dear(a).total_cmp(&dear(b)));
                let chosen = priced.iter().take(more);
                if chosen.clone().map(dear).sum::<f64>() + price > limit + 0.5 {
                    return true;
                }
                if chosen.map(|own| own.1).sum::<f64>() < 1.0 {
                    low = price;
                } else {
                    high = price;
                }
            }
        }
        false
    }

    /// The lowest set with the sum of `best`, which is the least.
    fn lowest(&mut self, best: NodeMask) -> Result<NodeMask, OutOfSteps> {
        self.goal = Goal::Any;
        let (mut witness, mut keep, mut out) = (best, NodeMask::EMPTY, NodeMask::EMPTY);
        let mut sum = 0;
        while let Some(highest) = (witness - keep).last() {
            let above = !NodeMask::all(highest.get() + 1);
            let without = out | ((self.zone.room - keep) & above) | highest.into();
            self.found = None;
            self.descend(keep, sum, self.zone.room - keep - without)?;
            if let Some(found) = self.found {
                witness = found;
            } else {
                sum += self.costs.adds(highest, keep);
                keep = keep.with(highest);
            }
            out = without - keep;
        }
        Ok(witness)
    }
}

#[expect(clippy::cast_precision_loss, reason = "used in a bound with a margin")]
fn part(gain: u64, lack: u64) -> f64 {
    gain as f64 / lack as f64
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
const fn float(cost: u64) -> f64 {
    cost as f64
}

/// How many subsets of `room` have `size` nodes, as far as `u64` counts.
fn count_of_size(room: NodeMask, size: u32) -> u64 {
    let (places, size) = (u64::from(room.len()), u64::from(size));
    if size > places {
        return 0;
    }
    (0..size.min(places - size)).fold(1, |count: u64, taken| {
        count.checked_mul(places - taken).map_or(u64::MAX, |product| product / (taken + 1))
    })
}
