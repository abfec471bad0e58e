//! How far the kubelet's own walk goes with [`Order::AcrossNodes`](crate::Order::AcrossNodes), and whether it ends.
//!
//! The kubelet looks at every combination of nodes, and in each at every subset of those that have a group left over. A
//! subset with enough CPUs and too few whole groups is handed out for ever: the loop runs until nothing is left over,
//! and passes over nodes with less than a group. The same happens once a combination is chosen, where the kubelet has
//! overwritten the subset that is to give the rest. [`sharing`](crate::sharing) passes over such subsets; here the walk
//! is done as the kubelet does it, up to [`Walk::MOST`] steps, with a look at the progress of each round.

use alloc::vec::Vec;
use core::ops::ControlFlow;

use cpuset::CpuSet;
use pod_spec::{Container, Pod, Role};
use topology_hint::Affinity;

use crate::balance::{Spread, Walked, overwritten, walk};
use crate::guaranteed::Guarantee as _;
use crate::sharing::NodeShare;
use crate::{Allocator, Holdings, Order, Static, WholeCores};

/// What the kubelet does to choose CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Walk {
    /// Combinations of nodes and subsets of them that are looked at; at least so many if it was [cut](WalkEnd::Cut).
    pub steps: u64,
    /// How often a free CPU is looked at to count those of a node, since the kubelet counts them anew for each combination.
    pub looks: u64,
    /// How it ends.
    pub end: WalkEnd,
}

/// How the walk for a request ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WalkEnd {
    /// With CPUs, or without because there are too few.
    #[default]
    Found,
    /// Never: in some round nothing is handed out, and each later round is the same.
    Never,
    /// It has more than [`Walk::MOST`] steps, and whether it ends was not looked at.
    Cut,
}

impl Walk {
    /// The most steps that are looked at: about a second of this code, and several of the kubelet's.
    pub const MOST: u64 = 1 << 21;

    /// One walk after another; the second is not made if the first does not end.
    #[must_use]
    pub fn then(self, next: impl FnOnce() -> Self) -> Self {
        if self.end != WalkEnd::Found {
            return self;
        }
        let next = next();
        Self { steps: self.steps + next.steps, looks: self.looks + next.looks, end: next.end }
    }
}

impl Static {
    /// What the kubelet does to choose CPUs for one container near `affinity`: nothing if it gets none or has them.
    #[must_use]
    pub fn walk(&self, held: &Holdings, pod: &Pod, container: &Container, affinity: Affinity) -> Walk {
        let Ok(request) = self.pod_level.exclusive_cpus(pod, container) else { return Walk::default() };
        let has_some = held.assigned(&pod.uid, &container.name).is_some();
        if has_some || self.check_whole_cores(held, request).is_err() {
            return Walk::default();
        }
        let mut free = self.available(held);
        if let Some(reusable) = held.reusable(&pod.uid) {
            free |= reusable;
        }
        self.walk_near(&free, request, affinity)
    }

    /// The same for a pod that is served [as a whole](Static::allocates_whole).
    #[must_use]
    pub fn walk_of_pod(&self, held: &Holdings, pod: &Pod, affinity: Affinity) -> Walk {
        let Ok(request) = self.pod_level.cpus_allocated_to_pod(pod) else { return Walk::default() };
        let is_refused = self.pod_level.check_shared_pool(pod, request).is_err();
        if is_refused || self.check_whole_cores(held, request).is_err() {
            return Walk::default();
        }
        let free = self.available(held);
        let mut walk = self.walk_near(&free, request, affinity);
        if walk.end != WalkEnd::Found {
            return walk;
        }
        let Ok(mut left) = self.choose(&free, request, affinity, &mut false) else { return walk };
        for container in &pod.containers {
            let Ok(own) = self.pod_level.cpus_allocated_to(pod, container) else { continue };
            walk = walk.then(|| self.allocator.walk(&left, own));
            match (walk.end, self.allocator.take(&left, own)) {
                (WalkEnd::Found, Ok(_)) if container.role == Role::Init => {}
                (WalkEnd::Found, Ok(taken)) => left -= &taken,
                _ => break,
            }
        }
        walk
    }

    /// What the kubelet does when it starts to choose `count` CPUs that it reserves, where they are not listed.
    #[must_use]
    pub fn walk_of_reservation(&self) -> Walk {
        self.allocator.walk(self.all(), self.reserved.len())
    }

    fn walk_near(&self, free: &CpuSet, request: usize, affinity: Affinity) -> Walk {
        if affinity == Affinity::Any {
            return self.allocator.walk(free, request);
        }
        let aligned = self.near(free, affinity);
        let first = request.min(aligned.len());
        self.allocator.walk(&aligned, first).then(|| {
            let Ok(taken) = self.allocator.take(&aligned, first) else { return Walk::default() };
            self.allocator.walk(&(free - &taken), request.saturating_sub(taken.len()))
        })
    }
}

impl Allocator {
    /// What the kubelet does to choose `count` of `free`; nothing with orders that look at no combinations.
    #[must_use]
    pub fn walk(&self, free: &CpuSet, count: usize) -> Walk {
        let group = match self.whole_cores {
            WholeCores::Required => self.units.cpus_per_core.max(1),
            WholeCores::NotRequired => 1,
        };
        let free = free & &self.units.all;
        if self.order != Order::AcrossNodes
            || count == 0
            || count > free.len()
            || !count.is_multiple_of(group)
        {
            return Walk::default();
        }
        Looking::new(self, &free, count, group).walk()
    }
}

/// A walk under way.
struct Looking<'a> {
    allocator: &'a Allocator,
    /// Nodes in order of free CPUs; one that spans sockets is there several times.
    order: Vec<usize>,
    /// Free CPUs of each node.
    free: Vec<i64>,
    /// Nodes that have some.
    distinct: usize,
    count: i64,
    group: i64,
    steps: u64,
    looks: u64,
    /// CPUs that are free on all nodes together.
    all_free: u64,
}

/// What the walk over combinations of one size keeps.
#[derive(Default)]
struct Best {
    /// The deviation; `None`: nothing is kept.
    deviation: Option<u64>,
    is_in_one_socket: bool,
    /// Positions of the order.
    nodes: Vec<usize>,
    /// Nodes that give the rest.
    more: Vec<usize>,
}

/// A walk that does not come to its end.
struct Stopped(WalkEnd);

impl<'a> Looking<'a> {
    fn new(allocator: &'a Allocator, free: &CpuSet, count: usize, group: usize) -> Self {
        let order: Vec<usize> = allocator.units.node_order(free).iter().map(|listed| listed.at).collect();
        let free: Vec<i64> = allocator.units.nodes.iter().map(|node| signed(node.free(free))).collect();
        let distinct = free.iter().filter(|free| **free > 0).count();
        let all_free = free.iter().sum::<i64>().try_into().unwrap_or(0);
        let (count, group) = (signed(count), signed(group));
        Self { allocator, order, free, distinct, count, group, steps: 0, looks: 0, all_free }
    }

    fn walk(mut self) -> Walk {
        let groups = |cpus: i64| (cpus - 1) / self.group + 1;
        let all = signed(self.allocator.units.all.len());
        let nodes = signed(self.allocator.units.nodes.len()).max(1);
        let of_node = ((groups(all) - 1) / nodes + 1).max(1);
        let needed = groups(self.count);
        let (fewest, most) = ((needed - 1) / of_node + 1, needed.min(signed(self.distinct)));
        for size in fewest..=most {
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            match self.look(size) {
                Err(Stopped(end)) => return self.ended(end),
                Ok(None) => {}
                Ok(Some(best)) => {
                    let end = if self.is_handed_out(&best) { WalkEnd::Found } else { WalkEnd::Never };
                    return self.ended(end);
                }
            }
        }
        self.ended(WalkEnd::Found)
    }

    const fn ended(&self, end: WalkEnd) -> Walk {
        Walk { steps: self.steps, looks: self.looks, end }
    }

    /// The combination of `size` nodes that the kubelet keeps.
    fn look(&mut self, size: usize) -> Result<Option<Best>, Stopped> {
        let is_lowered = self.allocator.share == NodeShare::Lowered;
        let mut best = Best::default();
        let (mut stopped, mut is_at_zero) = (None, false);
        // The kubelet sees that it is at zero with the next combination.
        let _ = walk(self.order.len(), size, |combination| {
            if best.deviation == Some(0) && (!is_lowered || best.is_in_one_socket) {
                is_at_zero = true;
                return ControlFlow::Break(());
            }
            let offered = match self.offered(combination, is_lowered) {
                Ok(offered) => offered,
                Err(stop) => {
                    stopped = Some(stop);
                    return ControlFlow::Break(());
                }
            };
            let Some((deviation, more)) = offered else { return ControlFlow::Continue(()) };
            let in_one = is_lowered && self.is_in_one_socket(combination);
            let is_better = if is_lowered && in_one != best.is_in_one_socket {
                in_one
            } else {
                best.deviation.is_none_or(|best| deviation < best)
            };
            if is_better {
                best = Best {
                    deviation: Some(deviation),
                    is_in_one_socket: in_one,
                    nodes: combination.to_vec(),
                    more,
                };
            }
            ControlFlow::Continue(())
        });
        if let Some(stop) = stopped {
            return Err(stop);
        }
        if best.deviation.is_none() {
            return Ok(None);
        }
        let walked = if is_at_zero { Walked::OneFurther } else { Walked::ToTheEnd };
        best.nodes = overwritten(best.nodes, self.order.len(), walked);
        Ok(Some(best))
    }

    /// How even a combination leaves the nodes, and which give the rest; `None`: it cannot serve the request.
    fn offered(
        &mut self,
        combination: &[usize],
        is_lowered: bool,
    ) -> Result<Option<(u64, Vec<usize>)>, Stopped> {
        self.step()?;
        // All free CPUs are looked at for each node that is counted: first for the sum,
        let of_combination = combination.len() as u64 * self.all_free;
        self.looks += of_combination;
        let nodes: Vec<usize> = combination.iter().map(|&at| self.order[at]).collect();
        let free = |node: &usize| self.free[*node];
        let mut distinct = nodes.clone();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.iter().map(free).sum::<i64>() < self.count {
            return Ok(None);
        }
        // then for the groups of each,
        self.looks += of_combination;
        let free = |node: &usize| self.free[*node];
        let groups: i64 = nodes.iter().map(|node| free(node) / self.group).sum();
        if groups * self.group < self.count {
            return Ok(None);
        }
        let size = signed(nodes.len());
        let mut share = self.count / size / self.group * self.group;
        if is_lowered {
            share = nodes.iter().map(|node| free(node) / self.group * self.group).fold(share, i64::min);
        }
        // then whether each has its share,
        self.looks += of_combination;
        if nodes.iter().any(|node| self.free[*node] < share) {
            return Ok(None);
        }
        // and then for what is left on every node.
        self.looks += self.distinct as u64 * self.all_free;
        let mut after = self.free.clone();
        for node in &nodes {
            after[*node] -= share;
        }
        let rest = self.count - share * size;
        if rest == 0 {
            return Ok(Some((self.deviation(&after), Vec::new())));
        }
        let givers: Vec<usize> = nodes.into_iter().filter(|node| after[*node] >= self.group).collect();
        self.best_givers(&givers, &after, rest)
    }

    /// The subset of `givers` that leaves the nodes most even.
    fn best_givers(
        &mut self,
        givers: &[usize],
        after: &[i64],
        rest: i64,
    ) -> Result<Option<(u64, Vec<usize>)>, Stopped> {
        let mut best: Option<(u64, Vec<usize>)> = None;
        let mut left = after.to_vec();
        for size in (1..=givers.len()).rev() {
            let mut best_of_size: Option<Vec<usize>> = None;
            let mut stopped = None;
            let _ = walk(givers.len(), size, |subset| {
                if let Err(stop) = self.step() {
                    stopped = Some(stop);
                    return ControlFlow::Break(());
                }
                let nodes: Vec<usize> = subset.iter().map(|&at| givers[at]).collect();
                if nodes.iter().map(|node| after[*node]).sum::<i64>() < rest {
                    return ControlFlow::Continue(());
                }
                left.copy_from_slice(after);
                if !hand_out(&nodes, &mut left, rest, self.group) {
                    stopped = Some(Stopped(WalkEnd::Never));
                    return ControlFlow::Break(());
                }
                let deviation = self.deviation(&left);
                if best.as_ref().is_none_or(|(known, _)| deviation < *known) {
                    best = Some((deviation, Vec::new()));
                    best_of_size = Some(subset.to_vec());
                }
                ControlFlow::Continue(())
            });
            if let Some(stop) = stopped {
                return Err(stop);
            }
            if let (Some((_, more)), Some(subset)) = (&mut best, best_of_size) {
                let kept = overwritten(subset, givers.len(), Walked::ToTheEnd);
                *more = kept.into_iter().map(|at| givers[at]).collect();
            }
        }
        Ok(best)
    }

    /// Whether the rounds in which the rest is taken from the chosen nodes end.
    fn is_handed_out(&self, best: &Best) -> bool {
        let nodes: Vec<usize> = best.nodes.iter().map(|&at| self.order[at]).collect();
        let size = signed(nodes.len()).max(1);
        let mut share = self.count / size / self.group * self.group;
        if self.allocator.share != NodeShare::Even {
            let most = |node: &usize| self.free[*node] / self.group * self.group;
            share = nodes.iter().map(most).fold(share, i64::min);
        }
        let mut left = self.free.clone();
        for node in nodes {
            // A node that has less gives nothing.
            if left[node] >= share {
                left[node] -= share;
            }
        }
        hand_out(&best.more, &mut left, self.count - share * size, self.group)
    }

    fn deviation(&self, left: &[i64]) -> u64 {
        // Nodes without free CPUs are not looked at.
        let there = || left.iter().zip(&self.free).filter(|(_, free)| **free > 0).map(|(left, _)| *left);
        let spread = Spread { count: self.distinct, sum: there().sum() };
        spread.deviation(there().map(|left| left * left).sum())
    }

    fn is_in_one_socket(&self, combination: &[usize]) -> bool {
        let mut sockets = combination.iter().map(|&at| self.allocator.units.socket_of_node(self.order[at]));
        let first = sockets.next().flatten();
        first.is_some() && sockets.all(|socket| socket == first)
    }

    fn step(&mut self) -> Result<(), Stopped> {
        self.steps += 1;
        if self.steps > Walk::MOST { Err(Stopped(WalkEnd::Cut)) } else { Ok(()) }
    }
}

/// Takes `rest` from the nodes, one group of each in turn; whether that ends.
fn hand_out(nodes: &[usize], left: &mut [i64], mut rest: i64, group: i64) -> bool {
    while rest > 0 {
        let before = rest;
        for &node in nodes {
            if rest > 0 && left[node] >= group {
                left[node] -= group;
                rest -= group;
            }
        }
        if rest == before {
            return false;
        }
    }
    true
}

/// A number of CPUs, of which there are at most 8192 in any set.
fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
