//! Explanations of single refusals: what they report, when an explanation ends, and what it takes for granted.

use crate::fixture;
use std::cell::Cell;
use std::ops::ControlFlow;

use crate::fixture::Asked;
use device_manager::{Endpoint, Life, PluginOptions, Replies};
use node_config::{OwnOptions, Regroup};
use pod_spec::{Container, Pod, PodLevelResources, PodUid, ResourceList, Role};
use topology_admission::{
    Asks, Change, Compat, Detail, Explanation, Ledger, Limits, Node, OnEmptyNode, Plugins, Search, Tries,
    Verdict,
};

/// Two nodes of 16 CPUs and 32 GiB, four pages of 1 GiB each; two CPUs are reserved on node 0.
const SERVER: &str = "pack:2 [numa(memory=32GiB)] core:8 pu:2";

fn node(policy: &str, scope: &str) -> Node {
    let info = fixture::machine(SERVER, 4);
    let config = fixture::config(&info, policy, scope, 2);
    fixture::node(&info, &config, Compat::default(), OwnOptions::default())
}

fn admitted(node: &Node, ledger: &Ledger, pod: &Pod) -> Ledger {
    let attempt = node.admission(ledger, pod).attempt();
    assert!(matches!(attempt.verdict, Verdict::Admitted(_)), "{}: {:?}", pod.name, attempt.verdict);
    ledger.commit(attempt).unwrap()
}

fn explained(node: &Node, ledger: &Ledger, pod: &Pod, tries: Tries) -> Explanation {
    explained_until(node, ledger, pod, tries, &|| ControlFlow::Continue(()))
}

fn explained_until(
    node: &Node,
    ledger: &Ledger,
    pod: &Pod,
    tries: Tries,
    stop: &dyn Fn() -> ControlFlow<()>,
) -> Explanation {
    let replies = Replies::new();
    let (attempt, trace) = node.admission(ledger, pod).with(&replies).trace(Detail::Short);
    let Verdict::Refused(refused) = attempt.verdict else { panic!("{}: {:?}", pod.name, attempt.verdict) };
    node.admission(ledger, pod).with(&replies).explain(&refused, &trace, Limits::from(tries).until(stop))
}

fn changes(explained: &Explanation) -> Vec<Change> {
    explained.would_fit.iter().map(|fit| fit.change.clone()).collect()
}

fn with_cpus(name: &str, cpus: u64) -> Pod {
    fixture::pod(name, &[Asked { cpus, memory: 64, ..Asked::default() }])
}

/// Each with its number, by node: who holds CPUs, memory and huge pages there.
#[test]
fn every_resource_names_its_holders_by_node() {
    let node = node("best-effort", "container");
    let mut ledger = node.empty_ledger();
    for (name, asked) in [
        ("a", Asked { cpus: 4, memory: 64, pages: 1, ..Asked::default() }),
        ("b", Asked { cpus: 20, memory: 64, ..Asked::default() }),
        // It shares CPUs and holds memory.
        ("c", Asked { cpus: 0, memory: 64, ..Asked::default() }),
    ] {
        let pod = fixture::pod(name, &[asked]);
        ledger = admitted(&node, &ledger, &pod);
    }
    let holders = |resource: &str| -> Vec<Vec<String>> {
        let rows = node.room(&ledger);
        let (_, room) = rows.iter().find(|(name, _)| name.as_str() == resource).unwrap();
        let of = |cell: &topology_admission::Cell| cell.holders.iter().map(ToString::to_string).collect();
        room.nodes.iter().map(of).collect()
    };
    let uid = |name: &str| fixture::pod(name, &[]).uid.to_string();
    let (a, b) = (uid("a"), uid("b"));
    assert_eq!(holders("cpu"), [vec![a.clone(), b.clone()], vec![b.clone()]]);
    assert_eq!(holders("hugepages-1Gi"), [vec![a], Vec::new()]);
    assert!(holders("memory").iter().any(|on_node| on_node.contains(&b)), "{:?}", holders("memory"));
}

#[test]
fn cpus_reserved_elsewhere_can_be_what_is_missing() {
    let node = node("single-numa-node", "container");
    let first = with_cpus("first", 14);
    let ledger = admitted(&node, &node.empty_ledger(), &first);
    let ledger = admitted(&node, &ledger, &with_cpus("second", 10)).release(&first.uid);
    // Node 0 has 14 CPUs besides the reserved ones, node 1 six.
    let told = explained(&node, &ledger, &with_cpus("whole", 16), Tries::default());
    let changes = changes(&told);
    let reserved = changes.iter().find_map(|change| match change {
        Change::ReserveCpus(cpus) => Some(cpus),
        _ => None,
    });
    let reserved = reserved.unwrap_or_else(|| panic!("{changes:?}"));
    let ours = node.cpus().unwrap();
    assert_eq!((reserved.len(), reserved.is_disjoint(ours.reserved())), (2, true));
    assert!(reserved.is_subset(&ours.available(ledger.cpus().unwrap())), "nobody holds them");
}

/// Waiting for a small pod takes no work, and the pod would be on two NUMA nodes then: asking for less comes before.
#[test]
fn changes_are_ranked_over_all_kinds_and_those_that_spread_the_pod_come_last() {
    let node = node("best-effort", "container");
    let mut ledger = node.empty_ledger();
    // Ten CPUs are left, on both nodes.
    for (name, cpus) in [("six", 6), ("two", 2), ("twelve", 12)] {
        ledger = admitted(&node, &ledger, &with_cpus(name, cpus));
    }
    let told = explained(&node, &ledger, &with_cpus("pod", 12), Tries::default());
    let ranked = told.would_fit.iter().map(|fit| {
        let is_wide = fit
            .placement
            .containers
            .iter()
            .any(|placed| placed.hint.is_some_and(|hint| !hint.is_preferred()));
        let what = match &fit.change {
            Change::Wait(pods) => format!("wait for {}", pods[0]),
            Change::AskLess(asks) => format!("ask {}", asks[0].fits),
            other => format!("{other:?}"),
        };
        format!("{what}{}", if is_wide { ", wide" } else { "" })
    });
    let uid = |name: &str| with_cpus(name, 1).uid;
    let expected = [
        format!("wait for {}", uid("six")),
        "ask 6".to_owned(),
        format!("wait for {}, wide", uid("two")),
        "ask 10, wide".to_owned(),
    ];
    assert_eq!(ranked.collect::<Vec<_>>(), expected);
}

/// A pod of several containers, each with its role and its CPUs.
fn of_containers(containers: &[(Role, &str)]) -> Pod {
    let containers = containers.iter().enumerate().map(|(at, (role, cpus))| Container {
        name: format!("c{at}").as_str().into(),
        role: *role,
        requests: ResourceList::new(),
        limits: [("cpu", *cpus), ("memory", "64Mi")]
            .map(|(name, amount)| (name.into(), amount.parse().unwrap()))
            .into(),
    });
    Pod::new("test", "several", containers.collect()).with_defaults(PodLevelResources::Count)
}

#[test]
fn a_container_that_asks_for_whole_cpus_is_asked_for_fewer_whole_ones() {
    use Role::{App, Init, Sidecar};
    // Thirty CPUs can be had, 14 on node 0 and 16 on node 1. The CPU manager does not count parts of CPUs.
    for (scope, containers, fits) in [
        ("pod", &[(App, "20"), (App, "1500m"), (App, "4")][..], &["12 in c0"][..]),
        ("container", &[(App, "14"), (App, "15"), (App, "1500m")], &["14 in c1"]),
        ("pod", &[(Sidecar, "1500m"), (Init, "20"), (App, "8")], &["16 in c1"]),
    ] {
        let node = node("single-numa-node", scope);
        let told = explained(&node, &node.empty_ledger(), &of_containers(containers), Tries::default());
        let all: Vec<Vec<Asks>> = told
            .would_fit
            .iter()
            .filter_map(|fit| match &fit.change {
                Change::AskLess(asks) => Some(asks.clone()),
                _ => None,
            })
            .collect();
        let shown: Vec<String> = all
            .iter()
            .map(|asks| {
                let one = asks.iter().map(|ask| {
                    format!(
                        "{} in {}",
                        ask.fits,
                        ask.container.as_ref().map_or("the pod", |name| name.as_str())
                    )
                });
                one.collect::<Vec<_>>().join(" and ")
            })
            .collect();
        assert_eq!(shown, fits, "{scope} {containers:?}");
    }
}

#[test]
fn nothing_is_tried_any_more_when_tries_are_used_up_or_the_caller_says_stop() {
    let node = node("single-numa-node", "container");
    let ledger = node.empty_ledger();
    let wide = fixture::pod("wide", &[Asked { cpus: 20, memory: 64, ..Asked::default() }]);
    let all = explained(&node, &ledger, &wide, Tries::default());
    assert_eq!((all.search, all.on_empty_node), (Search::Complete, OnEmptyNode::DoesNotFit));
    assert!(all.tries > 3, "{} tries", all.tries);

    let few = explained(&node, &ledger, &wide, Tries(2));
    assert_eq!((few.search, few.tries), (Search::Cut, 2));
    let none = explained(&node, &ledger, &wide, Tries(0));
    assert_eq!((none.search, none.on_empty_node), (Search::Cut, OnEmptyNode::Unknown));
    assert!(none.would_fit.is_empty());

    let asked = Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        if asked.get() > 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let stopped = explained_until(&node, &ledger, &wide, Tries::default(), &stop);
    assert_eq!((stopped.search, stopped.tries), (Search::Cut, 3));
}

#[test]
fn plugins_that_would_have_to_be_asked_are_taken_as_willing_and_that_is_said() {
    let node = node("single-numa-node", "container");
    let mut inventory = fixture::inventory(&node, 4);
    let options = Some(PluginOptions { preferred_allocation: true, pre_start: false });
    inventory.set_endpoint(&"example.com/vf".into(), Endpoint::Plugin { options, life: Life::Running });
    let ledger = node.empty_ledger().with_inventory(inventory);
    let pod = fixture::pod("pod", &[Asked { cpus: 20, memory: 64, vfs: 2, ..Asked::default() }]);
    let told = explained(&node, &ledger, &pod, Tries::default());
    let less = told.would_fit.iter().find(|fit| matches!(fit.change, Change::AskLess(_)));
    assert_eq!(less.map(|fit| fit.plugins), Some(Plugins::TakenAsWilling), "{told:?}");
    assert_eq!(less.map(|fit| fit.placement.containers[0].devices.len()), Some(1));
}

#[test]
fn a_group_that_nobody_needs_is_named_as_what_is_in_the_way() {
    let info = fixture::machine(SERVER, 0);
    let config = fixture::config(&info, "restricted", "container", 2);
    let node = fixture::node(&info, &config, Compat::default(), OwnOptions::default());
    let with_memory =
        |name: &str, memory| fixture::pod(name, &[Asked { cpus: 1, memory, ..Asked::default() }]);
    // Both nodes are needed by the first; the second is booked in their group.
    let wide = fixture::pod("wide", &[Asked { cpus: 20, memory: 40 << 10, ..Asked::default() }]);
    let ledger = admitted(&node, &node.empty_ledger(), &wide);
    let guest = fixture::pod("guest", &[Asked { cpus: 9, memory: 10 << 10, ..Asked::default() }]);
    let best_effort = fixture::node(
        &info,
        &fixture::config(&info, "best-effort", "container", 2),
        Compat::default(),
        OwnOptions::default(),
    );
    let ledger = admitted(&best_effort, &ledger, &guest).release(&wide.uid);
    let narrow = with_memory("narrow", 20 << 10);
    let told = explained(&node, &ledger, &narrow, Tries::default());
    assert!(changes(&told).contains(&Change::Regroup), "{:?}", changes(&told));

    let options = OwnOptions { regroup: Regroup::WhenUnneeded, ..OwnOptions::default() };
    let other = fixture::node(&info, &config, Compat::default(), options);
    assert!(matches!(other.admission(&ledger, &narrow).attempt().verdict, Verdict::Admitted(_)));
}

/// A pod that shares CPUs and holds memory.
fn sharing(name: &str) -> Pod {
    let mut pod = with_cpus(name, 1);
    for container in &mut pod.containers {
        for amounts in [&mut container.requests, &mut container.limits] {
            amounts.insert("cpu".into(), "10m".parse().unwrap());
        }
    }
    pod
}

#[test]
fn of_pods_that_are_alike_one_is_tried() {
    let node = node("single-numa-node", "container");
    let mut ledger = node.empty_ledger();
    for at in 0..100 {
        ledger = admitted(&node, &ledger, &sharing(&format!("shares-{at}")));
    }
    ledger = admitted(&node, &ledger, &with_cpus("first", 8));
    ledger = admitted(&node, &ledger, &with_cpus("second", 10));
    let wide = with_cpus("wide", 15);
    let found = explained(&node, &ledger, &wide, Tries(40));
    assert_eq!(found.search, Search::Complete, "{} tries", found.tries);
    assert!(changes(&found).contains(&Change::Wait(vec![PodUid::new("test_second")])), "{found:?}");
}

#[test]
fn what_asks_for_less_of_everything_than_another_change_is_left_out() {
    let node = node("single-numa-node", "container");
    let ledger = node.empty_ledger().with_inventory(fixture::inventory(&node, 4));
    let fits = |cpus, vfs| -> Vec<Vec<String>> {
        let pod = fixture::pod("pod", &[Asked { cpus, memory: 64, vfs, ..Asked::default() }]);
        let less = changes(&explained(&node, &ledger, &pod, Tries::default())).into_iter();
        let asks = less.filter_map(|change| match change {
            Change::AskLess(asks) => Some(asks),
            _ => None,
        });
        asks.map(|asks| asks.iter().map(|ask| format!("{} {}", ask.resource, ask.fits)).collect()).collect()
    };
    // Node 0 has 14 CPUs and four functions, node 1 has 16 and two.
    assert_eq!(fits(20, 1), [["cpu 16"]]);
    assert_eq!(fits(15, 3), [["cpu 14"], ["example.com/vf 2"]]);
    let mut both = fits(20, 4);
    both.sort();
    assert_eq!(both, [vec!["cpu 14"], vec!["cpu 16", "example.com/vf 2"]]);
}
