//! CPUs that leave caches whole, against a look at all sets of CPUs.

use crate::machines::{machine, set};
use crate::pods::{pod, policy};
use cpu_manager::{Allocator, Config, Fit, Holdings, Order};
use cpuset::{CpuId, CpuSet};
use pod_spec::Role;
use proptest::prelude::*;
use topology_hint::Affinity;
use topology_model::CpuTable;

fn allocator(cpus: &CpuTable, order: Order, fit: Fit) -> Allocator {
    Allocator::new(cpus).with_order(order).with_fit(fit)
}

/// One node of four caches of two two-thread cores: caches 0-1,8-9 and 2-3,10-11 and so on, of cores 0,8 and 1,9.
#[test]
fn a_request_goes_to_the_broken_cache_with_the_fewest_free_cpus_that_holds_it() {
    let cpus = machine(1, 1, 4, 2);
    for (free, count, first, best) in [
        // All are whole.
        ("0-15", 2, "0,8", "0,8"),
        // The second is broken already.
        ("0-2,8-10,4-7,12-15", 1, "0", "2"),
        ("0-2,8-10,4-7,12-15", 2, "0,8", "2,10"),
        // The third has fewer free CPUs than the second, and a core for it.
        ("0-3,8-10,4,12", 2, "0,8", "4,12"),
        ("0-3,8-10,4,12", 3, "0,3,8", "2-3,10"),
        // Two threads of two cores hold two CPUs, but no core.
        ("0-1,8-9,2-3", 2, "0,8", "0,8"),
        ("0-1,8-9,2-3", 1, "2", "2"),
        // Two broken ones and no whole one, but never more caches than the kubelet takes.
        ("2-3,10-11,0,8,4,12", 4, "0,2,8,10", "0,4,8,12"),
        ("0-3,8-11,4,12,6,14", 4, "0-1,8-9", "0-1,8-9"),
        // A whole cache, and the rest of the tightest.
        ("0-3,8-11,4-5,12,6,14", 6, "0-2,8-10", "0-1,6,8-9,14"),
    ] {
        let free = set(free);
        for order in [Order::Packed, Order::AcrossNodes] {
            let taken = |fit| allocator(&cpus, order, fit).take(&free, count).map(|cpus| cpus.to_string());
            assert_eq!(taken(Fit::First), Ok(first.to_owned()), "{count} of {free}, the kubelet");
            assert_eq!(taken(Fit::Best), Ok(best.to_owned()), "{count} of {free}, {order:?}");
        }
        let spread = |fit| allocator(&cpus, Order::AcrossCores, fit).take(&free, count);
        assert_eq!(spread(Fit::Best), spread(Fit::First), "CPUs that are spread stay so");
    }
}

#[test]
fn where_one_cache_is_preferred_it_stays_one() {
    let cpus = machine(1, 1, 4, 2);
    for (free, count, first, best) in [
        ("2-3,10-11,0,8,4,12", 4, "2-3,10-11", "2-3,10-11"),
        ("0-3,8-10,4,12", 2, "4,12", "4,12"),
        // The kubelet passes a cache over whose first core is half busy.
        ("0-3,8-11,4-5,13", 2, "0,8", "5,13"),
    ] {
        let free = set(free);
        let taken =
            |fit| allocator(&cpus, Order::ByCache, fit).take(&free, count).map(|cpus| cpus.to_string());
        assert_eq!(taken(Fit::First), Ok(first.to_owned()), "{count} of {free}, the kubelet");
        assert_eq!(taken(Fit::Best), Ok(best.to_owned()), "{count} of {free}");
    }
}

#[test]
fn app_containers_get_what_their_init_container_had() {
    let free = set("0-2,8-10,4-7,12-15");
    let of = |fit: Fit, init: &str, app: &str| {
        let policy = policy(&machine(1, 1, 4, 2), Config { fit, ..Config::default() });
        let pod = pod("p", &[("init", Role::Init, init), ("app", Role::App, app)]);
        let mut held = Holdings::new(free.clone(), []);
        for container in &pod.containers {
            held = policy.allocate(&held, &pod, container, Affinity::Any).unwrap().after;
        }
        held.of_pod(&pod.uid).map(|(name, cpus)| format!("{name} {cpus}")).collect::<Vec<_>>().join(", ")
    };
    for (init, app, expected) in [
        ("2", "4", "app 0-1,8-9, init 0,8"),
        ("4", "2", "app 0,8, init 0-1,8-9"),
        // Without exclusive CPUs it lends none.
        ("500m", "2", "app 2,10"),
    ] {
        assert_eq!(of(Fit::Best, init, app), expected, "{init} and {app}");
    }
    assert_eq!(of(Fit::First, "2", "4"), of(Fit::Best, "2", "4"));
}

/// What the rule looks at: whole caches that are broken, caches, whole cores that are broken, and CPUs left in the caches.
type Cost = (usize, usize, usize, usize);

struct Machine {
    cpus: CpuTable,
    /// By node.
    nodes: Vec<CpuSet>,
    caches: Vec<CpuSet>,
    cores: Vec<CpuSet>,
}

impl Machine {
    fn new(nodes: usize, caches: usize, cores: usize, threads: usize) -> Self {
        let cpus = if threads == 2 {
            machine(nodes, 1, caches, cores)
        } else {
            // Half of the threads are offline, so that each core has one.
            let all = machine(nodes, 1, caches, cores);
            let half = all.all().len() / 2;
            let rows: Vec<_> = all.rows().filter(|row| row.cpu.get() < half).copied().collect();
            CpuTable::from_rows(
                topology_model::CpuCounts { cpus: half, cores: half, sockets: all.num_sockets() },
                rows,
            )
        };
        let own = |sets: Vec<&CpuSet>| sets.into_iter().cloned().collect();
        Self {
            nodes: own(cpus.nodes().map(|(_, cpus)| cpus).collect()),
            caches: own(cpus.caches().map(|(_, cpus)| cpus).collect()),
            cores: own(cpus.cores().map(|(_, cpus)| cpus).collect()),
            cpus,
        }
    }

    fn whole_cores(&self, taken: &CpuSet) -> usize {
        self.cores.iter().filter(|core| core.is_subset(taken)).count()
    }

    fn cost(&self, taken: &CpuSet, free: &CpuSet) -> Cost {
        let touched = || self.caches.iter().filter(|cache| !cache.is_disjoint(taken));
        let is_broken =
            |core: &&CpuSet| core.is_subset(free) && !core.is_disjoint(taken) && !core.is_subset(taken);
        (
            touched().filter(|cache| cache.is_subset(free)).count(),
            touched().count(),
            self.cores.iter().filter(is_broken).count(),
            touched().map(|cache| (cache & &(free - taken)).len()).sum(),
        )
    }

    /// The least cost of as many CPUs of `free`, which has those of one node only, that are no worse than `theirs`.
    fn least(&self, free: &CpuSet, theirs: &CpuSet) -> Option<Cost> {
        let free_cpus: Vec<CpuId> = free.iter().collect();
        let (caches, cores) = (self.cost(theirs, free).1, self.whole_cores(theirs));
        let sets = (0..1_u32 << free_cpus.len()).filter(|bits| bits.count_ones() as usize == theirs.len());
        let sets = sets.map(|bits| {
            let chosen = free_cpus.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
            chosen.map(|(_, cpu)| *cpu).collect::<CpuSet>()
        });
        let as_good = sets.filter(|set| self.whole_cores(set) >= cores);
        as_good.map(|set| self.cost(&set, free)).filter(|cost| cost.1 <= caches).min()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_cpus_leave_more_whole(
        shape in prop::sample::select(vec![(1, 3, 2, 2), (2, 3, 2, 2), (1, 4, 3, 1), (2, 4, 3, 1), (1, 6, 1, 2)]),
        order in prop::sample::select(vec![Order::Packed, Order::ByCache, Order::AcrossNodes]),
        taken in any::<u32>(),
        sparse in any::<u32>(),
        count in 1..14_usize,
    ) {
        let machine = Machine::new(shape.0, shape.1, shape.2, shape.3);
        let held = taken & sparse;
        let free: CpuSet = machine.cpus.all().iter().filter(|cpu| held >> cpu.get() & 1 == 0).collect();
        let take = |fit| allocator(&machine.cpus, order, fit).take(&free, count);
        let (Ok(theirs), Ok(ours)) = (take(Fit::First), take(Fit::Best)) else {
            prop_assert_eq!(take(Fit::First), take(Fit::Best), "an error");
            return Ok(());
        };
        prop_assert_eq!(ours.len(), count);
        prop_assert!(ours.is_subset(&free));
        prop_assert!(machine.whole_cores(&ours) >= machine.whole_cores(&theirs));
        for node in &machine.nodes {
            let (ours, theirs, free) = (&ours & node, &theirs & node, &free & node);
            prop_assert_eq!(ours.len(), theirs.len(), "as many of each node");
            // What a node gives in two steps is the best in each.
            if order != Order::AcrossNodes || shape.0 == 1 {
                let least = machine.least(&free, &theirs);
                prop_assert_eq!(Some(machine.cost(&ours, &free)), least, "{} of {}, theirs {}", ours, free, theirs);
            }
        }
    }
}
