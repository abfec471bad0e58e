//! Devices of one link: who is admitted, and with which devices, against a search of all sets of devices.

use crate::fixture;
use std::collections::{BTreeMap, BTreeSet};

use crate::fixture::Asked;
use device_manager::{Device, DeviceId, Inventory, Links};
use node_config::{LinkRule, OwnOptions, Placement, Strategy};
use numa_bitmask::NodeMask;
use pod_spec::{Pod, PodUid, ResourceName};
use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};
use topology_admission::{Cause, Change, Compat, Detail, Ledger, Node, NotLinked, Tries, Verdict};
use topology_model::{Link, LinkKind, PciAddress};

const GPU: &str = "example.com/gpu";
const VF: &str = "example.com/vf";

/// A device: its resource, NUMA node, and the address on which links know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Card {
    resource: &'static str,
    node: i64,
    bus: u8,
}

impl Card {
    fn address(self) -> PciAddress {
        PciAddress { domain: 0, bus: self.bus, device: 0, function: 0 }
    }

    fn id(self) -> String {
        self.address().to_string()
    }
}

/// Two nodes of eight CPUs.
fn node(policy: &str, scope: &str, rule: LinkRule, links: Vec<Link>) -> Node {
    node_by(Strategy::default(), policy, scope, rule, links)
}

fn node_by(strategy: Strategy, policy: &str, scope: &str, rule: LinkRule, links: Vec<Link>) -> Node {
    let info = fixture::machine("pack:2 [numa(memory=32GiB)] core:8 pu:1", 4);
    let config = fixture::config(&info, policy, scope, 1);
    let placement = Placement { strategy, ..Placement::default() };
    let options = OwnOptions { placement, ..OwnOptions::default() };
    let node = fixture::node(&info, &config, Compat::default(), options);
    let group = [ResourceName::new(GPU), ResourceName::new(VF)];
    let groups = BTreeMap::from([("fabric".to_owned(), BTreeSet::from(group))]);
    let distances = vec![Some(vec![10, 21]), Some(vec![21, 10])];
    node.with_links(Links::new(rule, links, groups, BTreeMap::new(), distances))
}

fn ledger(node: &Node, cards: &[Card]) -> Ledger {
    let of = |resource: &'static str| {
        let own = cards.iter().filter(move |card| card.resource == resource);
        own.map(|card| Device::new(&card.id(), &[card.node]))
    };
    node.empty_ledger()
        .with_inventory(Inventory::new(node.nodes().clone()).with(GPU, of(GPU)).with(VF, of(VF)))
}

fn link(kind: LinkKind, name: &str, cards: &[Card]) -> Link {
    Link { kind, name: name.to_owned(), members: cards.iter().map(|card| card.address()).collect() }
}

fn pod(name: &str, cpus: u64, gpus: u64, vfs: u64) -> Pod {
    fixture::pod(name, &[Asked { cpus, memory: 512, gpus, vfs, ..Asked::default() }])
}

/// What a pod of one container is given, and the ledger with it; the cause if it is refused.
fn admit(node: &Node, ledger: &Ledger, pod: &Pod) -> Result<(BTreeSet<DeviceId>, Ledger), Cause> {
    let attempt = node.admission(ledger, pod).attempt();
    match &attempt.verdict {
        Verdict::Admitted(placement) => {
            let devices = placement.containers[0].devices.values().flatten().cloned().collect();
            Ok((devices, ledger.commit(attempt).unwrap()))
        }
        Verdict::Refused(refused) => Err(refused.cause.clone()),
        Verdict::NeedsPlugin(_) => unreachable!("nobody is asked"),
    }
}

/// A server: on each node two switches with two GPUs and two functions each.
fn server() -> (Vec<Card>, Vec<Link>) {
    let switch = |node: i64, at: u8| {
        let card = |resource, bus| Card { resource, node, bus: 16 * at + bus };
        [card(GPU, 1), card(GPU, 2), card(VF, 3), card(VF, 4)]
    };
    let switches = [(0, 1), (0, 2), (1, 3), (1, 4)].map(|(node, at)| (at, switch(node, at)));
    let links = switches.iter().map(|(at, cards)| link(LinkKind::Switch, &format!("s{at}"), cards));
    (switches.iter().flat_map(|(_, cards)| *cards).collect(), links.collect())
}

fn names<'a>(devices: impl IntoIterator<Item = &'a DeviceId>) -> Vec<String> {
    devices.into_iter().map(|id| id.as_str()[5..7].to_owned()).collect()
}

#[test]
fn a_group_comes_from_the_switch_that_has_all_of_it() {
    let (cards, links) = server();
    let of = |rule| {
        let node = node("single-numa-node", "container", rule, links.clone());
        // The first switch has one GPU left, the second both.
        let (_, ledger) = admit(&node, &ledger(&node, &cards), &pod("a", 1, 1, 0)).unwrap();
        names(&admit(&node, &ledger, &pod("b", 1, 2, 2)).unwrap().0)
    };
    assert_eq!(of(LinkRule::Ignore), ["12", "13", "14", "21"]);
    assert_eq!(of(LinkRule::Prefer), ["21", "22", "23", "24"]);
    assert_eq!(of(LinkRule::Require), ["21", "22", "23", "24"]);
}

/// What pods are given under a strategy, one after the other, of two switches on the first node.
fn given_by(strategy: Strategy, rule: LinkRule, pods: &[(u64, u64)]) -> Vec<String> {
    let (cards, links) = server();
    let node = node_by(strategy, "single-numa-node", "container", rule, links);
    let mut ledger = ledger(&node, &cards[..8]);
    let pods = pods.iter().enumerate().map(|(at, (gpus, vfs))| pod(&format!("pod-{at}"), 1, *gpus, *vfs));
    let given = pods.map(|pod| {
        let (devices, after) = admit(&node, &ledger, &pod).unwrap();
        ledger = after;
        names(&devices).join(" ")
    });
    given.collect()
}

#[test]
fn only_keep_room_leaves_switches_whole_and_links_go_ahead() {
    let single = [(1, 0), (2, 0), (0, 1), (0, 1), (1, 0)];
    for strategy in Strategy::ALL.into_iter().filter(|strategy| *strategy != Strategy::KeepRoom) {
        let given = given_by(strategy, LinkRule::Ignore, &single);
        assert_eq!(given, ["11", "12 21", "13", "14", "22"], "{}", strategy.name());
    }
    for rule in LinkRule::ALL {
        let given = given_by(Strategy::KeepRoom, rule, &single);
        assert_eq!(given, ["11", "21 22", "13", "14", "12"], "{}", rule.name());
    }
    // What belongs together comes from one link, though the GPUs of the other have no function beside them any more.
    let group = [(0, 1), (0, 1), (2, 1)];
    for (rule, expected) in
        [(LinkRule::Ignore, "11 12 23"), (LinkRule::Prefer, "21 22 23"), (LinkRule::Require, "21 22 23")]
    {
        assert_eq!(given_by(Strategy::KeepRoom, rule, &group), ["13", "14", expected], "{}", rule.name());
    }
}

/// Sixteen nodes with a switch each, resources in no group: 256 ways to combine their switches.
#[test]
fn links_on_one_node_are_tried_before_others() {
    let info = fixture::machine("pack:16 [numa(memory=4GiB)] core:4 pu:1", 4);
    let config = fixture::config(&info, "single-numa-node", "container", 1);
    let node = fixture::node(&info, &config, Compat::default(), OwnOptions::default());
    let cards: Vec<[Card; 4]> = (0..16)
        .map(|at: u8| {
            let card = |resource, bus| Card { resource, node: at.into(), bus: 4 * at + bus };
            [card(GPU, 0), card(GPU, 1), card(VF, 2), card(VF, 3)]
        })
        .collect();
    let links = cards.iter().map(|cards| link(LinkKind::Switch, "s", cards)).collect();
    let node = node.with_links(Links::new(
        LinkRule::Require,
        links,
        BTreeMap::new(),
        BTreeMap::new(),
        vec![None; 16],
    ));
    let mut ledger = ledger(&node, &cards.concat());
    let mut full = 0;
    // Until the first five nodes have no CPU left.
    while full < 5 {
        let cpus = if full == 0 { 3 } else { 4 };
        ledger = admit(&node, &ledger, &pod(&format!("fill-{full}"), cpus, 0, 0)).unwrap().1;
        full += 1;
    }
    let (given, _) = admit(&node, &ledger, &pod("two", 1, 2, 2)).unwrap();
    assert_eq!(names(&given), ["14", "15", "16", "17"], "all of the sixth node");
}

#[test]
fn links_that_lie_inside_each_other_cost_no_more_than_others() {
    let card = |bus| Card { resource: GPU, node: 0, bus };
    let nested = (2..=60).map(|count: u8| {
        let cards: Vec<Card> = (0..count).map(card).collect();
        link(LinkKind::Port, &format!("p{count}"), &cards)
    });
    let links = Links::new(LinkRule::Prefer, nested.collect(), BTreeMap::new(), BTreeMap::new(), vec![]);
    // Those inside others come first.
    let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).take(3).collect();
    assert_eq!(names, ["p2", "p3", "p4"]);
}

#[test]
fn another_node_is_taken_where_a_link_has_all_of_it() {
    let (cards, links) = server();
    for rule in [LinkRule::Prefer, LinkRule::Require] {
        let node = node("restricted", "container", rule, links.clone());
        let mut ledger = ledger(&node, &cards);
        // One GPU of each switch of node 0 is held.
        for (name, gpus, vfs) in [("a", 1, 2), ("b", 1, 2)] {
            ledger = admit(&node, &ledger, &pod(name, 1, gpus, vfs)).unwrap().1;
        }
        assert_eq!(names(&admit(&node, &ledger, &pod("c", 1, 2, 0)).unwrap().0), ["31", "32"]);
        // The CPUs of node 1 do not suffice: GPUs of two switches are taken, or none.
        let full = admit(&node, &ledger, &pod("d", 7, 2, 2)).unwrap().1;
        match admit(&node, &full, &pod("e", 3, 2, 0)) {
            Ok((devices, _)) if rule == LinkRule::Prefer => assert_eq!(names(&devices), ["12", "22"]),
            Err(Cause::NotLinked(why)) if rule == LinkRule::Require => match *why {
                NotLinked::Elsewhere { links, .. } => assert_eq!(links.len(), 1),
                NotLinked::Lacks(lack) => panic!("{lack:?}"),
            },
            other => panic!("{rule:?}: {other:?}"),
        }
    }
}

#[test]
fn a_refusal_names_what_each_link_has_and_what_would_fit() {
    let (cards, links) = server();
    let node = node("best-effort", "container", LinkRule::Require, links);
    let ledger = ledger(&node, &cards);
    let pod = pod("a", 1, 4, 3);
    let (attempt, trace) = node.admission(&ledger, &pod).trace(Detail::Short);
    let Verdict::Refused(refused) = &attempt.verdict else { panic!("no switch has four GPUs") };
    assert_eq!(refused.reason.to_string(), "DeviceLinkError");
    assert_eq!(
        refused.message,
        "devices.links requires one link for 4 example.com/gpu and 3 example.com/vf, and none has them free"
    );
    let told = node.admission(&ledger, &pod).explain(refused, &trace, Tries::default());
    let changes: Vec<&Change> = told.would_fit.iter().map(|fits| &fits.change).collect();
    let [Change::AskLess(asks), Change::PreferLinks] = changes.as_slice() else { panic!("{changes:?}") };
    let fits: Vec<String> = asks.iter().map(|ask| format!("{} {}", ask.resource, ask.fits)).collect();
    assert_eq!(fits, ["example.com/gpu 2", "example.com/vf 2"]);
}

#[test]
fn the_containers_of_a_pod_share_a_link_under_scope_pod() {
    let (cards, links) = server();
    let two = [1, 1].map(|gpus| Asked { cpus: 1, memory: 512, gpus, ..Asked::default() });
    let given = |scope| {
        let node = node("single-numa-node", scope, LinkRule::Require, links.clone());
        let (_, ledger) = admit(&node, &ledger(&node, &cards), &pod("a", 1, 1, 0)).unwrap();
        let attempt = node.admission(&ledger, &fixture::pod("b", &two)).attempt();
        let Verdict::Admitted(placement) = attempt.verdict else { panic!("there are GPUs") };
        let each = placement.containers.iter().flat_map(|placed| placed.devices.values().flatten());
        names(each.collect::<Vec<_>>())
    };
    assert_eq!(given("container"), ["12", "21"]);
    assert_eq!(given("pod"), ["21", "22"]);
}

#[test]
fn devices_without_an_address_are_on_no_link() {
    let (cards, links) = server();
    let node = node("none", "container", LinkRule::Require, links);
    // Of a resource of which no address is known nothing is required.
    let inventory = Inventory::new(node.nodes().clone());
    let plain = |count: usize| (0..count).map(|at| Device::new(&format!("card-{at}"), &[0]));
    let ledger_of = |inventory| node.empty_ledger().with_inventory(inventory);
    let unknown = ledger_of(inventory.clone().with(GPU, plain(2)));
    assert!(admit(&node, &unknown, &pod("a", 1, 2, 0)).is_ok());
    // Of one with an address the others do not count.
    let known = Device::new(&cards[0].id(), &[0]);
    let mixed = ledger_of(inventory.with(GPU, plain(2).chain([known])));
    let Err(Cause::NotLinked(why)) = admit(&node, &mixed, &pod("b", 1, 2, 0)) else { panic!("one is known") };
    let NotLinked::Lacks(lack) = *why else { panic!("{why:?}") };
    assert_eq!(lack.unplaced, [(ResourceName::new(GPU), 2)]);
}

/// Every set of so many of these.
fn subsets(of: &[Card], count: usize) -> Vec<Vec<Card>> {
    match (count, of) {
        (0, _) => vec![Vec::new()],
        (_, []) => Vec::new(),
        (_, [first, rest @ ..]) => {
            let with = subsets(rest, count - 1).into_iter().map(|mut set| {
                set.push(*first);
                set
            });
            with.chain(subsets(rest, count)).collect()
        }
    }
}

/// All sets of devices that a pod could have: so many GPUs and functions of those that are free.
fn sets(free: &[Card], gpus: u64, vfs: u64) -> Vec<Vec<Card>> {
    let of = |resource| free.iter().copied().filter(|card| card.resource == resource).collect::<Vec<_>>();
    let gpu_sets = subsets(&of(GPU), usize::try_from(gpus).unwrap());
    let vf_sets = subsets(&of(VF), usize::try_from(vfs).unwrap());
    let both = gpu_sets.iter().flat_map(|gpus| vf_sets.iter().map(move |vfs| [&gpus[..], vfs].concat()));
    both.collect()
}

/// The cards among those of these ids.
fn given_of(cards: &[Card], ids: &BTreeSet<DeviceId>) -> Vec<Card> {
    cards.iter().copied().filter(|card| ids.contains(&DeviceId::new(&card.id()))).collect()
}

fn on(link: &Link, set: &[Card]) -> bool {
    set.iter().all(|card| link.members.contains(&card.address()))
}

/// How many links lie inside each other inside this one.
fn levels(link: &Link, all: &[Link]) -> usize {
    let inside = all
        .iter()
        .filter(|other| other.members.len() < link.members.len() && other.members.is_subset(&link.members));
    inside.map(|other| levels(other, all) + 1).max().unwrap_or(0)
}

/// How good a set on one link is: devices beside the nodes, then the kind of the link, then what is inside it.
fn key(set: &[Card], links: &[Link], near: Option<NodeMask>) -> Option<(usize, bool, usize)> {
    let is_beside = |card: &&Card| near.is_some_and(|near| !near.meets(NodeMask::from_bits(1 << card.node)));
    let beside = set.iter().filter(is_beside).count();
    let ranks = links.iter().filter(|link| on(link, set));
    let rank = ranks.map(|link| (link.kind == LinkKind::Domain, levels(link, links))).min()?;
    Some((beside, rank.0, rank.1))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Under `require` a pod is admitted exactly where some set of free devices is on one link, on a NUMA node with enough
    /// CPUs where the policy asks for that; what it is given is such a set, and of the innermost of these links. Under
    /// `prefer` it is admitted exactly where it is without links, on equally many nodes, and is given devices of one link
    /// wherever one of its nodes has such a set.
    #[test]
    fn links_are_as_a_search_of_all_sets_has_them(
        policy in proptest::sample::select(vec!["none", "best-effort", "restricted", "single-numa-node"]),
        scope in proptest::sample::select(vec!["container", "pod"]),
        places in proptest::collection::vec((proptest::bool::ANY, 0..2_i64, 0..4_usize), 1..9),
        inner in proptest::collection::vec(proptest::bool::ANY, 8),
        in_domain in proptest::collection::vec(proptest::bool::ANY, 8),
        pods in proptest::collection::vec((1..5_u64, 0..3_u64, 0..3_u64), 1..5),
        required in proptest::bool::ANY,
    ) {
        let cards: Vec<Card> = places.iter().enumerate().map(|(at, (is_gpu, node, _))| {
            let resource = if *is_gpu { GPU } else { VF };
            Card { resource, node: *node, bus: u8::try_from(at).unwrap() + 1 }
        }).collect();
        // Up to three root ports, one of them with a switch on which some of its devices are, and a domain across.
        let behind = |port| {
            let of = cards.iter().zip(&places).filter(move |(_, (_, _, on))| *on == port);
            of.map(|(card, _)| *card).collect::<Vec<Card>>()
        };
        let chosen = |from: &[Card], flags: &[bool]| {
            from.iter().copied().filter(|card| flags[usize::from(card.bus) - 1]).collect::<Vec<Card>>()
        };
        let mut links = vec![
            link(LinkKind::RootPort, "p0", &behind(0)),
            link(LinkKind::RootPort, "p1", &behind(1)),
            link(LinkKind::RootPort, "p2", &behind(2)),
            link(LinkKind::Switch, "s0", &chosen(&behind(0), &inner)),
            link(LinkKind::Domain, "d", &chosen(&cards, &in_domain)),
        ];
        links.retain(|link| link.members.len() > 1);
        let rule = if required { LinkRule::Require } else { LinkRule::Prefer };
        let node_of = |rule| node(policy, scope, rule, links.clone());
        let (linked, plain) = (node_of(rule), node_of(LinkRule::Ignore));
        let mut ledger = ledger(&linked, &cards);
        for (at, (cpus, gpus, vfs)) in pods.into_iter().enumerate() {
            let pod = pod(&format!("p{at}"), cpus, gpus, vfs);
            let taken = |card: &Card| {
                let ids = ledger.devices().taken(&ResourceName::new(card.resource));
                ids.is_some_and(|ids| ids.contains(&DeviceId::new(&card.id())))
            };
            let free: Vec<Card> = cards.iter().copied().filter(|card| !taken(card)).collect();
            let has_demand = gpus + vfs > 1;
            let one_link: Vec<Vec<Card>> = sets(&free, gpus, vfs)
                .into_iter()
                .filter(|set| !has_demand || links.iter().any(|link| on(link, set)))
                .collect();
            let without = admit(&plain, &ledger, &pod);
            let with = admit(&linked, &ledger, &pod);
            // Whether the pod could be where all of a set is, and what the policy asks for.
            let fits = |set: &[Card]| {
                let near: BTreeSet<i64> = set.iter().map(|card| card.node).collect();
                let one = near.iter().copied().max().unwrap_or(0);
                let has_cpus = |node: i64| {
                    let cpus_of = linked.cpus().unwrap().available(ledger.cpus().unwrap());
                    let own = if node == 0 { 0..8 } else { 8..16 };
                    cpus_of.iter().filter(|cpu| own.contains(&cpu.get())).count() as u64 >= cpus
                };
                match policy {
                    "single-numa-node" => near.len() < 2 && (near.is_empty() || has_cpus(one)),
                    _ => true,
                }
            };
            match (&with, rule) {
                (Ok((given, after)), LinkRule::Require) => {
                    let set = given_of(&cards, given);
                    prop_assert!(without.is_ok());
                    prop_assert!(!has_demand || links.iter().any(|link| on(link, &set)), "{set:?}");
                    if has_demand {
                        let near = after.hint(&pod.key(&pod.containers[0]));
                        let near = near.and_then(|hint| hint.affinity.nodes());
                        let best = one_link.iter().filter_map(|set| key(set, &links, near)).min();
                        prop_assert_eq!(key(&set, &links, near), best, "{:?}", set);
                    }
                }
                (Err(Cause::NotLinked(_)), LinkRule::Require) => {
                    // Without links it may be refused as well, for what is allocated after devices.
                    prop_assert!(has_demand);
                    if policy == "none" || policy == "best-effort" || policy == "single-numa-node" {
                        prop_assert!(!one_link.iter().any(|set| fits(set)), "{one_link:?}");
                    }
                }
                (Err(_), LinkRule::Require) => prop_assert!(without.is_err()),
                (with, _) => {
                    prop_assert_eq!(with.is_ok(), without.is_ok());
                    if let (Ok((given, after)), Ok((_, plain_after))) = (with, &without) {
                        let nodes = |ledger: &Ledger| -> Option<NodeMask> {
                            ledger.hint(&pod.key(&pod.containers[0]))?.affinity.nodes()
                        };
                        prop_assert_eq!(
                            nodes(after).map(NodeMask::len),
                            nodes(plain_after).map(NodeMask::len)
                        );
                        let on_nodes = |set: &&Vec<Card>| {
                            nodes(after).is_none_or(|near| {
                                set.iter().all(|card| near.meets(NodeMask::from_bits(1 << card.node)))
                            })
                        };
                        if has_demand && one_link.iter().any(|set| on_nodes(&set)) {
                            let set = given_of(&cards, given);
                            prop_assert!(links.iter().any(|link| on(link, &set)), "{set:?}");
                        }
                    }
                }
            }
            if let Ok((given, after)) = with {
                prop_assert_eq!(given.len() as u64, gpus + vfs);
                prop_assert_eq!(after.devices().has_pod(&PodUid::new(pod.uid.as_str())), gpus + vfs > 0);
                ledger = after;
            }
        }
    }
}
