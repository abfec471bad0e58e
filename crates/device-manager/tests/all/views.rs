//! What the pod resources service and statuses report.

use std::collections::BTreeMap;

use device_manager::{DeviceEntry, DeviceId, Devices, Holdings, OnNodes};
use pod_spec::{ContainerName, PodUid, ResourceName, Role};
use topology_hint::Affinity;
use topology_model::NodeId;

use crate::fixture::{GPU, asking, devices, gpu, machine, near, pod, serve};

fn shown(entries: impl Iterator<Item = DeviceEntry>) -> String {
    let show = |entry: DeviceEntry| match entry.node {
        None => entry.device.to_string(),
        Some(NodeId(node)) => format!("{}@{node}", entry.device),
    };
    entries.map(show).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_device_is_shown_once_for_each_of_its_nodes() {
    let inventory = machine(&[0, 1]).with(GPU, devices("a:1,0 b c: d:-1 e:0,0 f:1!"));
    // One with an empty list is left out, and -1 is a node, of what could be had; not of what is held.
    assert_eq!(shown(inventory.allocatable()), "a@1 a@0 b d@-1 e@0 e@0");
    let (held, _) = serve(&inventory, &Holdings::default(), &asking("p", 5), Affinity::Any);
    let app = ContainerName::new("app");
    assert_eq!(shown(held.entries(&PodUid::new("p"), &app)), "b c d a@0 e@0 e@0 a@1");
    assert_eq!(shown(held.entries(&PodUid::new("q"), &app)), "");
}

#[test]
fn health_is_that_of_the_last_list_and_vanished_devices_count_as_healthy() {
    let mut inventory = machine(&[0]).with(GPU, devices("a:0 b:0 c:0"));
    let pod = asking("p", 3);
    let (held, _) = serve(&inventory, &Holdings::default(), &pod, Affinity::Any);
    inventory.list(&gpu(), devices("a:0! b:0"));
    let health = held.health(&inventory, &pod.uid, &pod.containers[0].name);
    let sick: Vec<&str> = health[&gpu()]
        .iter()
        .filter(|(_, health)| **health != device_manager::Health::Healthy)
        .map(|(id, _)| id.as_str())
        .collect();
    assert_eq!((sick, health[&gpu()].len()), (vec!["a"], 3));
    assert_eq!(held.holder(&DeviceId::new("a")), Some(&pod.uid));
    assert_eq!(held.holder(&DeviceId::new("z")), None);
    assert_eq!(held.holder_of(&gpu(), &DeviceId::new("a")), Some(&pod.uid));
    assert_eq!(held.holder_of(&"vendor.io/nic".into(), &DeviceId::new("a")), None);
}

#[test]
fn allocatable_is_raised_to_what_is_taken_for_pods_that_hold_something() {
    let inventory = machine(&[0]).with(GPU, devices("a:0 b:0 c:0"));
    let (held, _) = serve(&inventory, &Holdings::default(), &asking("p", 2), Affinity::Any);
    let raised = |pod: &str, before: &[(&str, i64)]| {
        let mut amounts: BTreeMap<_, _> =
            before.iter().map(|(name, amount)| (ResourceName::new(name), *amount)).collect();
        held.raise_allocatable(&PodUid::new(pod), &mut amounts);
        amounts.into_iter().map(|(name, amount)| format!("{name}={amount}")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(raised("p", &[]), "vendor.io/gpu=2");
    assert_eq!(raised("p", &[(GPU, 0), ("other", 0)]), "other=0 vendor.io/gpu=2");
    assert_eq!(raised("p", &[(GPU, 3)]), "vendor.io/gpu=3");
    assert_eq!(raised("q", &[(GPU, 0)]), "vendor.io/gpu=0");
}

#[test]
fn each_place_says_what_is_free_and_who_has_the_rest() {
    let inventory = machine(&[0, 1]).with(GPU, devices("a:0 b:0! c:1 d:1 e f:0,1"));
    let (held, _) = serve(&inventory, &Holdings::default(), &asking("p", 1), near(&inventory, &[1]));
    let init = pod("q", &[("init", Role::Init, "vendor.io/gpu=1")]);
    let (held, left) = serve(&inventory, &held, &init, near(&inventory, &[0]));
    assert_eq!(left, ["a"]);
    let show = |row: &OnNodes| {
        let nodes: Vec<i64> = inventory.nodes().ids_of(row.nodes).map(|id| id.0).collect();
        let holders: Vec<String> = row.holders.iter().map(|(pod, count)| format!("{pod}:{count}")).collect();
        format!("{nodes:?} {}/{} {}", row.free, row.allocatable, holders.join(","))
    };
    let rows = |of: &str| -> Vec<String> {
        let rows = Devices::default().on_nodes(&inventory, &held, &PodUid::new(of), &gpu());
        rows.iter().map(show).collect()
    };
    assert_eq!(rows("r"), ["[] 1/1 ", "[0] 0/1 q:1", "[1] 1/2 p:1", "[0, 1] 1/1 "]);
    // What its own init container has left is free for the pod.
    assert_eq!(rows("q"), ["[] 1/1 ", "[0] 1/1 ", "[1] 1/2 p:1", "[0, 1] 1/1 "]);
}
