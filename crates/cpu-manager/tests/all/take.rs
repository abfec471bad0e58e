//! Which CPUs are taken, against an obvious implementation and against known answers.

use std::collections::BTreeSet;

use crate::machines::{hybrid, irregular, machine, set};
use cpu_manager::{Allocator, BusySibling, Order, TakeError, WholeCores};
use cpuset::{CpuId, CpuSet};
use proptest::prelude::*;
use topology_model::{CpuRow, CpuTable};

fn take(cpus: &CpuTable, order: Order, busy: BusySibling, free: &str, count: usize) -> String {
    let allocator = Allocator::new(cpus).with_order(order).with_busy_sibling(busy);
    match allocator.take(&set(free), count) {
        Ok(cpus) => cpus.to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn each_order_has_its_own_shape() {
    // 2 sockets, a node each, 2 caches of 2 cores: CPUs 0-7, siblings 8-15.
    let plain = machine(2, 1, 2, 2);
    let four_nodes = machine(2, 2, 1, 2);
    for (cpus, order, free, count, expected) in [
        (&plain, Order::Packed, "0-15", 1, "0"),
        (&plain, Order::Packed, "0-15", 2, "0,8"),
        (&plain, Order::Packed, "0-15", 8, "0-3,8-11"),
        (&plain, Order::Packed, "1-15", 8, "4-7,12-15"),
        (&plain, Order::Packed, "1-15", 9, "4-8,12-15"),
        (&plain, Order::Packed, "1-15", 1, "8"),
        (&plain, Order::Packed, "0-15", 0, ""),
        // Four CPUs of the broken socket: from one cache, or the first whole cores. Three fit the broken cache.
        (&plain, Order::ByCache, "1-15", 4, "2-3,10-11"),
        (&plain, Order::Packed, "1-15", 4, "1-2,9-10"),
        (&plain, Order::ByCache, "1-15", 3, "1,8-9"),
        // Spread in ascending order, which takes no siblings where they are far apart.
        (&plain, Order::AcrossCores, "0-15", 3, "0-2"),
        (&plain, Order::AcrossCores, "0-15", 9, "0-4,8-11"),
        // Equal shares, but of as few nodes as can give them.
        (&plain, Order::AcrossNodes, "0-15", 4, "0-1,8-9"),
        (&plain, Order::AcrossNodes, "0-15", 9, "0-2,4-5,8-9,12-13"),
        (&plain, Order::AcrossNodes, "0-15", 10, "0-2,4-6,8-9,12-13"),
        // Sockets of two nodes: sockets before nodes.
        (&four_nodes, Order::Packed, "0-15", 8, "0-3,8-11"),
        (&four_nodes, Order::Packed, "1-15", 4, "2-3,10-11"),
        (&four_nodes, Order::Packed, "1-15", 5, "2-3,8,10-11"),
        (
            &plain,
            Order::Packed,
            "0-3",
            5,
            "not enough cpus available to satisfy request: requested=5, available=4",
        ),
        (
            &plain,
            Order::AcrossNodes,
            "3",
            2,
            "not enough cpus available to satisfy request: requested=2, available=1",
        ),
        // CPUs that the machine lacks are counted in the text, as upstream, and never taken.
        (
            &plain,
            Order::Packed,
            "0,99",
            2,
            "not enough cpus available to satisfy request: requested=2, available=2",
        ),
    ] {
        let taken = take(cpus, order, BusySibling::Skip, free, count);
        assert_eq!(taken, expected, "{count} of {free}, {order:?}");
    }
}

#[test]
fn busy_sibling_is_handed_out_by_the_kubelet_alone() {
    for (free, count, kubelet, product) in
        [("0-3,5,7,10-11", 3, "4-5,10", "5,7,10"), ("1-11", 4, "0-1,8-9", "1,8-10"), ("1-7", 3, "0-2", "1-3")]
    {
        assert_eq!(take(&hybrid(), Order::Packed, BusySibling::HandOut, free, count), kubelet, "of {free}");
        assert_eq!(take(&hybrid(), Order::Packed, BusySibling::Skip, free, count), product, "of {free}");
    }
}

/// The packed order of the kubelet, CPU by CPU.
struct Obvious<'a> {
    cpus: &'a CpuTable,
    free: BTreeSet<CpuId>,
    taken: BTreeSet<CpuId>,
    need: usize,
}

type UnitOf = fn(&CpuRow) -> i64;
const NODE: UnitOf = |row| row.node.0;
const SOCKET: UnitOf = |row| row.socket.0;
const CORE: UnitOf = |row| row.core.0;

impl Obvious<'_> {
    fn members(&self, unit: UnitOf, id: i64) -> Vec<CpuId> {
        self.cpus.rows().filter(|row| unit(row) == id).map(|row| row.cpu).collect()
    }

    fn free_in(&self, unit: UnitOf, id: i64) -> usize {
        self.members(unit, id).iter().filter(|cpu| self.free.contains(cpu)).count()
    }

    fn sorted(&self, unit: UnitOf, of: impl Fn(&CpuRow) -> bool) -> Vec<i64> {
        let here = self.cpus.rows().filter(|row| self.free.contains(&row.cpu) && of(row));
        let ids: BTreeSet<i64> = here.map(unit).collect();
        let mut ids: Vec<_> = ids.into_iter().collect();
        ids.sort_by_key(|id| self.free_in(unit, *id));
        ids
    }

    fn order(&self, unit: UnitOf, outer: Option<(UnitOf, Vec<i64>)>) -> Vec<i64> {
        match outer {
            None => self.sorted(unit, |_| true),
            Some((of, ids)) => ids.iter().flat_map(|id| self.sorted(unit, |row| of(row) == *id)).collect(),
        }
    }

    fn take_full(&mut self, unit: UnitOf, order: &[i64], whole: impl Fn(&Self, i64) -> usize) {
        let free: Vec<_> =
            order.iter().copied().filter(|id| self.free_in(unit, *id) == whole(self, *id)).collect();
        for id in free {
            let members = self.members(unit, id);
            if self.need >= members.len() {
                self.need -= members.len();
                for cpu in members {
                    self.free.remove(&cpu);
                    self.taken.insert(cpu);
                }
            }
        }
    }

    fn run(mut self) -> BTreeSet<CpuId> {
        let nodes_first = self.cpus.num_sockets() >= self.cpus.num_nodes();
        let (small, large) = if nodes_first { (NODE, SOCKET) } else { (SOCKET, NODE) };
        let (per_socket, per_core) = (self.cpus.cpus_per_socket(), self.cpus.cpus_per_core());
        let of_small = |it: &Self| it.order(small, None);
        let of_large = |it: &Self| it.order(large, Some((small, of_small(it))));
        let of_core = |it: &Self| it.order(CORE, Some((large, of_large(it))));
        let whole = move |is_node: bool| {
            move |it: &Self, id| if is_node { it.members(NODE, id).len() } else { per_socket }
        };
        self.take_full(small, &of_small(&self), whole(nodes_first));
        self.take_full(large, &of_large(&self), whole(!nodes_first));
        self.take_full(CORE, &of_core(&self), |_, _| per_core);
        let free = self.free.clone();
        for core in of_core(&self) {
            for cpu in self.members(CORE, core).into_iter().filter(|cpu| free.contains(cpu)) {
                if self.need > 0 {
                    self.need -= 1;
                    self.taken.insert(cpu);
                }
            }
        }
        self.taken
    }
}

/// Up to ten cores of one to three threads, scattered over sockets, nodes and caches without regard to each other.
fn any_machine() -> impl Strategy<Value = CpuTable> {
    prop::collection::vec((0..3_i64, 0..4_i64, 0..3_i64, 1..=3_usize), 1..10).prop_map(|cores| {
        let mut next = 0..;
        let cores: Vec<_> = cores
            .into_iter()
            .map(|(socket, node, cache, threads)| {
                (socket, node, cache, next.by_ref().take(threads).collect::<Vec<usize>>())
            })
            .collect();
        let cores: Vec<_> = cores.iter().map(|(s, n, c, cpus)| (*s, *n, *c, cpus.as_slice())).collect();
        irregular(&cores)
    })
}

fn any_request() -> impl Strategy<Value = (CpuTable, CpuSet, usize)> {
    (any_machine(), any::<u32>(), 0..16_usize).prop_map(|(cpus, free, count)| {
        let free = cpus.all().iter().filter(|cpu| free & (1 << (cpu.get() % 32)) != 0).collect();
        (cpus, free, count)
    })
}

proptest! {
    #[test]
    fn packed_is_the_obvious_order((cpus, free, count) in any_request()) {
        let allocator = Allocator::new(&cpus).with_busy_sibling(BusySibling::HandOut);
        let taken = allocator.take(&free, count);
        if count > free.len() {
            prop_assert_eq!(taken, Err(TakeError::NotEnough { requested: count, available: free.len() }));
        } else {
            let obvious = Obvious { cpus: &cpus, free: free.iter().collect(), taken: BTreeSet::new(), need: count };
            prop_assert_eq!(taken, Ok(obvious.run().into_iter().collect()));
        }
    }

    #[test]
    fn product_differs_only_where_the_kubelet_errs((cpus, free, count) in any_request()) {
        for order in [Order::Packed, Order::ByCache, Order::AcrossCores] {
            let take = |busy| Allocator::new(&cpus).with_order(order).with_busy_sibling(busy).take(&free, count);
            let product = take(BusySibling::Skip);
            if count <= free.len() {
                let product = product.clone().unwrap();
                prop_assert!(product.is_subset(&free), "{} of {}", product, free);
                prop_assert_eq!(product.len(), count);
            }
            match take(BusySibling::HandOut) {
                Ok(kubelet) if !kubelet.is_subset(&free) || kubelet.len() != count => {}
                kubelet => prop_assert_eq!(kubelet, product),
            }
        }
    }

    #[test]
    fn shares_of_nodes_are_free((cpus, free, count) in any_request(), whole in any::<bool>()) {
        let whole = if whole { WholeCores::Required } else { WholeCores::NotRequired };
        let taken = Allocator::new(&cpus).with_order(Order::AcrossNodes).with_whole_cores(whole).take(&free, count);
        if let Ok(taken) = taken {
            prop_assert!(taken.is_subset(&free));
            prop_assert_eq!(taken.len(), count);
        }
    }
}
