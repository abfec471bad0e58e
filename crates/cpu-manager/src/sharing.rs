//! Which nodes share a request: the combination that the kubelet's walk over all of them ends with, without the walk.
//!
//! With the number of nodes fixed, so are each node's share and what is left over. The sum of what remains free
//! is the same for all combinations, so the most even one has the least sum of squares; and a node with more
//! free CPUs in the place of another always makes it less. So the nodes with the most free CPUs bound what can
//! be reached, and so they do for every beginning of a combination with the best of the nodes that may follow.
//! The combinations are searched in the order of the walk, and beginnings that cannot reach the best known are
//! passed over. What is left over is bounded by handing it out group by group to the node with the most free
//! CPUs; [`remainder`](crate::remainder) computes the exact result.
//!
//! The kubelet compares deviations rounded to thousandths, and the first of equals wins: the bound is rounded the
//! same way. Afterwards the combination is overwritten as in the kubelet, by position.
//!
//! Where shares are lowered to what the poorest node has, they differ between combinations, and the bound is that of
//! handing out everything group by group. Combinations of nodes in one socket come before all others: each socket is
//! searched by itself, and only if none has a combination, all nodes are.
//!
//! Subsets that have enough CPUs but not enough whole groups hang the kubelet; they are passed over here.
//!
//! Cost: nodes × size bounds where nodes are about equally loaded, or nothing is left over; each is a few hundred
//! steps. Where the bound is not reached the search goes on; when the steps of [`Work`] run out, the best so far counts.
//! The kubelet has no bound.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::ControlFlow;

use crate::balance::{Spread, Walked, overwritten};
use crate::remainder::{Remainder, Repeats};
use crate::work::Work;

/// How much each node of a combination gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NodeShare {
    /// An even share; a combination with a poorer node is left out.
    Even,
    /// The same; where the combination in its overwritten form has a poorer node, all give as little.
    EvenIfThere,
    /// An even share, or what the poorest node has; combinations in one socket come first.
    Lowered,
}

/// For each position the socket that its node lies in; `None`: in several.
pub(crate) type Sockets = Vec<Option<usize>>;

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
    share: NodeShare,
    sockets: &'a [Option<usize>],
    work: Work,
}

/// Which positions of the order are combined.
#[derive(Clone, Copy)]
enum Among<'p> {
    All,
    Positions(&'p [usize]),
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
        let share = NodeShare::Even;
        Self { order, distinct, free, count, group, share, sockets: &[], work: Work::new() }
    }

    /// The same with other shares.
    pub(crate) fn with(self, share: NodeShare, sockets: &'a [Option<usize>]) -> Self {
        Self { share, sockets, ..self }
    }

    /// Whether a search ran out of steps.
    pub(crate) const fn is_cut(&self) -> bool {
        self.work.is_cut()
    }

    /// The best combination of `size` nodes.
    pub(crate) fn best(&self, size: usize) -> Option<Shares> {
        let (found, ends_at_zero) = match self.share {
            NodeShare::Even | NodeShare::EvenIfThere => (self.search(Among::All, size)?, true),
            NodeShare::Lowered => match self.in_one_socket(size) {
                Some(found) => (found, true),
                None => (self.search(Among::All, size)?, false),
            },
        };
        let Found { deviation, positions, more } = found;
        let walked = if ends_at_zero && deviation == 0 { Walked::OneFurther } else { Walked::ToTheEnd };
        let positions = overwritten(positions, self.order.len(), walked);
        Some(Shares { nodes: positions.iter().map(|&at| self.order[at]).collect(), more })
    }

    /// The best combination of nodes in one socket; of equal ones that which the walk meets first.
    fn in_one_socket(&self, size: usize) -> Option<Found> {
        let mut sockets: Vec<usize> = self.sockets.iter().copied().flatten().collect();
        sockets.sort_unstable();
        sockets.dedup();
        let of_socket = |socket| {
            let among: Vec<_> =
                (0..self.order.len()).filter(|&at| self.sockets.get(at) == Some(&Some(socket))).collect();
            self.search(Among::Positions(&among), size)
        };
        let found = sockets.into_iter().filter_map(of_socket);
        found.min_by(|a, b| (a.deviation, &a.positions).cmp(&(b.deviation, &b.positions)))
    }

    /// The best combination of `size` of these positions.
    fn search(&self, among: Among<'_>, size: usize) -> Option<Found> {
        let mut search = Search::new(self, among, size)?;
        let widest = search.widest();
        let floor = search.bound(&widest, search.order.len())?;
        let seed = search.found(&widest);
        search.floor = floor;
        search.seed = seed.as_ref().map(|seed| seed.deviation);
        let _ = search.descend(0, &mut Vec::with_capacity(size));
        let found = search.best.or(seed)?;
        Some(match among {
            Among::All => found,
            Among::Positions(among) => {
                let positions = found.positions.iter().map(|&at| among[at]).collect();
                Found { positions, ..found }
            }
        })
    }
}

/// The search among combinations of one size.
struct Search<'a> {
    sharing: &'a Sharing<'a>,
    /// The nodes that are combined.
    order: Cow<'a, [usize]>,
    size: usize,
    /// What each node gives if it has so much.
    share: i64,
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
    /// `None` if too few nodes can give a share.
    fn new(sharing: &'a Sharing<'a>, among: Among<'_>, size: usize) -> Option<Self> {
        let order: Cow<'a, [usize]> = match among {
            Among::All => sharing.order.into(),
            Among::Positions(among) => among.iter().map(|&at| sharing.order[at]).collect(),
        };
        let sharers = i64::try_from(size).ok().filter(|size| *size > 0)?;
        let share = sharing.count / sharers / sharing.group * sharing.group;
        let mut tails = alloc::vec![Vec::new()];
        let mut tail: Vec<i64> = Vec::new();
        for &node in order.iter().rev() {
            let free = sharing.free[node];
            if free >= share || sharing.share == NodeShare::Lowered {
                tail.insert(tail.partition_point(|other| *other > free), free);
            }
            tails.push(tail.clone());
        }
        tails.reverse();
        let free = sharing.distinct.iter().map(|&node| sharing.free[node]);
        (tail.len() >= size).then_some(Self {
            sharing,
            order,
            size,
            share,
            spread: Spread { count: sharing.distinct.len(), sum: free.clone().sum::<i64>() - sharing.count },
            squares: free.map(|free| free * free).sum(),
            tails,
            floor: 0,
            seed: None,
            best: None,
        })
    }

    fn free_at(&self, position: usize) -> i64 {
        self.sharing.free[self.order[position]]
    }

    /// The positions with the most free CPUs.
    fn widest(&self) -> Vec<usize> {
        let mut positions: Vec<_> = (0..self.order.len()).collect();
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
        for at in from..=self.order.len() - missing {
            self.sharing.work.spend()?;
            if !self.may_improve(self.bound(chosen, at)) {
                break;
            }
            if !self.can_give(self.free_at(at)) {
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

    /// Whether a node with so many free CPUs may be in a combination.
    fn can_give(&self, free: i64) -> bool {
        free >= self.share || self.sharing.share == NodeShare::Lowered
    }

    /// What each of some nodes gives, and what is left over.
    fn shares(&self, free: impl Iterator<Item = i64>) -> (i64, i64) {
        let Sharing { count, group, share, .. } = *self.sharing;
        let share = match share {
            NodeShare::Even | NodeShare::EvenIfThere => self.share,
            NodeShare::Lowered => free.map(|free| free / group * group).fold(self.share, i64::min),
        };
        (share, count - share * i64::try_from(self.size).unwrap_or(0))
    }

    /// No combination that begins with `chosen` and goes on at `from` is more even than this; `None` if none can
    /// give so much.
    fn bound(&self, chosen: &[usize], from: usize) -> Option<u64> {
        let missing = self.size - chosen.len();
        let tail = self.tails[from].get(..missing)?;
        let mut left: Vec<i64> =
            chosen.iter().map(|&at| self.free_at(at)).chain(tail.iter().copied()).collect();
        let mut squares = self.squares;
        if self.sharing.share == NodeShare::Lowered {
            squares += given_evenly(&mut left, self.sharing.group, self.sharing.count / self.sharing.group)?;
            return Some(self.spread.deviation(squares));
        }
        for free in &mut left {
            squares += self.share * (self.share - 2 * *free);
            *free -= self.share;
        }
        let (group, (_, mut rest)) = (self.sharing.group, self.shares(core::iter::empty()));
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
        let Sharing { distinct, free, count, group, ref work, .. } = *self.sharing;
        let nodes: Vec<_> = chosen.iter().map(|&at| self.order[at]).collect();
        let (share, rest) = self.shares(nodes.iter().map(|&node| free[node]));
        let mut once = nodes.clone();
        once.sort_unstable();
        once.dedup();
        let free_here: i64 = once.iter().map(|&node| free[node]).sum();
        let whole: i64 = nodes.iter().map(|&node| free[node] / group * group).sum();
        if free_here < count || whole < count || nodes.iter().any(|&node| free[node] < share) {
            return None;
        }
        let mut after = free.to_vec();
        for &node in &nodes {
            after[node] -= share;
        }
        let squares = distinct.iter().map(|&node| after[node] * after[node]).sum();
        let (deviation, more) = if rest == 0 {
            (self.spread.deviation(squares), Vec::new())
        } else {
            let remainder = Remainder {
                givers: nodes.iter().copied().filter(|&node| after[node] >= group).collect(),
                repeats: if once.len() == nodes.len() { Repeats::Never } else { Repeats::Somewhere },
                after: &after,
                squares,
                spread: self.spread,
                rest,
                group,
                work,
            };
            remainder.best()?
        };
        Some(Found { deviation, positions: chosen.to_vec(), more })
    }
}

/// Gives `groups` groups, each from where most is left; returns by how much the sum of squares changes. `None`: there are
/// too few.
fn given_evenly(left: &mut [i64], group: i64, groups: i64) -> Option<i64> {
    // Of a node's groups those that are given while it has more than `level`.
    let above =
        |free: i64, level: i64| ((free - level).max(0) + group - 1).div_euclid(group).min(free / group);
    let given = |left: &[i64], level| left.iter().map(|&free| above(free, level)).sum::<i64>();
    if given(left, 0) < groups {
        return None;
    }
    let (mut low, mut high) = (0, left.iter().copied().max()?);
    while low < high {
        let level = i64::midpoint(low, high);
        if given(left, level) <= groups {
            high = level;
        } else {
            low = level + 1;
        }
    }
    let mut rest = groups - given(left, low);
    let mut change = 0;
    for free in left.iter_mut() {
        let cpus = above(*free, low) * group;
        change += cpus * (cpus - 2 * *free);
        *free -= cpus;
    }
    while rest > 0 {
        let most = left.iter_mut().max().filter(|most| **most >= group)?;
        change += group * (group - 2 * *most);
        *most -= group;
        rest -= 1;
    }
    Some(change)
}
