//! Hints are those that the kubelet would list.

use device_manager::{DeviceIds, Devices, Holdings, Inventory};
use pod_spec::{Pod, Role, Unit};
use proptest::prelude::*;
use topology_hint::{Affinity, Answer, Answers, Hint};
use topology_model::NodeId;

use crate::fixture::{GPU, asking, devices, gpu, machine, pod, serve};

/// The answer for GPUs in text: `?` no opinion, `-` impossible, else the node sets, preferred ones with a `*`.
fn hints(inventory: &Inventory, held: &Holdings, unit: Unit<'_>) -> String {
    let mut answers = Answers::new();
    Devices::default().hints(inventory, held, unit, &mut answers);
    let Some((resource, answer)) = answers.get(0) else { return String::new() };
    assert_eq!((resource, answers.len()), (&gpu(), 1));
    let nodes = inventory.nodes();
    let show = |hint: Hint| {
        let ids = nodes.ids_of(hint.affinity.nodes().unwrap_or_default());
        let ids: Vec<String> = ids.map(|id| id.0.to_string()).collect();
        ids.join("+") + if hint.is_preferred() { "*" } else { "" }
    };
    match answer {
        Answer::NoOpinion => "?".to_owned(),
        Answer::Impossible => "-".to_owned(),
        Answer::List(list) => list.iter().map(|listed| show(listed.hint)).collect::<Vec<_>>().join(" "),
        Answer::Family(family) => {
            let listed: Vec<String> = family.listed(nodes.all()).map(|listed| show(listed.hint)).collect();
            if listed.is_empty() { "-".to_owned() } else { listed.join(" ") }
        }
    }
}

fn container(pod: &Pod, at: usize) -> Unit<'_> {
    Unit::Container(pod, &pod.containers[at])
}

#[test]
fn sets_are_walked_through_only_where_there_are_enough_devices() {
    let walked = |listed: &str, asked| {
        let inventory = machine(&[0, 1]).with(gpu(), devices(listed));
        let (pod, held) = (asking("first", asked), Holdings::default());
        let walked = Devices::default().walked(&inventory, &held, container(&pod, 0));
        walked.map(|(_, nodes)| nodes.len()).collect::<Vec<_>>()
    };
    assert_eq!(walked("a:0 b:0 c:1 d:1", 4), [2]);
    assert_eq!(walked("a:0 b:0", 2), [1]);
    // Too few are healthy.
    assert_eq!(walked("a:0 b:0 c:1 d:1!", 4), [0; 0]);
    // Enough, of which too few have a node.
    assert_eq!(walked("a:0 b c", 2), [1]);
    assert_eq!(walked("a b", 1), [0; 0]);
}

#[test]
fn node_sets_with_enough_free_devices_are_listed() {
    for (listed, asked, expected) in [
        ("a:0 b:0 c:1 d:1", 1, "0* 1* 0+1"),
        ("a:0 b:0 c:1 d:1", 2, "0* 1* 0+1"),
        ("a:0 b:0 c:1 d:1", 3, "0+1*"),
        ("a:0 b:0 c:1 d:1", 5, "-"),
        // None asked: any node that has a device.
        ("a:0 c:1", 0, "0* 1* 0+1"),
        // Narrow sets are preferred even where the devices there cannot be had.
        ("a:0 b:0! c:1", 2, "0+1"),
        ("a:0 b:0 c:1 d:1!", 2, "0* 0+1"),
        // A device on two nodes is on each of them, and counts once for both.
        ("a:0,1 b:1", 2, "1* 0+1"),
        ("a:0,1", 1, "0* 1* 0+1"),
        // Without a node: no opinion, or no help.
        ("a b", 2, "?"),
        ("a: b", 2, "?"),
        ("a:0 b c", 2, "-"),
        // Nodes that the machine lacks.
        ("a:7 b:0", 1, "0*"),
        ("a:7 b:-1", 1, "-"),
        ("", 1, "?"),
    ] {
        let inventory = machine(&[0, 1]).with(GPU, devices(listed));
        let pod = asking("p", asked);
        assert_eq!(
            hints(&inventory, &Holdings::default(), container(&pod, 0)),
            expected,
            "{asked} of {listed}"
        );
    }
}

#[test]
fn what_others_hold_is_not_free_and_what_it_holds_is_all_it_has() {
    let inventory = machine(&[0, 1]).with(GPU, devices("a:0 b:0 c:1 d:1"));
    let first = asking("first", 2);
    let (held, _) = serve(&inventory, &Holdings::default(), &first, Affinity::Any);
    assert_eq!(hints(&inventory, &held, container(&asking("second", 1), 0)), "1* 0+1");
    assert_eq!(hints(&inventory, &held, container(&asking("second", 3), 0)), "-");
    assert_eq!(hints(&inventory, &held, container(&first, 0)), "0* 0+1");
    assert_eq!(hints(&inventory, &held, container(&asking("first", 1), 0)), "-");
}

#[test]
fn what_init_containers_left_must_be_near_and_counts_for_containers_alone() {
    let inventory = machine(&[0, 1]).with(GPU, devices("a:0 b:0 c:1 d:1"));
    let both = format!("{GPU}=1");
    let pod = pod("p", &[("init", Role::Init, &both), ("app", Role::App, &both)]);
    let init = Pod { containers: pod.containers[..1].to_vec().into(), ..pod.clone() };
    let (held, _) = serve(&inventory, &Holdings::default(), &init, Affinity::Any);
    assert_eq!(hints(&inventory, &held, container(&pod, 1)), "0* 0+1");
    // The pod as a whole holds one already, as many as it asks for.
    assert_eq!(hints(&inventory, &held, Unit::Pod(&pod)), "0* 0+1");
}

#[test]
fn resources_without_devices_have_no_answer() {
    let inventory = machine(&[0]).with(GPU, devices("a:0"));
    let mut answers = Answers::new();
    let pod = pod("p", &[("app", Role::App, "cpu=1 other.io/nic=1")]);
    Devices::default().hints(&inventory, &Holdings::default(), container(&pod, 0), &mut answers);
    assert_eq!(answers.len(), 0);
}

/// A held device that vanished crashes the kubelet; here it is one that says nothing about nodes.
#[test]
fn vanished_devices_crash_nothing() {
    let mut inventory = machine(&[0, 1]).with(GPU, devices("a:0 b:0"));
    let pod = asking("p", 2);
    let (held, _) = serve(&inventory, &Holdings::default(), &pod, Affinity::Any);
    inventory.list(&gpu(), devices("b:0 c:1"));
    assert_eq!(hints(&inventory, &held, container(&pod, 0)), "-");
}

/// The kubelet's way: every set of nodes, one after the other.
fn by_trying(inventory: &Inventory, held: &Holdings, pod: &Pod, at: usize) -> String {
    let resource = gpu();
    let app = &pod.containers[at];
    let asked = usize::try_from(app.limits[&resource].value()).unwrap();
    let listed = |id: &str| inventory.devices(&resource).find(|device| device.id.as_str() == id);
    if inventory.devices(&resource).all(|device| device.topology.ids().is_empty()) {
        return "?".to_owned();
    }
    let own = held.held(&pod.uid, &app.name, &resource).map(device_manager::Held::devices);
    let (available, reusable) = match own {
        Some(own) if own.len() != asked => return "-".to_owned(),
        Some(own) => (own, DeviceIds::new()),
        None => {
            let taken = held.taken(&resource).cloned().unwrap_or_default();
            let healthy = inventory.healthy(&resource).filter(|id| !taken.contains(id));
            (healthy.cloned().collect(), held.reusable(&pod.uid, &resource).cloned().unwrap_or_default())
        }
    };
    let either: DeviceIds = available.iter().chain(&reusable).cloned().collect();
    if either.len() < asked {
        return "-".to_owned();
    }
    let known: Vec<i64> = inventory.nodes().ids().map(|id| id.0).collect();
    let mut nodes: Vec<i64> = known.clone();
    nodes.retain(|node| {
        inventory.devices(&resource).any(|device| device.topology.ids().contains(&NodeId(*node)))
    });
    if nodes.is_empty() {
        nodes = known;
    }
    let mut sets: Vec<Vec<i64>> = (1_u32..1 << nodes.len())
        .map(|bits| (0..nodes.len()).filter(|at| bits >> at & 1 == 1).map(|at| nodes[at]).collect())
        .collect();
    sets.sort_by_key(|set: &Vec<i64>| (set.len(), set.clone()));
    let on = |set: &[i64], ids: &[NodeId]| ids.iter().any(|id| set.contains(&id.0));
    let (mut best, mut found) = (nodes.len(), Vec::new());
    for set in sets {
        let all = inventory.devices(&resource).filter(|device| on(&set, device.topology.ids())).count();
        if all >= asked {
            best = best.min(set.len());
        }
        let left: Vec<_> = reusable.iter().filter_map(|id| listed(id.as_str())).collect();
        let left: Vec<_> =
            left.into_iter().filter(|device| device.topology != device_manager::Topology::Absent).collect();
        if left.iter().any(|device| !on(&set, device.topology.ids())) {
            continue;
        }
        let free = available.iter().filter_map(|id| listed(id.as_str()));
        if left.len() + free.filter(|device| on(&set, device.topology.ids())).count() >= asked {
            found.push(set);
        }
    }
    let show = |set: &Vec<i64>| {
        let ids: Vec<String> = set.iter().map(i64::to_string).collect();
        ids.join("+") + if set.len() == best { "*" } else { "" }
    };
    if found.is_empty() { "-".to_owned() } else { found.iter().map(show).collect::<Vec<_>>().join(" ") }
}

/// Up to nine devices on any of the nodes 0, 2, 3 and 7, on nodes that the machine lacks, and on none.
fn lists() -> impl Strategy<Value = String> {
    let nodes = prop::sample::subsequence(vec!["-1", "0", "2", "3", "5", "7"], 0..4);
    let device = (nodes, prop::bool::weighted(0.8), prop::bool::weighted(0.9));
    prop::collection::vec(device, 0..10).prop_map(|devices| {
        let words = devices.iter().enumerate().map(|(at, (nodes, healthy, says))| {
            let nodes = if *says { format!(":{}", nodes.join(",")) } else { String::new() };
            format!("d{at}{nodes}{}", if *healthy { "" } else { "!" })
        });
        words.collect::<Vec<_>>().join(" ")
    })
}

proptest! {
    #[test]
    fn agrees_with_trying_every_set(
        before in lists(), after in lists(),
        other in 0_u32..4, init in 0_u32..4, app in 0_u32..6,
        served in prop::bool::ANY,
    ) {
        let mut inventory = machine(&[0, 2, 3, 7]).with(GPU, devices(&before));
        let (held, _) = serve(&inventory, &Holdings::default(), &asking("other", other), Affinity::Any);
        let pod = pod("p", &[
            ("init", Role::Init, &format!("{GPU}={init}")),
            ("app", Role::App, &format!("{GPU}={app}")),
        ]);
        let count = if served { 2 } else { 1 };
        let begun = Pod { containers: pod.containers[..count].to_vec().into(), ..pod.clone() };
        let (held, _) = serve(&inventory, &held, &begun, Affinity::Any);
        inventory.list(&gpu(), devices(&after));
        prop_assert_eq!(hints(&inventory, &held, container(&pod, 1)), by_trying(&inventory, &held, &pod, 1));
    }
}
