//! [`Order::AcrossNodes`](crate::Order::AcrossNodes): equal shares of as few NUMA nodes as can give them.
//!
//! For each number of nodes, from the fewest that could hold the request when empty: among the combinations of so
//! many nodes that can give equal shares (in groups of a core where whole cores are required), the one that leaves
//! the free CPUs of all nodes most even. What equal shares leave over is given in single groups by a subset of the
//! combination, again the one that leaves it most even, larger subsets first. Strictly better wins, so the first of
//! equals stays. Inside a node CPUs are taken packed. If nothing fits, the request is packed.
//!
//! Example: 2 nodes with 12 and 8 free CPUs, 10 wanted. One node cannot (8) or leaves 2 and 8: fewest nodes first,
//! so node 0 gives all 10. 13 wanted: two nodes give 6 each and node 0 one more, which leaves 5 and 2.
//!
//! Subsets that have enough CPUs but not enough whole groups hang the kubelet; they are passed over here.
//!
//! Cost: the number of combinations, each with its subsets, which is exponential in the nodes that share one
//! request. So it is bounded: after [`WORK_LIMIT`] of them the best so far counts, or the request is packed. The
//! kubelet has no bound.

use alloc::vec::Vec;
use core::cell::Cell;
use core::ops::ControlFlow;

use cpuset::CpuSet;

use crate::balance::{Kept, deviation, walk};
use crate::take::Taking;
use crate::{Allocator, TakeError, WholeCores};

/// How many combinations and subsets are looked at for one request: tenths of a second's worth.
const WORK_LIMIT: u32 = 1 << 22;

/// Which nodes give, as positions of nodes.
struct Shares {
    /// Each gives an equal share.
    nodes: Vec<usize>,
    /// These give what is left over, one group at a time.
    more: Vec<usize>,
}

/// The question: how to share `count` CPUs in groups of `group`.
struct Sharing<'a> {
    /// Nodes in order of free CPUs; one that spans sockets is there several times.
    order: &'a [usize],
    /// The same, each once.
    distinct: &'a [usize],
    /// Free CPUs of each node.
    free: &'a [i64],
    count: i64,
    group: i64,
    /// Combinations and subsets that may still be looked at.
    work: Cell<u32>,
}

impl Allocator {
    pub(crate) fn distributed(&self, free: &CpuSet, count: usize) -> Result<CpuSet, TakeError> {
        let group = match self.whole_cores {
            WholeCores::Required => self.units.cpus_per_core.max(1),
            WholeCores::NotRequired => 1,
        };
        if !count.is_multiple_of(group) {
            return self.packed(free, count);
        }
        let free = Taking::new(self, free, count)?.free;
        if count == 0 {
            return Ok(CpuSet::new());
        }
        let order = self.units.node_order(&free);
        let mut distinct = order.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let groups_of_node = self.units.all.len().div_ceil(group).div_ceil(self.units.nodes.len().max(1));
        let groups = count.div_ceil(group);
        let fewest = groups.div_ceil(groups_of_node.max(1));
        let most = groups.min(distinct.len());

        let free_of: Vec<_> = self.units.nodes.iter().map(|node| signed(node.free(&free))).collect();
        let sharing = Sharing {
            order: &order,
            distinct: &distinct,
            free: &free_of,
            count: signed(count),
            group: signed(group),
            work: Cell::new(WORK_LIMIT),
        };
        match (fewest..=most).find_map(|size| sharing.best(size)) {
            Some(shares) => self.hand_out(free, count, group, &shares),
            None => self.packed(&free, count),
        }
    }

    fn hand_out(
        &self,
        mut free: CpuSet,
        count: usize,
        group: usize,
        shares: &Shares,
    ) -> Result<CpuSet, TakeError> {
        let mut taken = CpuSet::new();
        let mut need = signed(count);
        let mut give = |node: usize, cpus: usize| -> bool {
            let here = &self.units.nodes[node].cpus & &free;
            if here.len() < cpus {
                return false;
            }
            if let Ok(given) = self.packed(&here, cpus) {
                need -= signed(given.len());
                free -= &given;
                taken |= &given;
            }
            true
        };
        let share = count / shares.nodes.len() / group * group;
        for &node in &shares.nodes {
            give(node, share);
        }
        let mut rest = count - share * shares.nodes.len();
        while rest > 0 {
            let before = rest;
            for &node in &shares.more {
                if rest > 0 && give(node, group) {
                    rest -= group;
                }
            }
            if rest == before {
                break;
            }
        }
        match need {
            0 => Ok(taken),
            1.. => Err(TakeError::TooFew(need)),
            _ => Err(TakeError::TooMany(need)),
        }
    }
}

impl Sharing<'_> {
    /// The best combination of `size` nodes.
    fn best(&self, size: usize) -> Option<Shares> {
        let mut kept = Kept::default();
        let mut more = Vec::new();
        let mut best = None;
        walk(self.order.len(), size, |combination| {
            kept.pass(combination);
            if best == Some(0) {
                return ControlFlow::Break(());
            }
            self.spend()?;
            let nodes: Vec<_> = combination.iter().map(|&at| self.order[at]).collect();
            if let Some((balance, subset)) = self.balance(&nodes)
                && best.is_none_or(|best| balance < best)
            {
                best = Some(balance);
                kept.keep(combination);
                more = subset;
            }
            ControlFlow::Continue(())
        });
        let nodes = kept.get()?.iter().map(|&at| self.order[at]).collect();
        Some(Shares { nodes, more })
    }

    /// Counts one combination or subset; stops the walk past the limit.
    fn spend(&self) -> ControlFlow<()> {
        match self.work.get().checked_sub(1) {
            None => ControlFlow::Break(()),
            Some(left) => {
                self.work.set(left);
                ControlFlow::Continue(())
            }
        }
    }

    /// How even `nodes` leave the machine, and which of them give what is left over.
    fn balance(&self, nodes: &[usize]) -> Option<(u64, Vec<usize>)> {
        let free_here: i64 = nodes
            .iter()
            .enumerate()
            .filter(|(at, node)| !nodes[..*at].contains(node))
            .map(|(_, &n)| self.free[n])
            .sum();
        let whole: i64 = nodes.iter().map(|&node| self.free[node] / self.group * self.group).sum();
        if free_here < self.count || whole < self.count {
            return None;
        }
        let sharers = signed(nodes.len());
        let share = self.count / sharers / self.group * self.group;
        if nodes.iter().any(|&node| self.free[node] < share) {
            return None;
        }
        let mut after = self.free.to_vec();
        for &node in nodes {
            after[node] -= share;
        }
        let rest = self.count - share * sharers;
        if rest == 0 {
            return Some((self.deviation(&after), Vec::new()));
        }
        let givers: Vec<_> = nodes.iter().copied().filter(|&node| after[node] >= self.group).collect();
        self.best_subset(&givers, &after, rest)
    }

    fn best_subset(&self, givers: &[usize], after: &[i64], rest: i64) -> Option<(u64, Vec<usize>)> {
        let mut kept = Kept::default();
        let mut best = None;
        let mut left = after.to_vec();
        for size in (1..=givers.len()).rev() {
            walk(givers.len(), size, |subset| {
                kept.pass(subset);
                self.spend()?;
                left.copy_from_slice(after);
                if let Some(balance) = self.balance_of_subset(givers, subset, &mut left, rest)
                    && best.is_none_or(|best| balance < best)
                {
                    best = Some(balance);
                    kept.keep(subset);
                }
                ControlFlow::Continue(())
            });
            kept.freeze();
        }
        let subset = kept.get()?.iter().map(|&at| givers[at]).collect();
        Some((best?, subset))
    }

    fn balance_of_subset(
        &self,
        givers: &[usize],
        subset: &[usize],
        left: &mut [i64],
        mut rest: i64,
    ) -> Option<u64> {
        if subset.iter().map(|&at| left[givers[at]]).sum::<i64>() < rest {
            return None;
        }
        while rest > 0 {
            let before = rest;
            for node in subset.iter().map(|&at| givers[at]) {
                if rest > 0 && left[node] >= self.group {
                    left[node] -= self.group;
                    rest -= self.group;
                }
            }
            if rest == before {
                return None;
            }
        }
        Some(self.deviation(left))
    }

    fn deviation(&self, left: &[i64]) -> u64 {
        deviation(self.distinct.iter().map(|&node| left[node]))
    }
}

/// A number of CPUs, of which there are at most 8192 in any set.
fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
