//! Pods that choose their rules by annotations, where their node lets them.

use crate::fixture;
use crate::fixture::Asked;
use node_config::{KubeletConfiguration, OwnOptions, PodPolicy, Scope};
use pod_spec::{Pod, PodUid, Wishes};
use proptest::prelude::*;
use topology_admission::{
    ChoiceError, Compat, Detail, KubeletAgain, Ledger, Node, Reason, RunningPods, StartOptions, Tries,
    Verdict,
};
use topology_model::{KubeletView, MachineInfo};
use topology_policy::KubeletPolicy;

const MACHINE: &str = "pack:2 [numa(memory=16GiB)] core:4 pu:2";
const POLICIES: [&str; 4] = ["none", "best-effort", "restricted", "single-numa-node"];
const SCOPES: [&str; 2] = ["container", "pod"];

fn allow(words: &[&str]) -> OwnOptions {
    let allowed = words.iter().try_fold(PodPolicy::default(), |allowed, word| allowed.with_word(word));
    OwnOptions { pod_policy: allowed.unwrap(), ..OwnOptions::default() }
}

fn node(policy: &str, scope: &str, options: OwnOptions) -> Node {
    let info = fixture::machine(MACHINE, 2);
    fixture::node(&info, &fixture::config(&info, policy, scope, 2), Compat::default(), options)
}

fn wishing(mut pod: Pod, annotations: &[(&str, &str)]) -> Pod {
    pod.constraints.wishes = Wishes::among(annotations.iter().copied());
    pod
}

/// One container that asks for these CPUs.
fn with_cpus(name: &str, cpus: u64) -> Pod {
    fixture::pod(name, &[Asked { cpus, memory: 256, ..Asked::default() }])
}

/// A Burstable pod of one container with this CPU limit, which requests one CPU.
fn burstable(name: &str, limit: &str) -> Pod {
    let mut pod = with_cpus(name, 1);
    pod.containers[0].limits.insert("cpu".into(), limit.parse().unwrap());
    pod
}

fn held(ledger: &Ledger) -> String {
    let devices: Vec<_> = ledger.devices().iter().collect();
    let hints: Vec<_> = ledger.hints().collect();
    format!("{:?} {:?} {devices:?} {hints:?}", ledger.cpus(), ledger.memory())
}

/// The refusal of `pod` on an empty node that allows this.
fn refusal(words: &[&str], pod: &Pod) -> String {
    let node = node("best-effort", "container", allow(words));
    match node.admission(&node.empty_ledger(), pod).attempt().verdict {
        Verdict::Refused(refused) => {
            assert_eq!(refused.reason, Reason::PodPolicy, "{}", refused.message);
            refused.message
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_not_allowed_refuses_the_pod_and_says_what_is() {
    let all = ["policy", "scope", "cpu"];
    let guaranteed = with_cpus("g", 2);
    for (words, wish, expected) in [
        (
            &all[..],
            ("topolet.dev/policy", "restrictd"),
            "annotation topolet.dev/policy is \"restrictd\", and podPolicy.allow of this node has policy=none, \
             policy=best-effort, policy=restricted, policy=single-numa-node",
        ),
        (
            &["policy=restricted"],
            ("topolet.dev/policy", "none"),
            "annotation topolet.dev/policy is \"none\", and podPolicy.allow of this node has policy=restricted",
        ),
        (
            &["policy"],
            ("topolet.dev/scope", "pod"),
            "annotation topolet.dev/scope is \"pod\", and podPolicy.allow of this node has no scope",
        ),
        (
            &["policy"],
            ("topolet.dev/polcy", "none"),
            "annotation topolet.dev/polcy (\"none\") is unknown: there are policy, scope, cpu and move",
        ),
        (
            &all,
            ("topolet.dev/cpu", "4"),
            "annotation topolet.dev/cpu is \"4\", and podPolicy.allow of this node has cpu=exclusive",
        ),
        (
            &all,
            ("topolet.dev/cpu", "exclusive:c0,web"),
            "annotation topolet.dev/cpu is \"exclusive:c0,web\", and the pod has no container \"web\"",
        ),
    ] {
        assert_eq!(refusal(words, &wishing(guaranteed.clone(), &[wish])), expected);
    }
    let exclusive = [("topolet.dev/cpu", "exclusive")];
    let not_whole = "annotation topolet.dev/cpu is \"exclusive\", and the CPU limit of container c0 is 2500m: it has to \
                     be a whole number of CPUs";
    assert_eq!(refusal(&all, &wishing(burstable("f", "2500m"), &exclusive)), not_whole);
    let mut unlimited = burstable("u", "2");
    unlimited.containers[0].limits.remove("cpu");
    let no_limit = "annotation topolet.dev/cpu is \"exclusive\", and container c0 has no CPU limit: it has to be a whole \
                    number of CPUs";
    assert_eq!(refusal(&all, &wishing(unlimited, &exclusive)), no_limit);
}

#[test]
fn a_refusal_for_an_annotation_leaves_nothing_and_tries_nothing() {
    let node = node("restricted", "container", allow(&["policy"]));
    let empty = node.empty_ledger();
    let pod = wishing(with_cpus("p", 2), &[("topolet.dev/policy", "strict")]);
    let (attempt, trace) = node.admission(&empty, &pod).trace(Detail::Short);
    assert!(trace.units.is_empty());
    let Verdict::Refused(refused) = attempt.verdict.clone() else { panic!("{:?}", attempt.verdict) };
    let explained = node.admission(&empty, &pod).explain(&refused, &trace, Tries(100));
    assert_eq!((explained.would_fit.len(), explained.tries), (0, 0));
    assert_eq!(held(&empty.commit(attempt).unwrap()), held(&empty));
}

#[test]
fn no_cpu_manager_gives_no_exclusive_cpus() {
    let info: MachineInfo = MACHINE.parse().unwrap();
    let options = allow(&["cpu"]);
    let config = KubeletConfiguration::default();
    let node = Node::start_with(
        &KubeletView::new(&info).unwrap(),
        &config,
        StartOptions::default().with_own(options),
    );
    let pod = wishing(burstable("b", "2"), &[("topolet.dev/cpu", "exclusive")]);
    let error = node.unwrap().chosen(&pod).unwrap_err();
    assert_eq!(error, ChoiceError::NoCpuManager { value: "exclusive".into() });
}

#[test]
fn a_burstable_container_gets_its_limit_for_itself() {
    let node = node("restricted", "container", allow(&["cpu"]));
    let pod = wishing(burstable("b", "4"), &[("topolet.dev/cpu", "exclusive")]);
    let attempt = node.admission(&node.empty_ledger(), &pod).attempt();
    let Verdict::Admitted(placement) = &attempt.verdict else { panic!("{:?}", attempt.verdict) };
    let placed = &placement.containers[0];
    let exclusive =
        |ledger: &Ledger| ledger.cpus().unwrap().assigned(&pod.uid, &"c0".into()).map(ToString::to_string);
    assert_eq!(placed.cpus.as_ref().and_then(|cpus| cpus.exclusive()).map(cpuset::CpuSet::len), Some(4));
    assert!(placed.hint.unwrap().is_preferred(), "its CPUs are aligned");
    let ledger = node.empty_ledger().commit(attempt).unwrap();
    let cpus = exclusive(&ledger);
    assert!(cpus.is_some());
    let fits = |ledger: &Ledger, cpus: u64| {
        let mut other = burstable("other", "16");
        other.containers[0].requests.insert("cpu".into(), cpus.to_string().parse().unwrap());
        matches!(node.admission(ledger, &other).attempt().verdict, Verdict::Admitted(_))
    };
    assert_eq!((fits(&ledger, 10), fits(&ledger, 11)), (true, false), "14 CPUs, of which it has 4");

    // After a restart it has the same, and a kubelet leaves them to it.
    let running = RunningPods::admitted([pod.clone()]);
    let again = node.restore(node.stored(&ledger), running).unwrap();
    assert_eq!(exclusive(&again), cpus);
    assert_eq!((fits(&again, 10), fits(&again, 11)), (true, false));
    assert_eq!(node.kubelet_again(&ledger, &pod), Some(KubeletAgain::Admits));
    let kubelet = self::node("restricted", "container", OwnOptions::default());
    let read = kubelet.restore(kubelet.stored(&ledger), RunningPods::default()).unwrap();
    let admitted = kubelet.admission(&read, &pod).attempt();
    assert!(matches!(admitted.verdict, Verdict::Admitted(_)));
    assert_eq!(exclusive(&read.commit(admitted).unwrap()), cpus);
}

#[test]
fn a_kubelet_refuses_what_only_a_looser_policy_admits() {
    let node = node("single-numa-node", "container", allow(&["policy=best-effort"]));
    let pod = wishing(with_cpus("wide", 10), &[("topolet.dev/policy", "best-effort")]);
    let attempt = node.admission(&node.empty_ledger(), &pod).attempt();
    assert!(matches!(attempt.verdict, Verdict::Admitted(_)));
    let ledger = node.empty_ledger().commit(attempt).unwrap();
    assert_eq!(node.kubelet_again(&ledger, &pod), Some(KubeletAgain::Refuses(Reason::TopologyAffinity)));
    assert_eq!(node.kubelet_again(&ledger, &with_cpus("plain", 1)), None, "it has chosen nothing");
    // It stays readable: a kubelet starts from the same files.
    let kubelet = self::node("single-numa-node", "container", OwnOptions::default());
    let read = kubelet.restore(kubelet.stored(&ledger), RunningPods::default()).unwrap();
    assert!(matches!(kubelet.admission(&read, &pod).attempt().verdict, Verdict::Refused(_)));
}

#[test]
fn options_that_exclude_each_other_keep_the_node_from_starting() {
    let info = fixture::machine(MACHINE, 0);
    let start = |config: &KubeletConfiguration, words: &[&str]| {
        let view = KubeletView::new(&info).unwrap();
        let started = Node::start_with(&view, config, StartOptions::default().with_own(allow(words)));
        started.map(|node| node.scope()).map_err(|error| error.to_string())
    };
    let mut config = fixture::config(&info, "best-effort", "container", 2);
    config.cpu_manager_policy_options.insert("align-by-socket".into(), "true".into());
    config.feature_gates.insert("CPUManagerPolicyAlphaOptions".into(), true);
    assert_eq!(start(&config, &["policy=restricted"]), Ok(Scope::Container));
    let error = start(&config, &["policy"]).unwrap_err();
    assert!(
        error.starts_with("podPolicy.allow has policy=single-numa-node, which cpuManagerPolicyOptions"),
        "{error}"
    );

    let mut config = fixture::config(&info, "none", "pod", 2);
    assert_eq!(
        start(&config, &["policy"]),
        Ok(Scope::Pod),
        "a pod that chooses a policy has the node's scope"
    );
    config.topology_manager_policy_options.insert("prefer-closest".into(), "true".into());
    assert_eq!(
        start(&config, &["policy=none", "scope"]),
        Ok(Scope::Container),
        "nobody looks at the options"
    );
    let error = start(&config, &["policy=restricted"]).unwrap_err();
    assert!(error.contains("topologyManagerPolicy none: unknown Topology Manager Policy option"), "{error}");
}

fn asked() -> impl Strategy<Value = Asked> {
    (1..6_u64, 1..64_u64, 0..2_u64, 0..3_u64).prop_map(|(cpus, memory, pages, vfs)| Asked {
        cpus,
        memory: memory * 128,
        pages,
        vfs,
        gpus: 0,
    })
}

/// What a pod asks for, and which policy and scope it chooses.
type Drawn = (Vec<Asked>, usize, usize);

fn drawn() -> impl Strategy<Value = Vec<Drawn>> {
    let pod = (prop::collection::vec(asked(), 1..3), 0..POLICIES.len(), 0..SCOPES.len());
    prop::collection::vec(pod, 1..7)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A pod that chooses a policy and a scope is decided on, and explained, as on a node that has them.
    #[test]
    fn a_chosen_policy_is_that_of_a_node(pods in drawn(), own in 0..POLICIES.len(), scope in 0..SCOPES.len()) {
        let choosing = node(POLICIES[own], SCOPES[scope], allow(&["policy", "scope"]));
        let mut ledger = choosing.empty_ledger().with_inventory(fixture::inventory(&choosing, 4));
        for (at, (asked, policy, scope)) in pods.iter().enumerate() {
            let plain = fixture::pod(&format!("p{at}"), asked);
            let (policy, scope) = (POLICIES[*policy], SCOPES[*scope]);
            let pod = wishing(plain.clone(), &[("topolet.dev/policy", policy), ("topolet.dev/scope", scope)]);
            let other = node(policy, scope, OwnOptions::default());
            let (chosen, trace) = choosing.admission(&ledger, &pod).trace(Detail::Merges);
            let (expected, expected_trace) = other.admission(&ledger, &plain).trace(Detail::Merges);
            prop_assert_eq!(&chosen.verdict, &expected.verdict);
            prop_assert_eq!(held(&chosen.after), held(&expected.after));
            prop_assert_eq!(&chosen.counted, &expected.counted);
            prop_assert_eq!(&trace.units, &expected_trace.units);
            let rules = trace.rules.unwrap();
            prop_assert_eq!((rules.policy.name(), rules.scope.name()), (policy, scope));
            if let Verdict::Refused(refused) = &chosen.verdict {
                let ours = choosing.admission(&ledger, &pod).explain(refused, &trace, Tries(40));
                let theirs = other.admission(&ledger, &plain).explain(refused, &expected_trace, Tries(40));
                let changes = |explained: &topology_admission::Explanation| {
                    let all = explained.would_fit.iter().map(|fit| fit.change.clone());
                    // Where a resident would run depends on what it has chosen itself.
                    all.filter(|change| !matches!(change, topology_admission::Change::Move(_))).collect::<Vec<_>>()
                };
                prop_assert_eq!(changes(&ours), changes(&theirs));
            }
            ledger = ledger.commit(chosen).unwrap();
        }
    }

    /// Without annotations nothing depends on what pods may choose, and without the option nothing on annotations.
    #[test]
    fn who_chooses_nothing_is_decided_on_as_ever(pods in drawn(), own in 0..POLICIES.len(), scope in 0..SCOPES.len()) {
        let (plain, allowing) = (
            node(POLICIES[own], SCOPES[scope], OwnOptions::default()),
            node(POLICIES[own], SCOPES[scope], allow(&["policy", "scope", "cpu"])),
        );
        let mut ledger = plain.empty_ledger().with_inventory(fixture::inventory(&plain, 4));
        for (at, (asked, policy, scope)) in pods.iter().enumerate() {
            let pod = fixture::pod(&format!("p{at}"), asked);
            let wishes = [
                ("topolet.dev/policy", POLICIES[*policy]),
                ("topolet.dev/scope", SCOPES[*scope]),
                ("topolet.dev/cpu", "exclusive"),
                ("topolet.dev/typo", "x"),
            ];
            let ignored = wishing(pod.clone(), &wishes);
            let expected = plain.admission(&ledger, &pod).attempt();
            for found in [
                plain.admission(&ledger, &ignored).attempt(),
                allowing.admission(&ledger, &pod).attempt(),
            ] {
                prop_assert_eq!(&found.verdict, &expected.verdict);
                prop_assert_eq!(held(&found.after), held(&expected.after));
                prop_assert_eq!(&found.counted, &expected.counted);
            }
            ledger = ledger.commit(expected).unwrap();
        }
    }

    /// Exclusive CPUs that a pod chose stay exclusive, while other pods come and go.
    #[test]
    fn chosen_cpus_are_exclusive(pods in prop::collection::vec((1..6_u64, any::<bool>(), any::<bool>()), 1..8)) {
        let node = node("best-effort", "container", allow(&["cpu"]));
        let mut ledger = node.empty_ledger();
        for (at, (cpus, is_chosen, leaves)) in pods.into_iter().enumerate() {
            let name = format!("p{at}");
            let pod = if is_chosen {
                wishing(burstable(&name, &cpus.to_string()), &[("topolet.dev/cpu", "exclusive")])
            } else {
                with_cpus(&name, cpus)
            };
            let attempt = node.admission(&ledger, &pod).attempt();
            let is_admitted = matches!(attempt.verdict, Verdict::Admitted(_));
            ledger = ledger.commit(attempt).unwrap();
            let own = ledger.cpus().unwrap().assigned(&pod.uid, &"c0".into()).cloned();
            prop_assert_eq!(own.map(|own| own.len() as u64), is_admitted.then_some(cpus));
            let mut all = cpuset::CpuSet::new();
            for (_, _, own) in ledger.cpus().unwrap().iter() {
                prop_assert!(all.is_disjoint(own) && ledger.cpus().unwrap().shared().is_disjoint(own));
                all |= own;
            }
            if leaves {
                ledger = ledger.release(&PodUid::clone(&pod.uid));
            }
        }
    }
}

#[test]
fn a_node_that_allows_one_policy_offers_no_other() {
    let node = node("restricted", "container", allow(&["policy=single-numa-node"]));
    let wide = fixture::pod("wide", &[Asked { cpus: 9, memory: 20 << 10, ..Asked::default() }]);
    let pod = wishing(wide, &[("topolet.dev/policy", "single-numa-node")]);
    let (attempt, trace) = node.admission(&node.empty_ledger(), &pod).trace(Detail::Short);
    let Verdict::Refused(refused) = &attempt.verdict else { panic!("{:?}", attempt.verdict) };
    let explained = node.admission(&node.empty_ledger(), &pod).explain(refused, &trace, Tries(100));
    let policies: Vec<KubeletPolicy> = explained
        .would_fit
        .iter()
        .filter_map(|fit| match fit.change {
            topology_admission::Change::Policy(policy) => Some(policy),
            _ => None,
        })
        .collect();
    assert_eq!(policies, [KubeletPolicy::Restricted], "the node's own, and not best-effort");
}
