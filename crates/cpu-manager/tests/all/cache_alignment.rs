//! Caches that are not split.

use crate::machines::{machine, set};
use crate::pods::{pod, policy};
use cpu_manager::{CacheAlignment, Config, Holdings, Options, Order, Reserved, Static};
use numa_bitmask::NodeMask;
use pod_spec::Role;
use topology_hint::Affinity;
use topology_model::Nodes;

/// Two nodes of three caches of two two-thread cores: node 0 has CPUs 0-5,12-17, its caches 0-1,12-13 and so on.
fn required(order: Order) -> Static {
    let config = Config {
        options: Options { order, ..Options::default() },
        reserved: Reserved::cpus(set("11")),
        cache_alignment: CacheAlignment::Required,
        ..Config::default()
    };
    policy(&machine(2, 1, 3, 2), config)
}

fn serve(policy: &Static, free: &str, near: Affinity, count: &str) -> String {
    let held = Holdings::new(&set(free) | policy.reserved(), []);
    let pod = pod("p", &[("app", Role::App, count)]);
    match policy.allocate(&held, &pod, &pod.containers[0], near) {
        Ok(allocation) => allocation.granted.exclusive().unwrap().to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn container_is_refused_rather_than_split() {
    let node = |at: u64| Affinity::Nodes(NodeMask::from_bits(1 << at));
    for order in [Order::Packed, Order::ByCache] {
        let policy = required(order);
        for (free, near, count, expected) in [
            // One cache is enough, and one has them.
            ("0-5,12-17", Affinity::Any, "3", "0-1,12"),
            // The kubelet would put together what is left of two; the third has four.
            ("0,2,4-5,16-17", Affinity::Any, "4", "4-5,16-17"),
            // The fullest that has enough.
            ("0-3,12,14-15", Affinity::Any, "3", "0-1,12"),
            ("0,2,4,12,14,16", Affinity::Any, "3", "3 CPUs are free on 2 last-level caches only, and fit 1"),
            // Two caches for five CPUs, not three.
            ("0-1,2-3,4-5,12,14", Affinity::Any, "6", "0-3,12,14"),
            ("0-5", Affinity::Any, "5", "5 CPUs are free on 3 last-level caches only, and fit 2"),
            // The promised node has them, though another would have them in one cache.
            ("0,2,6-7,18-19", node(0), "2", "2 CPUs are free on 2 last-level caches only, and fit 1"),
            ("0,2,6-7,18-19", Affinity::Any, "4", "6-7,18-19"),
        ] {
            assert_eq!(serve(&policy, free, near, count), expected, "{count} of {free}, {order:?}");
        }
    }
}

#[test]
fn distribution_is_another_wish() {
    for order in [Order::AcrossNodes, Order::AcrossCores] {
        let cpus = machine(2, 1, 3, 2);
        let config = Config {
            options: Options { order, ..Options::default() },
            reserved: Reserved::count(1),
            cache_alignment: CacheAlignment::Required,
            ..Config::default()
        };
        let nodes = Nodes::new(cpus.nodes().map(|(id, _)| id)).unwrap();
        let error = Static::new(&cpus, &nodes, config).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cpu.cacheAlignment required can not be used with options that distribute cpus"
        );
    }
}
