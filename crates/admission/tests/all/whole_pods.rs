//! Pods admitted, refused and released on a small machine: four nodes of four CPUs, one CPU reserved.

use cpu_manager::{Config, Granted, Reserved, Static};
use device_manager::Replies;
use node_config::{
    Amounts, KubeletConfiguration, OwnOptions, Regroup, Rules, Scope, TieBreak, TopologyConfig,
    TopologyPolicyName,
};
use numa_bitmask::{NodeIndex, NodeMask};
use pod_spec::{Container, ContainerKey, Pod, PodLevelResources, PodRules, PodUid, ResourceList, Role, Unit};
use topology_admission::{
    Answered, Asks, Change, Compat, ContainerId, Detail, Ledger, Node, NodeSetup, OnEmptyNode, PodLevel,
    Reason, Refused, RefusedPod, Stale, StartOptions, Tries, Verdict,
};
use topology_hint::{Affinity, Answers, Grant, Held, Hint, Preference, Provider, Refusal};
use topology_model::{KubeletView, MachineCore, MachineInfo, MachineNode, Nodes};
use topology_policy::KubeletPolicy;

fn node(policy: TopologyPolicyName, scope: Scope, compat: Compat) -> Node {
    let core = |cpu| MachineCore { thread_ids: Some(vec![cpu]), ..MachineCore::default() };
    let numa = |id: i64| MachineNode {
        id,
        cores: Some((4 * id..4 * id + 4).map(core).collect()),
        ..MachineNode::default()
    };
    let info = MachineInfo {
        num_cpus: 16,
        num_sockets: 1,
        topology: Some((0..4).map(numa).collect()),
        ..MachineInfo::default()
    };
    let view = KubeletView::new(&info).unwrap();
    let config =
        Config { reserved: Reserved::count(1), busy_sibling: compat.busy_sibling, ..Config::default() };
    Node::new(NodeSetup {
        nodes: view.nodes().clone(),
        distances: vec![None; 4],
        topology: TopologyConfig { policy, scope, ties: TieBreak::LowestNumber },
        cpus: Some(Static::new(view.cpus(), view.nodes(), config).unwrap()),
        memory: None,
        allocatable: Amounts::from([
            ("cpu".into(), "64".parse().unwrap()),
            ("memory".into(), "1Ti".parse().unwrap()),
        ]),
        pod_rules: PodRules::default(),
        rules: Rules::default(),
        pod_level: PodLevel::NotPinned,
        compat,
        options: OwnOptions::default(),
    })
}

/// A Guaranteed pod with an app container for each number of CPUs.
fn pod(name: &str, cpus: &[&str]) -> Pod {
    let containers = cpus.iter().enumerate().map(|(at, cpus)| {
        let limits: ResourceList =
            [("cpu".into(), cpus.parse().unwrap()), ("memory".into(), "1Gi".parse().unwrap())].into();
        let name = format!("c{at}");
        Container { name: name.as_str().into(), role: Role::App, requests: ResourceList::new(), limits }
    });
    Pod::new("ran", name, containers.collect()).with_defaults(PodLevelResources::Count)
}

fn admitted(node: &Node, ledger: &Ledger, pod: &Pod) -> (Vec<String>, Ledger) {
    let attempt = node.admission(ledger, pod).attempt();
    let Verdict::Admitted(placement) = &attempt.verdict else {
        panic!("{} refused: {:?}", pod.name, attempt.verdict)
    };
    let cpus = placement.containers.iter().map(|placed| match &placed.cpus {
        Some(Granted::Exclusive(cpus)) => cpus.to_string(),
        other => format!("{other:?}"),
    });
    (cpus.collect(), ledger.commit(attempt).unwrap())
}

fn refused(node: &Node, ledger: &Ledger, pod: &Pod) -> (Refused, Ledger) {
    let attempt = node.admission(ledger, pod).attempt();
    let Verdict::Refused(refused) = attempt.verdict.clone() else {
        panic!("{} admitted: {:?}", pod.name, attempt.verdict)
    };
    (refused, ledger.commit(attempt).unwrap())
}

fn shared(ledger: &Ledger) -> String {
    ledger.cpus().unwrap().shared().to_string()
}

const SINGLE: TopologyPolicyName = TopologyPolicyName::SingleNumaNode;

#[test]
fn a_pod_is_aligned_by_container_or_as_a_whole() {
    let by_container = node(SINGLE, Scope::Container, Compat::default());
    let (cpus, ledger) = admitted(&by_container, &by_container.empty_ledger(), &pod("a", &["4", "2"]));
    assert_eq!(cpus, ["4-7", "1-2"]);
    assert_eq!(shared(&ledger), "0,3,8-15");

    let whole = node(SINGLE, Scope::Pod, Compat::default());
    let (refused, _) = refused(&whole, &whole.empty_ledger(), &pod("a", &["4", "2"]));
    assert_eq!(refused.reason, Reason::TopologyAffinity);
    assert_eq!(refused.message, "Resources cannot be allocated with Topology locality");
    assert_eq!(refused.container, None, "the pod as a whole was refused");
    let (cpus, _) = admitted(&whole, &whole.empty_ledger(), &pod("b", &["2", "2"]));
    assert_eq!(cpus, ["4-5", "6-7"], "both on the same node");
}

#[test]
fn what_a_refused_pod_leaves_behind_is_a_choice() {
    let asked = pod("a", &["4", "5"]);
    for (refused_pod, left) in [(RefusedPod::HoldNothing, "0-15"), (RefusedPod::KeepBooked, "0-3,8-15")] {
        let node = node(SINGLE, Scope::Container, Compat { refused_pod, ..Compat::default() });
        let (refusal, ledger) = refused(&node, &node.empty_ledger(), &asked);
        assert_eq!(refusal.container, Some("c1".into()));
        assert_eq!(shared(&ledger), left, "{refused_pod:?}");
        assert_eq!(ledger.pods().count(), 0);
        // The next admission collects it.
        let (cpus, ledger) = admitted(&node, &ledger, &pod("b", &["4"]));
        assert_eq!(cpus, ["4-7"]);
        assert_eq!(shared(&ledger), "0-3,8-15");
    }
}

#[test]
fn without_alignment_an_allocation_can_still_fail() {
    let node = node(TopologyPolicyName::None, Scope::Container, Compat::default());
    let (refusal, _) = refused(&node, &node.empty_ledger(), &pod("a", &["16"]));
    assert_eq!(refusal.reason, Reason::UnexpectedAdmission);
    assert_eq!(
        refusal.message,
        "Allocate failed due to not enough cpus available to satisfy request: requested=16, available=15, \
         which is unexpected"
    );
}

#[test]
fn releasing_gives_everything_back_and_attempts_are_pure() {
    let node = node(TopologyPolicyName::Restricted, Scope::Container, Compat::default());
    let empty = node.empty_ledger();
    let first = pod("a", &["3"]);
    let attempt = node.admission(&empty, &first).attempt();
    let again = node.admission(&empty, &first).attempt();
    assert_eq!(attempt, again, "the same inputs give equal attempts");
    assert_ne!(attempt, node.admission(&empty, &pod("a", &["4"])).attempt());
    assert_eq!(shared(&empty), "0-15", "an attempt books nothing");

    let ledger = empty.commit(attempt).unwrap();
    let stale = ledger.commit(again).unwrap_err();
    assert_eq!(stale, Stale { made_against: empty.version(), current: ledger.version() });

    let released = ledger.release(&first.uid);
    assert_eq!(shared(&released), "0-15");
    assert_eq!(released.hint(&first.key(&first.containers[0])), None);
    assert!(released.version() > ledger.version());
    assert_eq!(ledger.release(&PodUid::new("stranger")).version(), ledger.version());
}

#[test]
fn a_trace_says_what_each_node_could_give() {
    let node = node(SINGLE, Scope::Container, Compat::default());
    let (_, ledger) = admitted(&node, &node.empty_ledger(), &pod("a", &["3"]));
    let (attempt, trace) = node.admission(&ledger, &pod("b", &["4"])).trace(Detail::Short);
    assert!(matches!(attempt.verdict, Verdict::Admitted(_)));
    let cpus = &trace.units[0].resources[0];
    let amounts = cpus.amounts.as_ref().unwrap();
    let free: Vec<_> = amounts.nodes.iter().map(|cell| (cell.free, cell.allocatable)).collect();
    assert_eq!(amounts.asked, 4);
    assert_eq!(free, [(0, 3), (4, 4), (4, 4), (4, 4)]);
    let single = NodeMask::all(4).without(NodeIndex::new(0).unwrap());
    assert_eq!(cpus.answer, Answered::Sets { single, narrowest: 1, preferred: Some(1) });
}

/// A licence dongle on the last node, for one container at a time.
struct Dongle;

impl Provider for Dongle {
    fn name(&self) -> &'static str {
        "dongle"
    }

    fn hints(&self, nodes: &Nodes, held: &Held, _: Unit<'_>, answers: &mut Answers) {
        let last = nodes.all().last().map(|last| Hint::on(last.into(), Preference::Preferred));
        answers.push_list("acme/dongle", last.filter(|_| held.is_empty()));
    }

    fn allocate(
        &self,
        _: &Nodes,
        _: &Held,
        _: Unit<'_>,
        affinity: Affinity,
    ) -> Result<Option<Grant>, Refusal> {
        match affinity {
            Affinity::Nodes(_) => Ok(Some(Grant::default())),
            Affinity::Any => Err(Refusal { reason: Some("DongleError".into()), message: "where?".into() }),
        }
    }
}

#[test]
fn a_provider_of_your_own_takes_part() {
    let node = node(SINGLE, Scope::Container, Compat::default()).with_provider(Dongle);
    let (cpus, ledger) = admitted(&node, &node.empty_ledger(), &pod("a", &["2"]));
    assert_eq!(cpus, ["12-13"], "the CPUs follow the dongle");
    let (refusal, ledger) = refused(&node, &ledger, &pod("b", &["2"]));
    assert_eq!(refusal.reason, Reason::TopologyAffinity);
    let ledger = ledger.release(&PodUid::new("ran_a"));
    let (cpus, _) = admitted(&node, &ledger, &pod("b", &["2"]));
    assert_eq!(cpus, ["12-13"], "the dongle is free again");
}

#[test]
fn what_would_have_fitted_has_been_tried() {
    let node = node(SINGLE, Scope::Container, Compat::default());
    let mut ledger = node.empty_ledger();
    for name in ["a", "b", "c", "d"] {
        (_, ledger) = admitted(&node, &ledger, &pod(name, &["3"]));
    }
    let asked = pod("e", &["3"]);
    let explain = |pod: &Pod| {
        let replies = Replies::default();
        let (attempt, trace) = node.admission(&ledger, pod).with(&replies).trace(Detail::Short);
        let Verdict::Refused(refused) = attempt.verdict else { panic!("{} is admitted", pod.name) };
        node.admission(&ledger, pod).with(&replies).explain(&refused, &trace, Tries::default())
    };
    let explained = explain(&asked);
    assert_eq!(explained.on_empty_node, OnEmptyNode::Fits);
    let ask = |now: &str, fits: &str| {
        let (now, fits) = (now.parse().unwrap(), fits.parse().unwrap());
        Asks { container: Some("c0".into()), resource: "cpu".into(), now, fits }
    };
    let changes: Vec<_> = explained.would_fit.into_iter().map(|fit| fit.change).collect();
    let expected = [
        Change::Wait(vec![PodUid::new("ran_a")]),
        Change::Wait(vec![PodUid::new("ran_b")]),
        Change::AskLess(vec![ask("3", "1")]),
        Change::Policy(KubeletPolicy::BestEffort),
    ];
    assert_eq!(changes, expected);

    let never = explain(&pod("f", &["16"]));
    assert_eq!(never.on_empty_node, OnEmptyNode::DoesNotFit);
    let changes: Vec<_> = never.would_fit.into_iter().map(|fit| fit.change).collect();
    assert_eq!(changes, [Change::AskLess(vec![ask("16", "1")])]);
}

#[test]
fn a_pod_that_is_refused_when_it_comes_again_holds_nothing() {
    let node = node(SINGLE, Scope::Container, Compat::default());
    let mut again = pod("a", &["4"]);
    let (_, ledger) = admitted(&node, &node.empty_ledger(), &again);
    assert_eq!(shared(&ledger), "0-3,8-15");
    again.constraints.os = Some("windows".to_owned());
    let (refusal, ledger) = refused(&node, &ledger, &again);
    assert_eq!(refusal.reason.to_string(), "PodOSNotSupported");
    assert_eq!((shared(&ledger).as_str(), ledger.pods().count(), ledger.hints().count()), ("0-15", 0, 0));
}

#[test]
fn pods_that_are_preempted_leave_nothing_behind() {
    let node = node(SINGLE, Scope::Container, Compat::default());
    let (_, mut ledger) = admitted(&node, &node.empty_ledger(), &pod("large", &["3", "4", "4"]));
    for container in ["c0", "c1", "c2"] {
        let key = ContainerKey { pod: PodUid::new("ran_large"), container: container.into() };
        ledger = ledger.create(&key, ContainerId::from(container));
    }
    let mut critical = pod("critical", &["4"]);
    critical.containers[0].requests.insert("memory".into(), "1023Gi".parse().unwrap());
    critical.constraints.priority = 2_000_000_000;
    let attempt = node.admission(&ledger, &critical).attempt();
    let Verdict::Admitted(placement) = &attempt.verdict else { panic!("{:?}", attempt.verdict) };
    assert_eq!(placement.preempted, [PodUid::new("ran_large")]);
    let ledger = ledger.commit(attempt).unwrap();
    assert_eq!(ledger.pods().count(), 1);
    // Its containers are gone now.
    let ledger = ledger.release(&PodUid::new("ran_large"));
    assert_eq!(shared(&ledger), "0-15");
    assert!(ledger.hints().all(|(container, _)| container.pod.as_str() == "ran_critical"));
}

/// Two nodes of 16 GiB each, of which 1 GiB is reserved on node 0.
fn two_nodes(options: OwnOptions) -> Node {
    let info: MachineInfo = "pack:2 [numa(memory=16GiB)] core:4 pu:1".parse().unwrap();
    let text = |text: &str| Some(text.to_owned());
    let reserved = node_config::ReservedMemory {
        numa_node: 0,
        limits: [("memory".to_owned(), "1Gi".parse().unwrap())].into(),
    };
    let mut config = KubeletConfiguration {
        cpu_manager_policy: text("static"),
        memory_manager_policy: text("Static"),
        reserved_system_cpus: text("0"),
        topology_manager_policy: text("best-effort"),
        reserved_memory: vec![reserved],
        ..KubeletConfiguration::default()
    };
    config.system_reserved.insert("memory".to_owned(), "924Mi".to_owned());
    Node::start_with(&KubeletView::new(&info).unwrap(), &config, StartOptions::default().with_own(options))
        .unwrap()
}

fn with_memory(name: &str, memory: &str) -> Pod {
    let mut pod = pod(name, &["1"]);
    let container = &mut pod.containers[0];
    for amounts in [&mut container.requests, &mut container.limits] {
        amounts.insert("memory".into(), memory.parse().unwrap());
    }
    pod
}

#[test]
fn a_group_that_nobody_needs_any_more_is_dissolved_where_that_is_wanted() {
    for regroup in [Regroup::Never, Regroup::WhenUnneeded] {
        let node = two_nodes(OwnOptions { regroup, ..OwnOptions::default() });
        // The first needs both nodes, the second is booked in their group, and the first leaves.
        let (_, ledger) = admitted(&node, &node.empty_ledger(), &with_memory("wide", "20Gi"));
        let (_, ledger) = admitted(&node, &ledger, &with_memory("guest", "2Gi"));
        let ledger = ledger.release(&PodUid::new("ran_wide"));
        let attempt = node.admission(&ledger, &with_memory("narrow", "12Gi")).attempt();
        let nodes = |ledger: &Ledger, name: &str| {
            ledger.memory().unwrap().nodes_of(&PodUid::new(name), &"c0".into()).map(NodeMask::len)
        };
        assert_eq!(nodes(&ledger, "ran_guest"), Some(2), "the guest is bound to both");
        let Verdict::Admitted(_) = &attempt.verdict else { panic!("{regroup:?}: {:?}", attempt.verdict) };
        let moved = attempt.moved.len();
        let ledger = ledger.commit(attempt).unwrap();
        match regroup {
            // Best-effort takes the group again; restricted would refuse.
            Regroup::Never => assert_eq!((moved, nodes(&ledger, "ran_narrow")), (0, Some(2))),
            Regroup::WhenUnneeded => {
                assert_eq!((moved, nodes(&ledger, "ran_narrow")), (1, Some(1)));
                assert_eq!(nodes(&ledger, "ran_guest"), Some(1), "the guest has moved to one node");
            }
        }
    }
}
