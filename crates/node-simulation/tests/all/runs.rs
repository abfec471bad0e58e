//! Runs that are small enough to be followed by hand: two NUMA nodes of eight CPUs, the first of which is reserved.

use std::num::NonZeroU32;
use std::time::Duration;

use allocation_counter::measure;
use device_manager::{Device, Inventory};
use node_config::KubeletConfiguration;
use node_simulation::{
    Arrival, Distribution, Fleet, Host, Lifetime, NoObserver, NoPlugins, Outcome, Repack, Retry, Scheduler,
    Template, Weight, arrivals, fits_empty, lacking, run,
};
use pod_spec::{Container, Pod, PodLevelResources, ResourceList, ResourceName, Role};
use topology_admission::Node;
use topology_model::{KubeletView, MachineCore, MachineInfo, MachineNode};

fn view() -> KubeletView {
    let core = |cpu| MachineCore { thread_ids: Some(vec![cpu]), ..MachineCore::default() };
    let numa = |id: i64| MachineNode {
        id,
        cores: Some((8 * id..8 * id + 8).map(core).collect()),
        ..MachineNode::default()
    };
    let info = MachineInfo {
        num_cpus: 16,
        num_sockets: 1,
        memory_capacity: 1 << 40,
        topology: Some(vec![numa(0), numa(1)]),
        ..MachineInfo::default()
    };
    KubeletView::new(&info).unwrap()
}

fn node(view: &KubeletView, policy: &str) -> Node {
    let text = |text: &str| Some(text.to_owned());
    let config = KubeletConfiguration {
        cpu_manager_policy: text("static"),
        reserved_system_cpus: text("0"),
        topology_manager_policy: text(policy),
        ..KubeletConfiguration::default()
    };
    Node::start(view, &config).unwrap()
}

fn host<'a>(node: &'a Node, view: &KubeletView) -> Host<'a> {
    Host::new(node, view.cpus(), Inventory::new(view.nodes().clone()), &NoPlugins)
}

/// A Guaranteed pod of one container.
fn template(name: &str, cpus: &str, lifetime: Lifetime) -> Template {
    let limits: ResourceList =
        [("cpu".into(), cpus.parse().unwrap()), ("memory".into(), "1Gi".parse().unwrap())].into();
    let container = Container { name: "c".into(), role: Role::App, requests: limits.clone(), limits };
    let pod = Pod::new("default", name, vec![container]).with_defaults(PodLevelResources::Count);
    Template { name: name.to_owned(), pod, weight: Weight(NonZeroU32::MIN), lifetime }
}

/// When a pod comes, how many CPUs it asks for, and when it leaves, in seconds.
type Traced = (u64, usize, Option<u64>);

/// The sizes of pods that there are.
const SIZES: [usize; 4] = [4, 10, 5, 2];

fn simulate(policy: &str, machines: usize, scheduler: Scheduler, pods: &[Traced]) -> Outcome {
    simulate_with(policy, machines, scheduler, Retry::Never, pods)
}

fn simulate_with(
    policy: &str,
    machines: usize,
    scheduler: Scheduler,
    retry: Retry,
    pods: &[Traced],
) -> Outcome {
    simulate_moving(policy, machines, scheduler, (retry, None), pods)
}

fn simulate_moving(
    policy: &str,
    machines: usize,
    scheduler: Scheduler,
    (retry, repack): (Retry, Option<Repack>),
    pods: &[Traced],
) -> Outcome {
    let view = view();
    let node = node(&view, policy);
    let fleet = Fleet { hosts: vec![(host(&node, &view), machines)], scheduler, retry, repack };
    let kind = |size: usize| template(&format!("of-{size}"), &size.to_string(), Lifetime::Forever);
    let arrival = |(at, size, leaves): &Traced| Arrival {
        at: Duration::from_secs(*at),
        template: SIZES.iter().position(|own| own == size).unwrap(),
        stays: leaves.map(|leaves| Duration::from_secs(leaves - at)),
    };
    let arrivals: Vec<Arrival> = pods.iter().map(arrival).collect();
    run(&fleet, &SIZES.map(kind), &arrivals, &mut NoObserver)
}

fn about(value: f64, wanted: f64) {
    assert!((value - wanted).abs() < 1e-9, "{value} and not {wanted}");
}

fn moving(most: u32, seconds: u64) -> (Retry, Option<Repack>) {
    let (most, price) = (NonZeroU32::new(most).unwrap(), Duration::from_secs(seconds));
    (Retry::Never, Some(Repack { most, price }))
}

#[test]
fn a_pod_moves_so_that_a_refused_one_fits_and_runs_longer() {
    // Three CPUs are left of node 0 and four of node 1. The first pod of four goes to node 1, and that of five to node 0.
    let pods = [(0, 4, Some(100)), (0, 4, None), (1, 5, None), (200, 10, None)];
    let alone = simulate("single-numa-node", 1, Scheduler::Spread, &pods);
    assert_eq!((alone.admitted(), alone.moves), (2, 0));
    for scheduler in [Scheduler::Spread, Scheduler::Pack, Scheduler::Topolet] {
        let outcome = simulate_moving("single-numa-node", 1, scheduler, moving(1, 50), &pods);
        assert_eq!((outcome.admitted(), outcome.moves), (3, 1), "{scheduler:?}");
        // It leaves after 150 s in place of 100.
        assert_eq!([50, 120, 160].map(|at| outcome.steps[at].running), [3, 3, 2], "{scheduler:?}");
    }
}

#[test]
fn a_pod_moves_to_another_machine() {
    // Each machine has three CPUs left of node 0 and three of node 1; the second has no pod of two.
    let filled = [(0, 4, None), (0, 5, None), (0, 4, None), (0, 5, None), (1, 2, None), (2, 5, None)];
    let alone = simulate("single-numa-node", 2, Scheduler::Pack, &filled);
    let moved = simulate_moving("single-numa-node", 2, Scheduler::Pack, moving(1, 0), &filled);
    assert!(alone.admitted() <= moved.admitted(), "{} {}", alone.admitted(), moved.admitted());
    assert_eq!(moved.arrived(), moved.admitted() + moved.refused().values().sum::<u64>());
}

#[test]
fn what_no_move_helps_leaves_everything_as_it_was() {
    // Three CPUs are left of either node, and neither of the two pods finds a place elsewhere.
    let pods = [
        (0, 4, Some(90)),
        (0, 5, None),
        (1, 5, None),
        (2, 2, None),
        (3, 2, None),
        (4, 2, None),
        (200, 10, None),
    ];
    let outcome = simulate_moving("single-numa-node", 1, Scheduler::Spread, moving(2, 50), &pods);
    assert_eq!((outcome.admitted(), outcome.moves), (4, 0));
    assert_eq!([50, 100].map(|at| outcome.steps[at].running), [4, 3], "nothing runs longer");
}

#[test]
fn what_is_held_is_averaged_over_time() {
    // Four of the seven CPUs of node 0 for half of the time; of node 1 none.
    let outcome = simulate("single-numa-node", 1, Scheduler::Blind, &[(0, 4, Some(50)), (100, 4, None)]);
    assert_eq!((outcome.arrived(), outcome.admitted(), outcome.aligned()), (2, 2, 2));
    assert_eq!(outcome.span, Duration::from_secs(100));
    let held: Vec<f64> = outcome.hosts[0].numa.iter().map(|node| node.held[0].1).collect();
    about(held[0], 0.5 * 4.0 / 7.0);
    about(held[1], 0.0);
    assert_eq!([20, 180].map(|at| outcome.steps[at].running), [1, 0]);
    about(outcome.steps[50].cpus_held, 4.0 / 15.0);
}

#[test]
fn fragmentation_is_what_sums_promise_and_no_node_keeps() {
    // Five and two fill node 0 and the next two go to node 1, which has six left. When those on node 0 leave after a
    // second, two and six CPUs are free: in sum they promise two pods of four, one of five and four of two, and on the
    // nodes there is room for one, one and four. The pod of ten never fits a node and does not count.
    let pods = [(0, 5, None), (0, 2, Some(1)), (0, 2, None), (101, 4, None)];
    let outcome = simulate("single-numa-node", 1, Scheduler::Blind, &pods);
    assert_eq!(outcome.admitted(), 4);
    about(outcome.hosts[0].fragmentation, 100.0 / 101.0 / 7.0);
    // Two of seven CPUs are free on node 0, where pods of four and five have no room and pods of two have: the kinds that a
    // single node can hold are three. Node 1 has six free and room for all.
    let stranded = outcome.hosts[0].numa.iter().map(|node| node.stranded[0].1).collect::<Vec<f64>>();
    about(stranded[0], 100.0 / 101.0 * 2.0 / 7.0 * 2.0 / 3.0);
    about(stranded[1], 0.0);
}

#[test]
fn a_pod_that_needs_two_nodes_is_aligned_on_two() {
    let outcome = simulate("restricted", 1, Scheduler::Blind, &[(0, 10, None)]);
    assert_eq!((outcome.admitted(), outcome.aligned()), (1, 1));
    let refused = simulate("single-numa-node", 1, Scheduler::Blind, &[(0, 10, None)]);
    assert_eq!(refused.refused().into_iter().collect::<Vec<_>>(), [("TopologyAffinityError", 1)]);
    let view = view();
    let node = node(&view, "single-numa-node");
    let wide = template("wide", "10", Lifetime::Forever);
    let refused = fits_empty(&host(&node, &view), &wide).unwrap_err();
    assert!(refused.to_string().starts_with("TopologyAffinityError: "), "{refused}");
}

#[test]
fn what_leaves_at_the_moment_of_an_arrival_has_left() {
    let pods = [(0, 10, Some(10)), (10, 10, Some(20)), (15, 10, None)];
    let outcome = simulate("restricted", 1, Scheduler::Spread, &pods);
    assert_eq!(outcome.admitted(), 2);
    assert_eq!(outcome.refused()[Outcome::NO_ROOM], 1);
}

#[test]
fn a_scheduler_spreads_packs_or_looks_at_nothing() {
    // On two machines: spread, each has seven CPUs left when the pod of ten comes; packed, one has eleven.
    let pods: Vec<Traced> = (0..4).map(|at| (at, 4, None)).chain([(4, 10, None)]).collect();
    let refused = |scheduler| simulate("best-effort", 2, scheduler, &pods).refused().values().sum::<u64>();
    assert_eq!(refused(Scheduler::Spread), 1);
    assert_eq!(refused(Scheduler::Pack), 0);
    assert_eq!(refused(Scheduler::Blind), 1);
    let spread = simulate("best-effort", 2, Scheduler::Spread, &pods);
    assert_eq!(spread.refused()[Outcome::NO_ROOM], 1);
    let blind = simulate("best-effort", 2, Scheduler::Blind, &pods);
    assert!(!blind.refused().contains_key(Outcome::NO_ROOM), "the machine itself says why");
}

#[test]
fn a_machine_without_a_resource_gets_no_pods_that_ask_for_it() {
    // Three devices on the second machine, none on the first: each runs one pod, the others wait.
    let view = view();
    let node = node(&view, "restricted");
    let devices = (0..3).map(|at| Device::new(&format!("gpu-{at}"), &[0]));
    let gpu = ResourceName::new("example.com/gpu");
    let with = Inventory::new(view.nodes().clone()).with(gpu.clone(), devices.collect::<Vec<_>>());
    let with = || Host::new(&node, view.cpus(), with.clone(), &NoPlugins);
    for resource in ["example.com/gpu", "hugepages-1Gi"] {
        let mut template = template("asks", "1", Lifetime::Forever);
        let container = &mut template.pod.containers[0];
        for list in [&mut container.limits, &mut container.requests] {
            list.insert(resource.into(), "1".parse().unwrap());
        }
        for scheduler in [Scheduler::Spread, Scheduler::Pack] {
            let fleet = Fleet {
                hosts: vec![(host(&node, &view), 1), (with(), 1)],
                scheduler,
                retry: Retry::Never,
                repack: None,
            };
            let pods: Vec<Arrival> =
                (0..5).map(|at| Arrival { at: Duration::from_secs(at), template: 0, stays: None }).collect();
            let outcome = run(&fleet, std::slice::from_ref(&template), &pods, &mut NoObserver);
            let fit = if resource == "example.com/gpu" { 3 } else { 0 };
            assert_eq!(outcome.admitted(), fit, "{resource} {scheduler:?}");
            assert_eq!(outcome.refused()[Outcome::NO_ROOM], 5 - fit, "{resource} {scheduler:?}");
        }
        let first = lacking(&host(&node, &view), &template);
        assert_eq!(first, [ResourceName::new(resource)]);
    }
}

/// Every scheduler, with those that look at NUMA nodes last.
const ALL: [Scheduler; 6] = [
    Scheduler::Spread,
    Scheduler::Pack,
    Scheduler::Blind,
    Scheduler::TopologyMatch,
    Scheduler::Kai,
    Scheduler::Topolet,
];

#[test]
fn a_pod_that_a_node_refuses_comes_again_and_one_without_room_waits_for_a_departure() {
    // Five CPUs on each NUMA node leave two and three: in sum enough for four, and on no node. The first leaves after 50 s.
    let pods = [(0, 5, Some(50)), (0, 5, None), (10, 4, None)];
    let outcome = |scheduler| simulate_with("single-numa-node", 1, scheduler, Retry::BackOff, &pods);
    for scheduler in [Scheduler::Spread, Scheduler::Pack, Scheduler::Blind] {
        let outcome = outcome(scheduler);
        // At 10, 11, 13, 17, 25, 35 and 45 s it is refused, at 55 s it runs.
        assert_eq!(outcome.node_refusals().into_iter().collect::<Vec<_>>(), [("TopologyAffinityError", 7)]);
        assert_eq!(
            (outcome.admitted(), outcome.retries(), outcome.at_first_try()),
            (3, 7, 2),
            "{scheduler:?}"
        );
        assert_eq!(outcome.templates[0].waits, [Duration::from_secs(45)]);
    }
    for scheduler in [Scheduler::TopologyMatch, Scheduler::Kai, Scheduler::Topolet] {
        let outcome = outcome(scheduler);
        assert!(outcome.node_refusals().is_empty() && outcome.refused().is_empty(), "{scheduler:?}");
        assert_eq!((outcome.admitted(), outcome.retries()), (3, 1), "{scheduler:?}");
        assert_eq!(outcome.templates[0].waits, [Duration::from_secs(40)]);
    }
}

#[test]
fn a_pod_that_never_gets_room_is_given_up_when_nothing_changes_any_more() {
    let pods = [(0, 5, None), (0, 5, None), (10, 4, None), (20, 4, None)];
    for scheduler in ALL {
        let outcome = simulate_with("single-numa-node", 1, scheduler, Retry::BackOff, &pods);
        assert_eq!((outcome.arrived(), outcome.admitted()), (4, 2), "{scheduler:?}");
        let refused: u64 = outcome.refused().values().sum();
        assert_eq!(refused, 2, "{scheduler:?}");
        let by_node = outcome.refused().contains_key("TopologyAffinityError");
        assert_eq!(by_node, !outcome.node_refusals().is_empty(), "{scheduler:?}");
    }
}

#[test]
fn what_is_tried_once_comes_out_as_before() {
    let pods = [(0, 5, Some(50)), (0, 5, None), (10, 4, None)];
    let once = simulate("single-numa-node", 1, Scheduler::Spread, &pods);
    assert_eq!((once.admitted(), once.retries(), once.at_first_try()), (2, 0, 2));
    assert_eq!(once.refused(), once.node_refusals());
    assert!(once.templates.iter().all(|own| own.waits.is_empty()));
}

/// Pods of all sizes, which come and go on three machines.
fn mixed(policy: &str, scheduler: Scheduler, seed: u64) -> Outcome {
    let (view, memory) = (view(), Inventory::new(view().nodes().clone()));
    let node = node(&view, policy);
    let host = Host::new(&node, view.cpus(), memory, &NoPlugins);
    let fleet = Fleet { hosts: vec![(host, 3)], scheduler, retry: Retry::BackOff, repack: None };
    let hour = Lifetime::Drawn(Distribution::exponential(Duration::from_hours(1)).unwrap());
    let kinds = [template("two", "2", hour), template("three", "3", hour), template("six", "6", hour)];
    let pods = arrivals(&kinds, Distribution::exponential(Duration::from_mins(5)).unwrap(), 200, seed);
    run(&fleet, &kinds, &pods, &mut NoObserver)
}

#[test]
fn no_node_refuses_what_its_own_rules_have_chosen() {
    for policy in ["single-numa-node", "restricted", "best-effort"] {
        let refusals = |scheduler| {
            let each = (0..2).map(|seed| mixed(policy, scheduler, seed));
            each.map(|outcome| outcome.node_refusals().values().sum::<u64>()).sum::<u64>()
        };
        assert_eq!(refusals(Scheduler::Topolet), 0, "{policy}");
        let spread = refusals(Scheduler::Spread);
        match policy {
            // CPUs alone, each container by itself: published amounts say all of it.
            "single-numa-node" => {
                assert!(spread > 0);
                assert_eq!((refusals(Scheduler::TopologyMatch), refusals(Scheduler::Kai)), (0, 0));
            }
            // The scheduler plugins let every pod through.
            "restricted" => {
                assert!(spread > 0);
                assert_eq!((refusals(Scheduler::TopologyMatch), refusals(Scheduler::Kai)), (spread, 0));
            }
            _ => assert_eq!(spread, 0),
        }
    }
}

#[test]
fn whole_cores_are_no_published_amount() {
    // Cores of two CPUs. The other CPUs of two cores that are reserved by half are free, and of no use where whole cores are
    // required: six CPUs are published on NUMA node 0, and four can be given out.
    let info: MachineInfo = "pack:2 [numa(memory=8GiB)] core:4 pu:2".parse().unwrap();
    let view = KubeletView::new(&info).unwrap();
    let text = |text: &str| Some(text.to_owned());
    let mut config = KubeletConfiguration {
        cpu_manager_policy: text("static"),
        reserved_system_cpus: text("0,2"),
        topology_manager_policy: text("single-numa-node"),
        ..KubeletConfiguration::default()
    };
    config.cpu_manager_policy_options.insert("full-pcpus-only".to_owned(), "true".to_owned());
    let node = Node::start(&view, &config).unwrap();
    let kinds = [template("four", "4", Lifetime::Forever), template("two", "2", Lifetime::Forever)];
    let pods: Vec<Arrival> = [0, 0, 0, 1]
        .into_iter()
        .enumerate()
        .map(|(at, template)| Arrival { at: Duration::from_secs(at as u64), template, stays: None })
        .collect();
    let refusals = |scheduler| {
        let fleet =
            Fleet { hosts: vec![(host(&node, &view), 1)], scheduler, retry: Retry::Never, repack: None };
        let outcome = run(&fleet, &kinds, &pods, &mut NoObserver);
        (outcome.admitted(), outcome.node_refusals().values().sum::<u64>())
    };
    for scheduler in [Scheduler::Spread, Scheduler::TopologyMatch, Scheduler::Kai] {
        assert_eq!(refusals(scheduler), (3, 1), "{scheduler:?}");
    }
    assert_eq!(refusals(Scheduler::Topolet), (3, 0));
}

#[test]
fn work_grows_with_the_number_of_pods_and_no_faster() {
    let view = view();
    let node = node(&view, "restricted");
    let fleet = Fleet {
        hosts: vec![(host(&node, &view), 3)],
        scheduler: Scheduler::Spread,
        retry: Retry::Never,
        repack: None,
    };
    let hour = Lifetime::Drawn(Distribution::exponential(Duration::from_hours(1)).unwrap());
    let kinds = [template("small", "2", hour), template("large", "6", hour)];
    let every = Distribution::exponential(Duration::from_mins(10)).unwrap();
    let allocations = |count| {
        let pods = arrivals(&kinds, every, count, 1);
        let counted = measure(|| {
            assert_eq!(run(&fleet, &kinds, &pods, &mut NoObserver).arrived(), count as u64);
        });
        counted.count_total
    };
    let (few, many) = (allocations(500), allocations(4000));
    assert!(many < few * 9, "eight times the pods, {few} and {many} allocations");
}
