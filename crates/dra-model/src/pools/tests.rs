//! Pools of a few slices, one rule each.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;

use super::*;
use crate::{CounterConsumption, Metadata, NodeSelection, Pool};

fn on(node: &str) -> NodeSelection {
    NodeSelection { node_name: Some(node.into()), ..NodeSelection::default() }
}

/// A slice of driver `d` with a device of the slice's name.
fn slice(name: &str, node: &str, generation: i64, count: i64) -> ResourceSlice {
    ResourceSlice {
        metadata: Metadata::named(name),
        driver: "d".into(),
        pool: Pool { name: "p".into(), generation, slice_count: count },
        nodes: on(node),
        devices: Some(vec![Device::new(&format!("of-{name}"))]),
        ..ResourceSlice::default()
    }
}

fn counters(name: &str, node: &str) -> ResourceSlice {
    let set = CounterSet {
        name: "set".into(),
        counters: [("memory".into(), "4".parse().unwrap_or_default())].into(),
    };
    ResourceSlice { devices: None, shared_counters: Some(vec![set]), ..slice(name, node, 1, 2) }
}

fn consuming(name: &str, counter: &str) -> ResourceSlice {
    let counters = [(counter.into(), "1".parse().unwrap_or_default())].into();
    let consumes = vec![CounterConsumption { set: "set".into(), counters, ..CounterConsumption::default() }];
    let device = Device { consumes, ..Device::new("partition") };
    ResourceSlice { devices: Some(vec![device]), ..slice(name, "a", 1, 2) }
}

/// The pools of node `a` in a word each.
fn seen(slices: &[ResourceSlice], implementation: Implementation) -> Vec<String> {
    let node = Node { name: "a".into(), ..Node::default() };
    let slices: Vec<_> = slices.iter().collect();
    let pools = node_pools(&slices, &node, Features::DEFAULT, implementation).unwrap_or_default();
    let state = |pool: &NodePool<'_>| match &pool.state {
        PoolState::Incomplete => "incomplete".to_string(),
        PoolState::Invalid(fault) => fault.to_string(),
        PoolState::Complete(devices) => {
            let names: Vec<_> = devices.devices().map(|(_, device)| device.name.as_str()).collect();
            format!("{}+{}", names.join(","), devices.elsewhere.len())
        }
    };
    pools.iter().map(|pool| format!("{} {}", pool.name, state(pool))).collect()
}

#[test]
fn each_rule_decides_what_a_node_sees_of_a_pool() {
    let of = |name: &str, pool: &str| {
        let mut slice = slice(name, "a", 1, 1);
        slice.pool.name = pool.into();
        slice
    };
    let mut binding = of("x", "early");
    binding.devices =
        Some(vec![Device { binding_conditions: Some(vec!["ready".into()]), ..Device::new("slow") }]);
    let same = ResourceSlice { devices: Some(vec![Device::new("of-x")]), ..slice("y", "a", 1, 2) };
    let nowhere = ResourceSlice { nodes: NodeSelection::default(), ..slice("x", "a", 1, 1) };
    let everywhere = NodeSelection { all_nodes: Some(true), ..NodeSelection::default() };
    let shared = ResourceSlice { nodes: everywhere, ..slice("x", "a", 1, 2) };
    let rows: [(&str, Vec<ResourceSlice>, &[&str]); 13] = [
        ("slices that name the node count first", vec![shared, slice("y", "a", 1, 1)], &["p incomplete"]),
        (
            "slices in the order of names",
            vec![slice("y", "a", 1, 2), slice("x", "a", 1, 2)],
            &["p of-x,of-y+0"],
        ),
        ("other nodes are elsewhere", vec![slice("x", "a", 1, 2), slice("y", "b", 1, 2)], &["p of-x+1"]),
        ("one is missing", vec![slice("x", "a", 1, 2)], &["p incomplete"]),
        ("one too many", vec![slice("x", "a", 1, 1), slice("y", "a", 1, 1)], &["p incomplete"]),
        ("the newest generation", vec![slice("x", "a", 1, 1), slice("y", "a", 2, 1)], &["p of-y+0"]),
        ("replaced elsewhere while incomplete here", vec![slice("x", "a", 1, 2), slice("y", "b", 2, 1)], &[]),
        (
            "replaced elsewhere while complete here",
            vec![slice("x", "a", 1, 1), slice("y", "b", 2, 1)],
            &["p of-x+0"],
        ),
        ("a name twice", vec![slice("x", "a", 1, 2), same], &["p duplicate device name of-x"]),
        ("counters of another node", vec![counters("x", "b"), consuming("y", "memory")], &["p partition+0"]),
        (
            "no such counter",
            vec![counters("x", "a"), consuming("y", "cores")],
            &["p counter cores not found in counter set set"],
        ),
        ("binding conditions come last", vec![binding, of("y", "late")], &["late of-y+0", "early slow+0"]),
        ("no nodes at all", vec![nowhere], &[]),
    ];
    for (rule, slices, expected) in rows {
        assert_eq!(seen(&slices, Implementation::Incubating), expected, "{rule}");
    }
}

#[test]
fn the_stable_copy_keeps_the_order_of_slices() {
    let slices = [slice("y", "a", 1, 2), slice("x", "a", 1, 2)];
    assert_eq!(seen(&slices, Implementation::Stable), ["p of-y,of-x+0"]);
}

#[test]
fn the_stable_copy_takes_pools_in_the_order_in_which_they_are_seen() {
    let of = |pool: &str, node: &str| {
        let mut slice = slice(pool, node, 1, 1);
        slice.pool.name = pool.into();
        slice
    };
    // Pool `a` is elsewhere when it is listed first.
    let mut later = of("a", "a");
    later.pool.generation = 2;
    let slices = [of("a", "b"), of("c", "a"), of("b", "a"), later];
    assert_eq!(seen(&slices, Implementation::Stable), ["c of-c+0", "b of-b+0", "a of-a+0"]);
    assert_eq!(seen(&slices, Implementation::Incubating), ["a of-a+0", "b of-b+0", "c of-c+0"]);
}

#[test]
fn devices_of_a_node_are_those_of_the_newest_slices_for_it() {
    let per_device = |name: &str, generation, nodes: &[&str]| {
        let devices = nodes.iter().map(|node| Device { nodes: on(node), ..Device::new(node) });
        ResourceSlice {
            nodes: NodeSelection::default(),
            per_device_node_selection: Some(true),
            devices: Some(devices.collect()),
            ..slice(name, "", generation, 1)
        }
    };
    let empty = |name: &str, node: &str, generation| ResourceSlice {
        devices: None,
        ..slice(name, node, generation, 1)
    };
    for (slices, expected) in [
        (vec![slice("old", "a", 1, 1), slice("new", "a", 2, 1)], &["of-new"][..]),
        // A newer slice for another node replaces nothing here.
        (vec![slice("own", "a", 1, 1), slice("other", "b", 2, 1)], &["of-own"]),
        (vec![slice("own", "a", 1, 1), per_device("other", 2, &["b"])], &["of-own"]),
        (vec![slice("own", "a", 1, 1), per_device("both", 2, &["b", "a"])], &["a"]),
        (vec![slice("own", "a", 1, 1), empty("new", "a", 2)], &[]),
        // Pools from which nothing can be allocated have devices too.
        (vec![slice("one", "a", 1, 2)], &["of-one"]),
    ] {
        let node = Node { name: "a".into(), ..Node::default() };
        let found = node_devices(&slices, &node, Features::DEFAULT);
        let found: Vec<&str> = found.iter().map(|(_, device)| device.name.as_str()).collect();
        assert_eq!(found, expected, "{slices:?}");
    }
}
