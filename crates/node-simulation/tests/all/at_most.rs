//! The bound against every way to place a few pods, and cases that are plain.

use std::num::NonZeroU32;
use std::time::Duration;

use device_manager::{Device, Inventory};
use node_config::KubeletConfiguration;
use node_simulation::{
    Arrival, Fleet, Host, Lifetime, Limits, NoObserver, NoPlugins, Retry, Scheduler, Template, Weight, run,
};
use pod_spec::{Container, Pod, PodLevelResources, ResourceList, Role};
use proptest::prelude::*;
use topology_admission::Node;
use topology_model::{KubeletView, MachineInfo};

/// [`KINDS`], and the one with an init container.
const ALL_KINDS: usize = 7;

/// CPUs of each NUMA node for pods: of the first one is reserved. Cards are on the second.
const CPUS: [u64; 3] = [7, 8, 8];
const CARDS: [u64; 3] = [0, 3, 0];

/// CPUs and cards of each container of a kind of pods.
const KINDS: [&[(u64, u64)]; 6] =
    [&[(4, 0)], &[(5, 0)], &[(2, 1)], &[(8, 0)], &[(3, 2), (3, 0)], &[(1, 0), (2, 0)]];

fn view() -> KubeletView {
    let info: MachineInfo = "pack:3 [numa(memory=64GiB)] core:8 pu:1".parse().unwrap();
    KubeletView::new(&info).unwrap()
}

fn node(view: &KubeletView, policy: &str, scope: &str) -> Node {
    let text = |text: &str| Some(text.to_owned());
    let config = KubeletConfiguration {
        cpu_manager_policy: text("static"),
        reserved_system_cpus: text("0"),
        topology_manager_policy: text(policy),
        topology_manager_scope: text(scope),
        ..KubeletConfiguration::default()
    };
    Node::start(view, &config).unwrap()
}

/// Of each kind, and one kind more.
fn templates() -> Vec<Template> {
    KINDS.iter().map(|containers| template(containers)).chain([with_init()]).collect()
}

/// A pod with a card, whose init container needs 8 CPUs and whose app needs 2.
fn with_init() -> Template {
    let mut template = template(&[(8, 0), (2, 1)]);
    template.pod.containers[0].role = Role::Init;
    template
}

fn template(containers: &[(u64, u64)]) -> Template {
    let container = |(at, (cpus, cards)): (usize, &(u64, u64))| {
        let mut limits: ResourceList =
            [("cpu".into(), cpus.to_string().parse().unwrap()), ("memory".into(), "1Gi".parse().unwrap())]
                .into();
        if *cards > 0 {
            limits.insert("acme.com/card".into(), cards.to_string().parse().unwrap());
        }
        Container {
            name: format!("c{at}").as_str().into(),
            role: Role::App,
            requests: limits.clone(),
            limits,
        }
    };
    let containers = containers.iter().enumerate().map(container).collect();
    let pod = Pod::new("default", "pod", containers).with_defaults(PodLevelResources::Count);
    Template { name: "pod".into(), pod, weight: Weight(NonZeroU32::MIN), lifetime: Lifetime::Forever }
}

/// When a pod arrives, its kind, and how long it stays; times in seconds.
type Traced = (u64, usize, u64);

/// The bound, and how many are admitted by the kubelet's rules.
fn bound(policy: &str, scope: &str, pods: &[Traced]) -> (u64, u64) {
    let view = view();
    let node = node(&view, policy, scope);
    let cards = (0..CARDS[1]).map(|at| Device::new(&format!("card-{at}"), &[1]));
    let inventory = Inventory::new(view.nodes().clone()).with("acme.com/card", cards);
    let host = Host::new(&node, view.cpus(), inventory, &NoPlugins);
    let fleet =
        Fleet { hosts: vec![(host, 1)], scheduler: Scheduler::Blind, retry: Retry::Never, repack: None };
    let templates = templates();
    let arrival = |(at, kind, stays): &Traced| Arrival {
        at: Duration::from_secs(*at),
        template: *kind,
        stays: Some(Duration::from_secs(*stays)),
    };
    let arrivals: Vec<Arrival> = pods.iter().map(arrival).collect();
    let admitted = run(&fleet, &templates, &arrivals, &mut NoObserver).admitted();
    (Limits::new(&fleet, &templates).unwrap().at_most(&arrivals, 0), admitted)
}

/// A unit: its node, CPUs and cards.
type OnNode = (usize, u64, u64);

/// When each pod leaves, and its units.
type Placed = Vec<(u64, Vec<OnNode>)>;

/// What is done with a pod's units and with all that runs.
type Then<'a> = &'a mut dyn FnMut(&[OnNode], &mut Placed);

/// The most that can run when each unit lies on one node: every subset, every way.
fn most(pods: &[Traced], placed: &mut Placed) -> u64 {
    let Some(((at, kind, stays), later)) = pods.split_first() else { return 0 };
    let here = most(later, placed);
    let mut best = here;
    let mut chosen = Vec::new();
    place(KINDS[*kind], *at, &mut chosen, placed, &mut |units, placed| {
        placed.push((at + stays, units.to_vec()));
        best = best.max(1 + most(later, placed));
        placed.pop();
    });
    best
}

/// Every way to put `units` onto nodes beside what runs at the moment.
fn place(units: &[(u64, u64)], now: u64, chosen: &mut Vec<OnNode>, placed: &mut Placed, then: Then<'_>) {
    let Some(((cpus, cards), others)) = units.split_first() else { return then(chosen, placed) };
    for node in 0..CPUS.len() {
        let runs = placed.iter().filter(|(leaves, _)| *leaves > now).flat_map(|(_, units)| units);
        let on_node = runs.chain(chosen.iter()).filter(|(at, ..)| *at == node);
        let (used, held) = on_node.fold((0, 0), |(used, held), (_, cpus, cards)| (used + cpus, held + cards));
        if used + cpus <= CPUS[node] && held + cards <= CARDS[node] {
            chosen.push((node, *cpus, *cards));
            place(others, now, chosen, placed, then);
            chosen.pop();
        }
    }
}

#[test]
fn plain_cases_are_exact() {
    let forever = |kinds: &[usize]| kinds.iter().map(|kind| (0, *kind, 1000)).collect::<Vec<Traced>>();
    for (kinds, expected, why) in [
        (&[0; 7][..], 5, "of four CPUs one fits seven and two fit eight"),
        (&[1; 7], 3, "one of five on each node, though 23 CPUs would hold four"),
        (&[3; 3], 2, "eight fit no node of seven"),
        (&[2; 5], 3, "three cards"),
        (&[4; 3], 1, "two cards of three, once"),
        (&[], 0, "nobody comes"),
    ] {
        assert_eq!(bound("single-numa-node", "container", &forever(kinds)).0, expected, "{why}");
    }
    assert_eq!(
        bound("best-effort", "container", &forever(&[1; 7])).0,
        4,
        "spread over nodes all CPUs can be held"
    );
}

#[test]
fn pods_that_have_left_take_nothing() {
    assert_eq!(bound("single-numa-node", "container", &[(0, 3, 10), (0, 3, 10), (9, 3, 5), (10, 3, 5)]).0, 3);
}

/// Beside two CPUs and one card of the first there is room for the second, once the CPUs of the init container are free.
#[test]
fn what_init_containers_leave_may_be_free() {
    for scope in ["container", "pod"] {
        assert_eq!(bound("single-numa-node", scope, &[(0, 6, 100), (1, 4, 100)]).0, 2, "{scope}");
    }
}

#[test]
fn nothing_is_known_where_pods_come_again() {
    let view = view();
    let node = node(&view, "none", "container");
    let host = || Host::new(&node, view.cpus(), Inventory::new(view.nodes().clone()), &NoPlugins);
    let fleet = |retry| Fleet { hosts: vec![(host(), 1)], scheduler: Scheduler::Blind, retry, repack: None };
    assert_eq!(Limits::new(&fleet(Retry::BackOff), &KINDS.map(template)), None);
    let mut critical = template(KINDS[0]);
    critical.pod.constraints.priority = 2_000_000_000;
    assert_eq!(Limits::new(&fleet(Retry::Never), &[critical]), None);
}

/// Pods with the time between each two.
fn one_after_the_other(pods: Vec<Traced>) -> Vec<Traced> {
    let mut now = 0;
    let at = |(gap, kind, stays)| {
        now += gap;
        (now, kind, stays)
    };
    pods.into_iter().map(at).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_placement_admits_more(
        pods in proptest::collection::vec((0..4_u64, 0..KINDS.len(), 1..30_u64), 0..8),
    ) {
        let pods = one_after_the_other(pods);
        let (bound, admitted) = bound("single-numa-node", "container", &pods);
        let most = most(&pods, &mut Vec::new());
        prop_assert!(admitted <= most && most <= bound, "{admitted} <= {most} <= {bound}");
        prop_assert!(bound <= most + 2, "{most} and {bound}: no bound to speak of");
    }

    #[test]
    fn no_policy_admits_more(
        policy in proptest::sample::select(vec!["none", "best-effort", "restricted", "single-numa-node"]),
        scope in proptest::sample::select(vec!["container", "pod"]),
        pods in proptest::collection::vec((0..3_u64, 0..ALL_KINDS, 1..60_u64), 0..60),
    ) {
        let pods = one_after_the_other(pods);
        let (bound, admitted) = bound(policy, scope, &pods);
        prop_assert!(admitted <= bound && bound <= pods.len() as u64, "{admitted} <= {bound}");
    }
}
