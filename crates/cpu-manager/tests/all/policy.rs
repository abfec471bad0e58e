//! Whole pods: what containers get, what is left, and why not.

use crate::machines::{hybrid, irregular, machine, set};
use crate::pods::{container, pod, policy};
use cpu_manager::{
    Alignment, Baselines, BusySibling, Config, Granted, Holdings, NotPinned, Options, Order, PodLevel,
    Reserved, ReservedCpus, Static, WholeCores,
};
use kubelet_release::WholeCoreCheck;
use numa_bitmask::NodeMask;
use pod_spec::{ContainerName, Pod, PodResources, PodUid, Role, Unit};
use proptest::prelude::*;
use topology_hint::{Affinity, Answer, Answers, Preference};
use topology_model::Nodes;

const ALONE: &[(&str, Role, &str)] = &[("app", Role::App, "4")];

fn reserving(count: usize) -> Config {
    Config { reserved: Reserved::count(count), ..Config::default() }
}

fn node(index: usize) -> Affinity {
    Affinity::Nodes(NodeMask::from_bits(1 << index))
}

/// Serves the containers in order. Returns the holdings, and for each container its CPUs or why it has none.
fn admit(policy: &Static, held: &Holdings, pod: &Pod, near: Affinity) -> (Holdings, Vec<String>) {
    let mut held = held.clone();
    let mut told = Vec::new();
    for container in &pod.containers {
        told.push(match policy.allocate(&held, pod, container, near) {
            Ok(allocation) => {
                held = allocation.after;
                match allocation.granted {
                    Granted::Exclusive(cpus) => cpus.to_string(),
                    Granted::SharedPool(reason) => format!("{reason:?}"),
                }
            }
            Err(error) => error.to_string(),
        });
    }
    (held, told)
}

#[test]
fn pods_get_their_cpus_near_their_nodes() {
    // 2 sockets of 4 cores: node 0 has 0-3,8-11, node 1 has 4-7,12-15. Reserved is core 0.
    let policy = policy(&machine(2, 1, 1, 4), reserving(2));
    assert_eq!(policy.reserved().to_string(), "0,8");
    let empty = policy.initial();
    for (near, containers, expected) in [
        (Affinity::Any, ALONE, &["1-2,9-10"][..]),
        (node(1), ALONE, &["4-5,12-13"]),
        // Seven on node 0, where only six are free.
        (node(0), &[("app", Role::App, "7")], &["1-4,9-11"]),
        // A node set without CPUs aligns nothing.
        (node(9), ALONE, &["1-2,9-10"]),
        (
            Affinity::Any,
            &[("app", Role::App, "15")],
            &["not enough cpus available to satisfy request: requested=15, available=14"],
        ),
        // Init containers leave their CPUs to the next ones, a sidecar keeps its own out.
        (
            Affinity::Any,
            &[
                ("i", Role::Init, "4"),
                ("side", Role::Sidecar, "2"),
                ("j", Role::Init, "2"),
                ("app", Role::App, "3"),
            ],
            &["1-2,9-10", "1,9", "2,10", "2-3,10"],
        ),
        (
            Affinity::Any,
            &[("whole", Role::App, "2"), ("half", Role::App, "1500m")],
            &["1,9", "FractionalCpu"],
        ),
        // Both of the kubelet's roundings go up, so this counts as 2.
        (Affinity::Any, &[("odd", Role::App, "1999500u")], &["1,9"]),
    ] {
        let (_, told) = admit(&policy, &empty, &pod("p", containers), near);
        assert_eq!(told, expected, "{containers:?}");
    }
}

#[test]
fn unpinned_containers_are_told_why() {
    let policy = |pod_level| policy(&machine(2, 1, 1, 4), Config { pod_level, ..reserving(2) });
    let burstable = {
        let mut pod = pod("p", ALONE);
        pod.containers[0].limits.clear();
        pod
    };
    let no_request = {
        let mut pod = pod("p", &[("app", Role::App, "")]);
        pod.status_qos = Some(pod_spec::QosClass::Guaranteed);
        pod
    };
    // As many CPUs as a kubelet counts below zero, and as zero.
    let too_many =
        ["9223372036854775808", "18446744073709551616"].map(|cpus| pod("p", &[("app", Role::App, cpus)]));
    let pod_level = {
        let mut pod = pod("p", &[("own", Role::App, "2"), ("shares", Role::App, "2")]);
        let whole = container("", Role::App, "6");
        pod.resources = Some(PodResources { requests: whole.requests, limits: whole.limits });
        pod.containers[1].limits.clear();
        pod
    };
    for (pod, level, expected) in [
        (&burstable, PodLevel::NotPinned, &[NotPinned::NotGuaranteed][..]),
        (&no_request, PodLevel::NotPinned, &[NotPinned::NoCpuRequest]),
        (&too_many[0], PodLevel::NotPinned, &[NotPinned::TooManyCpus]),
        (&too_many[1], PodLevel::NotPinned, &[NotPinned::TooManyCpus]),
        (&pod_level, PodLevel::NotPinned, &[NotPinned::PodLevel; 2]),
        (&pod_level, PodLevel::Ignored, &[NotPinned::NotGuaranteed; 2]),
    ] {
        let policy = policy(level);
        let (held, told) = admit(&policy, &policy.initial(), pod, Affinity::Any);
        let expected: Vec<_> = expected.iter().map(|reason| format!("{reason:?}")).collect();
        assert_eq!(told, expected);
        assert_eq!(held, policy.initial(), "nothing is taken");
        let mut answers = Answers::new();
        policy.hints(&held, Unit::Container(pod, &pod.containers[0]), &mut answers);
        assert!(answers.is_empty(), "and there is no opinion where to be");
    }
    let policy = policy(PodLevel::Managed);
    let (_, told) = admit(&policy, &policy.initial(), &pod_level, Affinity::Any);
    assert_eq!(told, ["1,9", "PodLevel"]);
}

#[test]
fn release_gives_back_what_nobody_else_of_the_pod_holds() {
    let policy = policy(&machine(2, 1, 1, 4), reserving(2));
    let (uid, name) = (PodUid::new("p"), ContainerName::new);
    let shares = pod("p", &[("i", Role::Init, "4"), ("app", Role::App, "2")]);
    let (held, _) = admit(&policy, &policy.initial(), &shares, Affinity::Any);
    let (held, _) = admit(&policy, &held, &pod("q", ALONE), Affinity::Any);
    assert_eq!(held.shared().to_string(), "0,5-8,13-15");
    assert!(held.reusable(&uid).is_none(), "another pod came in between");

    let without_init = held.release(&uid, &name("i"));
    assert_eq!(without_init.shared().to_string(), "0,2,5-8,10,13-15");
    assert_eq!(without_init.release(&uid, &name("i")), without_init, "once is enough");
    let alive = held.retain(|pod, _| *pod != uid);
    assert_eq!(alive.iter().map(|(pod, ..)| pod.as_str()).collect::<Vec<_>>(), ["q"]);
    assert_eq!(alive.shared().to_string(), "0-2,5-10,13-15");
    assert_eq!(held.retain(|_, _| true), held);
}

#[test]
fn container_that_is_served_keeps_its_cpus() {
    let config =
        |whole_cores| Config { options: Options { whole_cores, ..Options::default() }, ..reserving(2) };
    let eight = pod("p", &[("app", Role::App, "8")]);
    for (whole_cores, again) in [
        (WholeCores::NotRequired, "4-7,12-15"),
        // After a restart the kubelet looks for a second place before it sees the first.
        (
            WholeCores::Required,
            "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 6, \
             requested CPUs = 8, CPUs per core = 2",
        ),
    ] {
        let policy = policy(&machine(2, 1, 1, 4), config(whole_cores));
        let (held, first) = admit(&policy, &policy.initial(), &eight, Affinity::Any);
        assert_eq!(first, ["4-7,12-15"]);
        let (after, told) = admit(&policy, &held, &eight, Affinity::Any);
        assert_eq!((after, told), (held, vec![again.to_owned()]));
    }
    // Later releases see the first one, and ask for whole cores only then: also after the option was switched on.
    let check = Config { whole_core_check: WholeCoreCheck::NewContainers, ..config(WholeCores::Required) };
    let later = policy(&machine(2, 1, 1, 4), check);
    let (held, first) = admit(&later, &later.initial(), &eight, Affinity::Any);
    assert_eq!(admit(&later, &held, &eight, Affinity::Any), (held, first));
    let before = policy(&machine(2, 1, 1, 4), config(WholeCores::NotRequired));
    let three = pod("p", &[("app", Role::App, "3")]);
    let (held, first) = admit(&before, &before.initial(), &three, Affinity::Any);
    assert_eq!(admit(&later, &held, &three, Affinity::Any), (held, first));
    let (_, told) = admit(&later, &later.initial(), &three, Affinity::Any);
    assert_eq!(told, ["SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"]);

    let whole = policy(&machine(2, 1, 1, 4), config(WholeCores::Required));
    let (_, told) = admit(&whole, &whole.initial(), &pod("p", &[("app", Role::App, "3")]), Affinity::Any);
    assert_eq!(told, ["SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"]);
}

#[test]
fn first_cpus_are_remembered_until_the_container_is_released() {
    let shown = |held: &Holdings| {
        let each = held.baselines().map(|(pod, name, cpus)| format!("{pod}/{name} {cpus}"));
        each.collect::<Vec<_>>()
    };
    let (one, two) = (pod("p", &[("app", Role::App, "2"), ("b", Role::App, "2")]), pod("q", ALONE));
    for (baselines, expected) in
        [(Baselines::Forgotten, &[][..]), (Baselines::Kept, &["p/app 1,9", "p/b 2,10"])]
    {
        let policy = policy(&machine(2, 1, 1, 4), Config { baselines, ..reserving(2) });
        let (held, _) = admit(&policy, &policy.initial(), &one, Affinity::Any);
        assert_eq!(shown(&held), expected);
        let (both, _) = admit(&policy, &held, &two, Affinity::Any);
        assert_eq!(shown(&both.release_pod(&two.uid)), expected);
        assert_eq!(shown(&both.release_pod(&one.uid)).len(), expected.len() / 2);
        // What was remembered before a restart stays.
        let app = ContainerName::new("app");
        let stored = policy.initial().with_baselines([(one.uid.clone(), app, set("7"))]);
        let (held, _) = admit(&policy, &stored, &one, Affinity::Any);
        assert!(shown(&held).contains(&"p/app 7".to_owned()));
        assert!(!held.is_stored_as(&policy.initial()));
    }
}

#[test]
fn configuration_is_checked() {
    let cpus = machine(2, 1, 1, 4);
    let many_sockets = irregular(&[(0, 0, 0, &[0]), (1, 0, 0, &[1])]);
    let options = |options| Config { options, ..reserving(1) };
    for (cpus, config, expected) in [
        (
            &cpus,
            Config { reserved: Reserved::cpus(set("0,16")), ..Config::default() },
            "[cpumanager] unable to build the reserved physical CPUs from the reserved set: unknown CPU ID: 16",
        ),
        (
            &cpus,
            Config { reserved: Reserved { explicit: set("0-2"), count: 2 }, ..Config::default() },
            "[cpumanager] unable to reserve the required amount of CPUs (size of 0-2 did not equal 2)",
        ),
        (
            &cpus,
            reserving(17),
            "[cpumanager] unable to reserve the required amount of CPUs (size of  did not equal 17)",
        ),
        (
            &cpus,
            options(Options {
                order: Order::AcrossCores,
                whole_cores: WholeCores::Required,
                ..Options::default()
            }),
            "static policy options full-pcpus-only and distribute-cpus-across-cores can not be used at the same time",
        ),
        (
            &many_sockets,
            options(Options { alignment: Alignment::BySocket, ..Options::default() }),
            "Align by socket is not compatible with hardware where number of sockets are more than number of NUMA",
        ),
    ] {
        let nodes = Nodes::new(cpus.nodes().map(|(id, _)| id)).unwrap();
        assert_eq!(Static::new(cpus, &nodes, config).unwrap_err().to_string(), expected);
    }
    let amount = |text: &str| text.parse().unwrap();
    for (text, count) in [("1", 1), ("1001m", 2), ("100u", 1), ("2", 2)] {
        assert_eq!(Reserved::configured(set(""), Some(&amount(text))), Ok(Reserved::count(count)));
    }
    for amount in [None, Some(amount("0")), Some(amount("-1"))] {
        assert!(Reserved::configured(set(""), amount.as_ref()).is_err());
    }
}

#[test]
fn odd_requests_and_reservations_are_answered() {
    let cpus = machine(2, 1, 1, 4);
    let serve = |policy: &Static, cpu: &str| {
        admit(policy, &policy.initial(), &pod("p", &[("app", Role::App, cpu)]), Affinity::Any).1.concat()
    };
    let plain = policy(&cpus, reserving(2));
    for (cpu, expected) in [
        ("0", "NotGuaranteed"),
        ("-2", "NotGuaranteed"),
        ("100m", "FractionalCpu"),
        ("1n", "FractionalCpu"),
        (
            "9223372036854775807",
            "not enough cpus available to satisfy request: requested=9223372036854775807, available=14",
        ),
        // Beyond 64 bits amounts wrap, as in the kubelet.
        (
            "99999999999999999999",
            "not enough cpus available to satisfy request: requested=7766279631452241919, available=14",
        ),
    ] {
        assert_eq!(serve(&plain, cpu), expected, "{cpu}");
    }
    // Everything reserved is allowed, and nothing is left to give.
    let all = policy(&cpus, Config { reserved: Reserved::cpus(cpus.all().clone()), ..Config::default() });
    assert_eq!(all.allocatable().to_string(), "");
    assert_eq!(serve(&all, "1"), "not enough cpus available to satisfy request: requested=1, available=0");
}

#[test]
fn hints_are_a_family_of_nodes() {
    let policy = policy(&machine(2, 2, 1, 4), reserving(2));
    let list = |held: &Holdings, pod: &Pod, unit: fn(&Pod) -> Unit<'_>| {
        let mut answers = Answers::new();
        policy.hints(held, unit(pod), &mut answers);
        match answers.get(0).map(|(_, answer)| answer) {
            None => "no opinion".to_owned(),
            Some(Answer::Family(family)) => {
                let hints = family.listed(NodeMask::all(4)).map(|hint| {
                    let mark = if hint.hint.preference == Preference::Preferred { "!" } else { "" };
                    format!("{:b}{mark}", hint.hint.affinity.nodes().unwrap().to_bits())
                });
                hints.collect::<Vec<_>>().join(" ")
            }
            Some(_) => "impossible".to_owned(),
        }
    };
    let app: fn(&Pod) -> Unit<'_> = |pod| Unit::Container(pod, &pod.containers[pod.containers.len() - 1]);
    let empty = policy.initial();
    // A node has eight CPUs, node 0 six that are not reserved.
    let eight = pod("p", &[("app", Role::App, "8")]);
    assert_eq!(list(&empty, &eight, app), "10! 100! 1000! 11 101 1001 110 1010 1100 111 1011 1101 1110 1111");
    assert_eq!(list(&empty, &pod("p", &[("app", Role::App, "29")]), app), "1111!");
    assert_eq!(list(&empty, &pod("p", &[("app", Role::App, "31")]), app), "", "more than there is");

    // What the pod holds already, and nothing else; or another number than it asks for.
    let (held, _) = admit(&policy, &empty, &eight, node(1));
    assert_eq!(list(&held, &eight, app), "10! 11 110 1010 111 1011 1110 1111");
    assert_eq!(list(&held, &pod("p", &[("app", Role::App, "7")]), app), "impossible");

    // What an init container left must be inside.
    let initial = pod("p", &[("i", Role::Init, "4"), ("app", Role::App, "6")]);
    let after_init = policy.allocate(&empty, &initial, &initial.containers[0], node(2)).unwrap().after;
    assert_eq!(list(&after_init, &initial, app), "100! 101 110 1100 111 1101 1110 1111");

    // A pod as a whole: the larger of its steps.
    let steps = pod("p", &[("i", Role::Init, "8"), ("side", Role::Sidecar, "3"), ("app", Role::App, "7")]);
    assert!(list(&empty, &steps, |pod| Unit::Pod(pod)).starts_with("11! 101!"), "ten CPUs");
}

#[test]
fn nodes_say_what_they_have() {
    let policy = policy(&machine(2, 1, 1, 4), reserving(2));
    let on_nodes = |held: &Holdings, pod: &Pod| {
        policy.on_nodes(held, &pod.uid).map(|on| (on.free, on.allocatable)).collect::<Vec<_>>()
    };
    let steps = pod("p", &[("i", Role::Init, "4"), ("app", Role::App, "2"), ("half", Role::App, "500m")]);
    let asked = steps.containers.iter().map(|container| policy.asked(Unit::Container(&steps, container)));
    assert_eq!(asked.collect::<Vec<_>>(), [Some(4), Some(2), None]);
    assert_eq!(policy.asked(Unit::Pod(&steps)), Some(4));
    assert_eq!(on_nodes(&policy.initial(), &steps), [(6, 6), (8, 8)], "two of node 0 are reserved");
    let init = &steps.containers[0];
    let held = policy.allocate(&policy.initial(), &steps, init, Affinity::Any).unwrap().after;
    assert_eq!(on_nodes(&held, &steps), [(6, 6), (8, 8)], "what the init container leaves is its pod's");
    assert_eq!(on_nodes(&held, &pod("q", ALONE)), [(2, 6), (8, 8)]);
}

#[test]
fn decisions_can_be_made_on_any_thread() {
    fn is_shared<T: Send + Sync + 'static>() {}
    is_shared::<Static>();
    is_shared::<Holdings>();
}

#[test]
fn sockets_can_be_what_is_aligned() {
    let options = Options { alignment: Alignment::BySocket, ..Options::default() };
    let policy = policy(&machine(2, 2, 1, 4), Config { options, ..reserving(2) });
    // Node 2 has eight CPUs, its socket sixteen.
    let (_, told) = admit(&policy, &policy.initial(), &pod("p", &[("app", Role::App, "9")]), node(2));
    assert_eq!(told, ["8-12,24-27"]);
    let mut answers = Answers::new();
    let pod = pod("p", ALONE);
    policy.hints(&policy.initial(), Unit::Pod(&pod), &mut answers);
    let Some((_, Answer::Family(family))) = answers.get(0) else { panic!("a family") };
    assert_eq!(family.accepts(NodeMask::from_bits(0b1100)), Some(Preference::Preferred), "one socket");
    assert_eq!(family.accepts(NodeMask::from_bits(0b0110)), Some(Preference::Acceptable), "two sockets");
}

#[test]
fn stored_holdings_must_fit() {
    let cpus = machine(2, 1, 1, 4);
    let loose = policy(&cpus, reserving(2));
    let options = Options { reserved: ReservedCpus::SystemOnly, ..Options::default() };
    let strict = policy(&cpus, Config { options, ..reserving(2) });
    assert_eq!(strict.initial().shared().to_string(), "1-7,9-15");
    let stored = |shared: &str, own: &str| {
        let own = (!own.is_empty()).then(|| (PodUid::new("u"), ContainerName::new("c"), set(own)));
        Holdings::new(set(shared), own)
    };
    for (policy, shared, own, expected) in [
        (&loose, "", "", "0-15"),
        (&strict, "", "", "1-7,9-15"),
        (&loose, "0,2-8,10-15", "1,9", "0,2-8,10-15"),
        (&strict, "2-7,10-15", "1,9", "2-7,10-15"),
        (&loose, "", "0-15", "default cpuset cannot be empty"),
        (
            &strict,
            "0-15",
            "",
            "some of strictly reserved cpus: \"0,8\" are present in defaultCpuSet: \"0-15\"",
        ),
        (&loose, "1-15", "", "not all reserved cpus: \"0,8\" are present in defaultCpuSet: \"1-15\""),
        (&loose, "0-15", "3", "pod: u, container: c cpuset: \"3\" overlaps with default cpuset \"0-15\""),
        (
            &loose,
            "0-14",
            "",
            "current set of available CPUs \"0-15\" doesn't match with CPUs in state \"0-14\"",
        ),
    ] {
        let started = match policy.restore(stored(shared, own)) {
            Ok(held) => held.shared().to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(started, expected, "{shared} and {own}");
    }
    let twice = ["u", "v"].map(|pod| (PodUid::new(pod), ContainerName::new("c"), set("1,9")));
    let two_owners = Holdings::new(set("0"), twice).two_owners().unwrap();
    assert_eq!((two_owners.pods, two_owners.cpus), ([PodUid::new("u"), PodUid::new("v")], set("1,9")));
}

proptest! {
    /// Whatever comes and goes: every CPU is in the pool or with one pod, also where cores are not alike.
    #[test]
    fn every_cpu_has_one_owner(
        steps in prop::collection::vec((0..6_usize, 1..5_usize, 0..4_u64, any::<bool>()), 1..24),
        order in prop::sample::select(vec![Order::Packed, Order::ByCache, Order::AcrossCores, Order::AcrossNodes]),
        on_hybrid in any::<bool>(),
    ) {
        let cpus = if on_hybrid { hybrid() } else { machine(2, 2, 2, 2) };
        let options = Options { order, ..Options::default() };
        let config = Config { options, busy_sibling: BusySibling::Skip, ..reserving(2) };
        let policy = policy(&cpus, config);
        let mut held = policy.initial();
        for (uid, count, near, leaves) in steps {
            let uid = format!("p{uid}");
            if leaves {
                held = held.retain(|pod, _| pod.as_str() != uid);
            } else {
                let count = count.to_string();
                let containers = [("i", Role::Init, count.as_str()), ("app", Role::App, "2")];
                let near = Affinity::Nodes(NodeMask::from_bits(near));
                held = admit(&policy, &held, &pod(&uid, &containers), near).0;
            }
            prop_assert_eq!(policy.check(&held), Ok(()));
            prop_assert_eq!(held.two_owners(), None);
            prop_assert!(held.iter().all(|(_, _, cpus)| cpus.is_disjoint(policy.reserved())));
        }
        prop_assert_eq!(held.retain(|_, _| false).shared().clone(), policy.initial().shared().clone());
    }

    /// A hint that was given can be honoured: the CPUs are on its nodes.
    #[test]
    fn hints_are_honoured(taken in any::<u32>(), count in 1..16_usize) {
        let policy = policy(&machine(2, 2, 2, 2), reserving(2));
        let taken = policy.all().iter().filter(|cpu| taken & (1 << cpu.get()) != 0).collect();
        let held = Holdings::new(&(policy.all() - &taken) | policy.reserved(), []);
        let pod = pod("p", &[("app", Role::App, count.to_string().as_str())]);
        let mut answers = Answers::new();
        policy.hints(&held, Unit::Pod(&pod), &mut answers);
        let Some((_, Answer::Family(family))) = answers.get(0) else { panic!("a family") };
        for hint in family.listed(NodeMask::all(4)) {
            let mask = hint.hint.affinity.nodes().unwrap();
            let allocation =
                policy.allocate(&held, &pod, &pod.containers[0], Affinity::Nodes(mask)).unwrap();
            let Granted::Exclusive(cpus) = allocation.granted else { panic!("whole CPUs") };
            prop_assert_eq!(cpus.len(), count);
            prop_assert!(cpus.iter().all(|cpu| mask.to_bits() & (1 << (cpu.get() % 16 / 4)) != 0));
        }
    }
}
