//! Shares of nodes, against the kubelet's walk over all combinations.

use std::ops::ControlFlow;

use cpu_manager::{Alignment, Allocator, BusySibling, Order, TakeError, WholeCores};
use cpuset::CpuSet;
use kubelet_release::AlignedShare;
use proptest::prelude::*;
use topology_model::{CpuTable, NodeId};

use crate::machines::{irregular, machine, set};

/// What the kubelet would take; `None` where it never ends.
fn walked(cpus: &CpuTable, free: &CpuSet, count: usize, group: usize) -> Option<Result<CpuSet, TakeError>> {
    walked_by((AlignedShare::Even, Alignment::ByNode), cpus, free, count, group)
}

/// The same with a release's rule and an alignment.
type Rule = (AlignedShare, Alignment);

fn walked_by(
    rule: Rule,
    cpus: &CpuTable,
    free: &CpuSet,
    count: usize,
    group: usize,
) -> Option<Result<CpuSet, TakeError>> {
    let packed = Allocator::new(cpus).with_busy_sibling(BusySibling::HandOut);
    if !count.is_multiple_of(group) || count == 0 || count > free.len() {
        return Some(packed.take(free, count));
    }
    let order = order(cpus, free);
    let mut walk = Walk { rule, cpus, free: free.clone(), order, count, group, hangs: false };
    let groups_of_node = cpus.num_cpus().div_ceil(group).div_ceil(cpus.num_nodes());
    let groups = count.div_ceil(group);
    let mut distinct = walk.order.clone();
    distinct.sort_unstable();
    distinct.dedup();
    for size in groups.div_ceil(groups_of_node)..=groups.min(distinct.len()) {
        let best = walk.best(size);
        if walk.hangs {
            return None;
        }
        if let Some((nodes, more)) = best {
            return Some(walk.hand_out(&packed, &nodes, &more));
        }
    }
    Some(packed.take(free, count))
}

/// The nodes in the kubelet's order, with repetitions.
fn order(cpus: &CpuTable, free: &CpuSet) -> Vec<NodeId> {
    let sorted = |of: &CpuSet| {
        let mut nodes: Vec<_> = cpus
            .nodes()
            .filter(|(_, node)| node.iter().any(|cpu| of.contains(cpu) && free.contains(cpu)))
            .map(|(id, node)| (node.intersection_len(free), id))
            .collect();
        nodes.sort_unstable();
        nodes.into_iter().map(|(_, id)| id).collect::<Vec<_>>()
    };
    if cpus.num_sockets() >= cpus.num_nodes() {
        return sorted(cpus.all());
    }
    let mut sockets: Vec<_> = cpus.sockets().collect();
    sockets.sort_by_key(|(id, socket)| (socket.intersection_len(free), *id));
    sockets.into_iter().flat_map(|(_, socket)| sorted(socket)).collect()
}

struct Walk<'a> {
    rule: Rule,
    cpus: &'a CpuTable,
    free: CpuSet,
    order: Vec<NodeId>,
    count: usize,
    group: usize,
    hangs: bool,
}

/// A Go slice of positions that is kept while the walk goes on appending to its array.
#[derive(Default)]
struct Slice {
    kept: Vec<usize>,
    is_over: bool,
}

impl Slice {
    fn pass(&mut self, combination: &[usize]) {
        // Capacities are 1, 2, 4, 8, …: an array is new at its 1st, 2nd, 3rd, 5th, 9th, … element.
        let own = (1..=combination.len()).filter(|len| *len == 1 || (len - 1).is_power_of_two()).max();
        let own = own.unwrap_or(0);
        if !self.is_over && self.kept.len() == combination.len() && self.kept[..own] == combination[..own] {
            self.kept = combination.to_vec();
        }
    }
}

fn combinations(count: usize, size: usize, mut visit: impl FnMut(&[usize]) -> ControlFlow<()>) {
    fn go(
        from: usize,
        count: usize,
        size: usize,
        chosen: &mut Vec<usize>,
        visit: &mut dyn FnMut(&[usize]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if chosen.len() == size {
            return visit(chosen);
        }
        for at in from..count {
            chosen.push(at);
            go(at + 1, count, size, chosen, visit)?;
            chosen.pop();
        }
        ControlFlow::Continue(())
    }
    let _ = go(0, count, size, &mut Vec::new(), &mut visit);
}

/// In thousandths, as the kubelet computes it.
fn deviation(values: &[i64]) -> i64 {
    let round = |value: f64| (value * 1000.0).round() / 1000.0;
    let count = f64::from(u32::try_from(values.len()).unwrap());
    let values: Vec<f64> = values.iter().map(|value| f64::from(i32::try_from(*value).unwrap())).collect();
    let mean = round(values.iter().sum::<f64>() / count);
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    #[expect(clippy::cast_possible_truncation, reason = "a few hundred thousand at most")]
    let rounded = (round((squares / count).sqrt()) * 1000.0).round() as i64;
    rounded
}

impl Walk<'_> {
    fn node(&self, id: NodeId) -> &CpuSet {
        self.cpus.nodes().find(|(it, _)| *it == id).unwrap().1
    }

    fn free_in(&self, id: NodeId) -> i64 {
        i64::try_from(self.node(id).intersection_len(&self.free)).unwrap()
    }

    fn best(&mut self, size: usize) -> Option<(Vec<NodeId>, Vec<NodeId>)> {
        let mut kept = Slice::default();
        let (mut best, mut more, mut is_one) = (i64::MAX, Vec::new(), false);
        combinations(self.order.len(), size, |combination| {
            kept.pass(combination);
            if best == 0 && (is_one || !self.is_by_socket()) {
                return ControlFlow::Break(());
            }
            let nodes: Vec<_> = combination.iter().map(|&at| self.order[at]).collect();
            let here = self.is_by_socket() && self.is_one_socket(&nodes);
            if let Some((balance, subset)) = self.balance(&nodes)
                && (if here == is_one { balance < best } else { here })
            {
                (best, more, is_one) = (balance, subset, here);
                kept.kept = combination.to_vec();
            }
            if self.hangs { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        (best < i64::MAX).then(|| (kept.kept.iter().map(|&at| self.order[at]).collect(), more))
    }

    fn is_by_socket(&self) -> bool {
        self.rule == (AlignedShare::Lowered, Alignment::BySocket)
    }

    fn is_one_socket(&self, nodes: &[NodeId]) -> bool {
        let meets = |socket: &CpuSet| nodes.iter().any(|id| !self.node(*id).is_disjoint(socket));
        self.cpus.sockets().filter(|(_, socket)| meets(socket)).count() == 1
    }

    /// What the poorest of some nodes has in whole groups, if that is less than `share`.
    fn lowered(&self, share: usize, nodes: &[NodeId]) -> usize {
        let most = |id: &NodeId| self.node(*id).intersection_len(&self.free) / self.group * self.group;
        nodes.iter().map(most).fold(share, usize::min)
    }

    fn balance(&mut self, nodes: &[NodeId]) -> Option<(i64, Vec<NodeId>)> {
        let (count, group) = (i64::try_from(self.count).unwrap(), i64::try_from(self.group).unwrap());
        let together = nodes.iter().fold(CpuSet::new(), |all, id| &all | &(self.node(*id) & &self.free));
        let whole: i64 = nodes.iter().map(|id| self.free_in(*id) / group * group).sum();
        let sharers = i64::try_from(nodes.len()).unwrap();
        let mut share = count / sharers / group * group;
        if self.is_by_socket() {
            share = i64::try_from(self.lowered(usize::try_from(share).unwrap(), nodes)).unwrap();
        }
        let is_short = i64::try_from(together.len()).unwrap() < count || whole < count;
        if is_short || nodes.iter().any(|id| self.free_in(*id) < share) {
            return None;
        }
        let mut after: Vec<(NodeId, i64)> = Vec::new();
        for id in &self.order {
            if after.iter().all(|(it, _)| it != id) {
                after.push((*id, self.free_in(*id)));
            }
        }
        let left = |after: &[(NodeId, i64)], id: NodeId| after.iter().find(|(it, _)| *it == id).unwrap().1;
        let give = |after: &mut Vec<(NodeId, i64)>, id: NodeId, cpus: i64| {
            after.iter_mut().find(|(it, _)| *it == id).unwrap().1 -= cpus;
        };
        let spread =
            |after: &[(NodeId, i64)]| deviation(&after.iter().map(|(_, left)| *left).collect::<Vec<_>>());
        for id in nodes {
            give(&mut after, *id, share);
        }
        let rest = count - share * sharers;
        if rest == 0 {
            return Some((spread(&after), Vec::new()));
        }
        let givers: Vec<_> = nodes.iter().copied().filter(|id| left(&after, *id) >= group).collect();
        let (mut best, mut kept) = (i64::MAX, Slice::default());
        let mut hangs = false;
        for size in (1..=givers.len()).rev() {
            kept.is_over = true;
            let mut here = Slice::default();
            combinations(givers.len(), size, |subset| {
                here.pass(subset);
                if subset.iter().map(|&at| left(&after, givers[at])).sum::<i64>() < rest {
                    return ControlFlow::Continue(());
                }
                let (mut after, mut rest) = (after.clone(), rest);
                while rest > 0 {
                    let before = rest;
                    for &at in subset {
                        if rest > 0 && left(&after, givers[at]) >= group {
                            give(&mut after, givers[at], group);
                            rest -= group;
                        }
                    }
                    if rest == before {
                        hangs = true;
                        return ControlFlow::Break(());
                    }
                }
                if spread(&after) < best {
                    best = spread(&after);
                    here.kept = subset.to_vec();
                }
                ControlFlow::Continue(())
            });
            if !here.kept.is_empty() {
                kept = here;
            }
        }
        // Without a subset a combination in one socket is kept all the same, and handing out never ends.
        self.hangs |= hangs || (best == i64::MAX && self.is_by_socket() && self.is_one_socket(nodes));
        (best < i64::MAX).then(|| (best, kept.kept.iter().map(|&at| givers[at]).collect()))
    }

    fn hand_out(&self, packed: &Allocator, nodes: &[NodeId], more: &[NodeId]) -> Result<CpuSet, TakeError> {
        let (mut free, mut taken) = (self.free.clone(), CpuSet::new());
        let mut need = i64::try_from(self.count).unwrap();
        let mut share = self.count / nodes.len() / self.group * self.group;
        if self.rule.0 == AlignedShare::Lowered {
            share = self.lowered(share, nodes);
        }
        let mut rest = self.count - share * nodes.len();
        let mut give = |id: NodeId, cpus: usize| {
            let here = self.node(id) & &free;
            if let Ok(given) = packed.take(&here, cpus) {
                need -= i64::try_from(given.len()).unwrap();
                free -= &given;
                taken |= &given;
            }
            here.len() >= cpus
        };
        for id in nodes {
            give(*id, share);
        }
        while rest > 0 {
            let before = rest;
            for id in more {
                if rest > 0 && give(*id, self.group) {
                    rest -= self.group;
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

/// Up to eight nodes of up to six two-thread cores, in one to four sockets without regard to the nodes.
fn any_request() -> impl Strategy<Value = (CpuTable, CpuSet, usize)> {
    let nodes = (1..=4_i64, 1..=8_i64, any::<bool>(), prop::collection::vec(any::<u8>(), 8));
    (nodes, any::<u128>(), 0..100_usize, 2..=6_i64).prop_map(
        |((sockets, nodes, is_nested, size), busy, percent, cores)| {
            let mut next = 0..;
            let mut all = Vec::new();
            for node in 0..nodes {
                let size_of = i64::from(size[usize::try_from(node).unwrap()]) % 2 * (cores / 2);
                for core in 0..cores - size_of {
                    let socket = if is_nested { node * sockets / nodes } else { core % sockets };
                    all.push((socket, node, node, next.by_ref().take(2).collect::<Vec<usize>>()));
                }
            }
            let all: Vec<_> = all.iter().map(|(s, n, c, cpus)| (*s, *n, *c, cpus.as_slice())).collect();
            let cpus = irregular(&all);
            let free: CpuSet =
                cpus.all().iter().filter(|cpu| busy & (1 << (cpu.get() * 5 % 127)) == 0).collect();
            let count = free.len() * percent / 100;
            (cpus, free, count)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn shares_are_those_of_the_walk((cpus, free, count) in any_request(), whole in any::<bool>()) {
        let whole = if whole { WholeCores::Required } else { WholeCores::NotRequired };
        let group = if whole == WholeCores::Required { cpus.cpus_per_core() } else { 1 };
        if let Some(walked) = walked(&cpus, &free, count, group) {
            let allocator = Allocator::new(&cpus).with_order(Order::AcrossNodes).with_whole_cores(whole).with_busy_sibling(BusySibling::HandOut);
            prop_assert_eq!(allocator.take(&free, count), walked, "{} of {}", count, free);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn lowered_shares_are_those_of_the_walk(
        (cpus, free, count) in any_request(),
        whole in any::<bool>(),
        is_by_socket in any::<bool>(),
    ) {
        let whole = if whole { WholeCores::Required } else { WholeCores::NotRequired };
        let group = if whole == WholeCores::Required { cpus.cpus_per_core() } else { 1 };
        let alignment = if is_by_socket { Alignment::BySocket } else { Alignment::ByNode };
        if let Some(walked) = walked_by((AlignedShare::Lowered, alignment), &cpus, &free, count, group) {
            let allocator = Allocator::new(&cpus).with_order(Order::AcrossNodes).with_whole_cores(whole).with_busy_sibling(BusySibling::HandOut);
            let allocator = allocator.with_share(AlignedShare::Lowered, alignment);
            prop_assert_eq!(allocator.take(&free, count), walked, "{} of {}", count, free);
        }
    }
}

/// Sockets of two nodes of three CPUs each.
#[test]
fn combinations_in_one_socket_come_first() {
    let cores: Vec<_> = (0..24).map(|cpu| (cpu / 6, cpu / 3, cpu, [usize::try_from(cpu).unwrap()])).collect();
    let cores: Vec<_> = cores.iter().map(|(s, n, c, cpus)| (*s, *n, *c, &cpus[..])).collect();
    let cpus = irregular(&cores);
    let free = cpus.all() - &set("0,3-5,10,15,18-19");
    let allocator = Allocator::new(&cpus)
        .with_order(Order::AcrossNodes)
        .with_whole_cores(WholeCores::Required)
        .with_busy_sibling(BusySibling::HandOut);
    let take = |rule| {
        let allocator = allocator.clone().with_share(rule, Alignment::BySocket);
        allocator.take(&free, 4).map(|cpus| cpus.to_string())
    };
    assert_eq!(take(AlignedShare::Even), Ok("6-7,21-22".to_owned()));
    assert_eq!(take(AlignedShare::Lowered), Ok("6-7,9,11".to_owned()));
}

#[test]
fn subset_without_whole_groups_ends() {
    // 4 nodes of 4 cores, a thread of each node reserved: enough CPUs in any two nodes, not enough whole cores.
    let cpus = machine(2, 2, 1, 4);
    let allocator =
        Allocator::new(&cpus).with_order(Order::AcrossNodes).with_whole_cores(WholeCores::Required);
    let free = cpus.all() - &set("0,4,8,12");
    assert_eq!(walked(&cpus, &free, 22, 2), None, "the kubelet hangs");
    assert_eq!(allocator.take(&free, 22).map(|cpus| cpus.len()), Ok(22));
}

#[test]
fn sharing_over_many_nodes_ends() {
    let cpus = machine(2, 16, 1, 8);
    let allocator = Allocator::new(&cpus).with_order(Order::AcrossNodes);
    let free = &(cpus.all() - &set("0"));
    assert_eq!(allocator.take(free, 301).map(|cpus| cpus.len()), Ok(301));
    let allocator = allocator.with_share(AlignedShare::Lowered, Alignment::BySocket);
    assert_eq!(allocator.take(free, 301).map(|cpus| cpus.len()), Ok(301));
}

/// 64 nodes with many numbers of free CPUs.
#[test]
fn a_cut_search_is_reported() {
    let cpus = machine(2, 32, 1, 16);
    let free_of = |(node, (_, cpus)): (usize, (NodeId, &CpuSet))| -> Vec<_> {
        cpus.iter().skip(node * node * 7 % 13).collect()
    };
    let free: CpuSet = cpus.nodes().enumerate().flat_map(free_of).collect();
    let allocator = Allocator::new(&cpus).with_order(Order::AcrossNodes);
    let taken = allocator.search(&free, 1000).unwrap();
    assert!(taken.is_cut());
    let taken = taken.into_inner();
    assert!(taken.is_subset(&free) && taken.len() == 1000, "{taken}");
    assert!(!allocator.search(&free, 100).unwrap().is_cut());
}
