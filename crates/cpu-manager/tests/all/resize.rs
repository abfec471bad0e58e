//! Which CPUs a container that runs gets in addition.

use cpu_manager::{
    CacheAlignment, Config, Fit, Granted, Holdings, Options, Order, Reserved, Static, WholeCores,
};
use cpuset::{CpuId, CpuSet};
use numa_bitmask::NodeMask;
use pod_spec::{ContainerName, PodUid, Role};
use proptest::prelude::*;
use topology_hint::Affinity;

use crate::machines::{machine, set};
use crate::pods::{pod, policy};

/// A node of three caches of three two-thread cores: its caches are 0-2,9-11, 3-5,12-14 and 6-8,15-17.
fn node(config: Config) -> Static {
    policy(&machine(1, 1, 3, 3), config)
}

/// All CPUs after a container that has `own` asks for `count`.
fn grown(policy: &Static, own: &str, free: &str, count: &str) -> String {
    grown_near(policy, own, free, count, Affinity::Any)
}

fn grown_near(policy: &Static, own: &str, free: &str, count: &str, affinity: Affinity) -> String {
    let app = (PodUid::new("p"), ContainerName::new("app"), set(own));
    let mut held = Holdings::new(&set(free) | policy.reserved(), [app]);
    let pod = pod("p", &[("app", Role::App, count)]);
    policy.begin_resize(&mut held, &pod).unwrap();
    match policy.allocate_in(&mut held, &pod, &pod.containers[0], affinity).granted {
        Ok(Granted::Exclusive(cpus)) => cpus.to_string(),
        Ok(Granted::SharedPool(why)) => why.to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn caches_of_the_container_come_first_where_caches_matter() {
    let reserved = || Reserved::cpus(set("0"));
    let by_cache = Options { order: Order::ByCache, ..Options::default() };
    let required = CacheAlignment::Required;
    let [plain, aligned, tight, whole] = [
        Config { reserved: reserved(), ..Config::default() },
        Config { reserved: reserved(), options: by_cache, ..Config::default() },
        Config { reserved: reserved(), fit: Fit::Best, ..Config::default() },
        Config { reserved: reserved(), cache_alignment: required, ..Config::default() },
    ]
    .map(node);
    // The first cache has a whole core too, which the kubelet's order takes.
    let free = "1,10,3-5,12-14,8,17";
    for (policy, expected) in
        [(&plain, "1,6-7,10,15-16"), (&aligned, "6-8,15-17"), (&tight, "6-8,15-17"), (&whole, "6-8,15-17")]
    {
        assert_eq!(grown(policy, "6-7,15-16", free, "6"), expected);
    }
    // What its own cache does not have comes from one other, if so many caches are enough.
    let free = "1,10,3,5,14,8,17";
    assert_eq!(grown(&whole, "6-7,15-16", free, "8"), "1,6-8,10,15-17");
    assert_eq!(grown(&whole, "6-7,15-16", free, "9"), "3,5-8,14-17");
    let split = "10 CPUs are free on 3 last-level caches only, and fit 2";
    assert_eq!(grown(&whole, "6-7,15-16", free, "10"), split);
    // It had more than it needs before.
    assert_eq!(grown(&whole, "3,6", "2,4,11", "4"), "4 CPUs are free on 3 last-level caches only, and fit 1");
}

#[test]
fn caches_beyond_its_nodes_are_on_those_of_the_affinity() {
    // Four nodes of three caches of one two-thread core; node 0 is 0-2,12-14, of which the container has all.
    let policy = policy(
        &machine(4, 1, 3, 1),
        Config {
            reserved: Reserved::cpus(set("11")),
            cache_alignment: CacheAlignment::Required,
            ..Config::default()
        },
    );
    // Halves of two caches of node 1, and whole ones of nodes 2 and 3.
    let free = "3,4,6,18,9,21";
    let to =
        |nodes: u64| grown_near(&policy, "0-2,12-14", free, "8", Affinity::Nodes(NodeMask::from_bits(nodes)));
    assert_eq!(to(0b0101), "0-2,6,12-14,18");
    assert_eq!(to(0b1001), "0-2,9,12-14,21");
    assert_eq!(to(0b0011), "8 CPUs are free on 5 last-level caches only, and fit 4");
}

#[test]
fn whole_cores_stay_whole_cores() {
    let options = Options { whole_cores: WholeCores::Required, ..Options::default() };
    let config = || Config { reserved: Reserved::cpus(set("0")), options, ..Config::default() };
    let one = node(config());
    // CPU 9 shares its core with a reserved one, so that core is never handed out whole.
    assert_eq!(grown(&one, "1,10", "2,9,11,3-4,12-13", "6"), "1-3,10-12");
    // Two nodes of three cores: the first has one whole core to give, and CPU 6 of the reserved one.
    let two = policy(&machine(2, 1, 1, 3), config());
    assert_eq!(grown(&two, "1,7", "2,6,8,3-4,9-10", "6"), "1-3,7-9");
    let few = "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 2, \
               requested CPUs = 4, CPUs per core = 2";
    assert_eq!(grown(&one, "1,10", "2,9,11", "6"), few);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Growth is refused for its caches where no choice of caches beside its own has enough, and then only.
    #[test]
    fn caches_are_few_enough_where_any_choice_is(owners in prop::collection::vec(0..3_u8, 18), more in 1..12_usize) {
        let policy = node(Config { cache_alignment: CacheAlignment::Required, ..Config::default() });
        let of = |owner: u8| -> CpuSet {
            let own = (0..).zip(&owners).filter(|(_, of)| **of == owner);
            own.map(|(cpu, _)| CpuId::new(cpu).unwrap()).collect()
        };
        let (own, free) = (of(0), of(1));
        if own.is_empty() || free.len() < more {
            return Ok(());
        }
        let caches = ["0-2,9-11", "3-5,12-14", "6-8,15-17"].map(set);
        let count = own.len() + more;
        let needed = count.div_ceil(6);
        let fits = (0..8_usize).any(|chosen| {
            let chosen: Vec<&CpuSet> = (0..3).filter(|at| chosen >> at & 1 == 1).map(|at| &caches[at]).collect();
            let all = chosen.iter().fold(CpuSet::new(), |sum, cache| &sum | cache);
            chosen.len() <= needed && own.is_subset(&all) && all.intersection_len(&free) >= more
        });
        let after = grown(&policy, &own.to_string(), &free.to_string(), &count.to_string());
        match after.parse::<CpuSet>() {
            Ok(after) => {
                prop_assert!(fits, "{after}");
                prop_assert!(own.is_subset(&after) && (&after - &own).is_subset(&free) && after.len() == count);
                prop_assert!(caches.iter().filter(|cache| !cache.is_disjoint(&after)).count() <= needed);
            }
            Err(_) => prop_assert!(!fits, "{after}"),
        }
    }
}
