//! Pods that run and get other amounts of what is theirs alone.

use crate::fixture;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::fixture::Asked;
use cpuset::CpuSet;
use device_manager::{Inventory, Moment};
use node_config::{OwnOptions, PodPolicy, Resize};
use numa_bitmask::NodeMask;
use pod_spec::{ContainerName, Pod, PodResources, PodUid, ResourceList, Role, Wishes};
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::test_runner::TestCaseError;
use topology_admission::{Compat, Ledger, Node, SizeError, Sizes, Verdict, When};
use topology_policy::KubeletPolicy;

/// Two NUMA nodes of four cores with two CPUs each: node 0 has 0-7, node 1 has 8-15. Reserved is core 0 with 0-1.
const MACHINE: &str = "pack:2 [numa(memory=32GiB)] core:4 pu:2";

fn node_with(policy: &str, cpu_resize: Resize, memory_resize: Resize) -> Node {
    let options = OwnOptions { cpu_resize, memory_resize, ..OwnOptions::default() };
    node_of(policy, "container", options)
}

fn node_of(policy: &str, scope: &str, options: OwnOptions) -> Node {
    let info = fixture::machine(MACHINE, 0);
    let config = fixture::config(&info, policy, scope, 2);
    fixture::node(&info, &config, Compat::default(), options)
}

fn allowed() -> OwnOptions {
    OwnOptions { cpu_resize: Resize::Allow, memory_resize: Resize::Allow, ..OwnOptions::default() }
}

fn node(policy: &str) -> Node {
    node_with(policy, Resize::Allow, Resize::Allow)
}

fn uid(name: &str) -> PodUid {
    fixture::pod(name, &[]).uid
}

fn admit(node: &Node, ledger: &Ledger, name: &str, asked: &[(u64, u64)]) -> Option<Ledger> {
    let asked: Vec<Asked> =
        asked.iter().map(|&(cpus, memory)| Asked { cpus, memory, ..Asked::default() }).collect();
    let attempt = node.admission(ledger, &fixture::pod(name, &asked)).attempt();
    matches!(attempt.verdict, Verdict::Admitted(_)).then(|| ledger.commit(attempt).unwrap())
}

/// New amounts by container, each `resource=amount`.
fn sizes(ledger: &Ledger, name: &str, wanted: &[(&str, &str, &str)]) -> Sizes {
    let pod = ledger.pod(&uid(name)).unwrap();
    let mut sizes = Sizes::default();
    for (container, resource, amount) in wanted {
        let container = pod.container(&(*container).into()).unwrap();
        sizes.set(pod, container, &(*resource).into(), &amount.parse().unwrap());
    }
    sizes
}

/// The ledger after a resize, or the refusal in one line.
fn resize(node: &Node, ledger: &Ledger, name: &str, wanted: &[(&str, &str, &str)]) -> Result<Ledger, String> {
    let attempt =
        node.resize(ledger, &uid(name), &sizes(ledger, name, wanted)).map_err(|error| error.to_string())?;
    match &attempt.verdict {
        Ok(_) => Ok(ledger.resized(attempt).unwrap()),
        Err(refused) => {
            assert_eq!(ledger.resized(attempt.clone()).unwrap(), *ledger, "a refusal changes nothing");
            Err(format!("{}: {}", refused.when, refused.message))
        }
    }
}

fn cpus(ledger: &Ledger, name: &str) -> String {
    let held = ledger.cpus().unwrap();
    held.of_pod(&uid(name)).map(|(_, cpus)| cpus.to_string()).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_was_added_last_goes_first_and_the_baseline_stays() {
    let node = node("restricted");
    let mut ledger = admit(&node, &node.empty_ledger(), "a", &[(2, 512)]).unwrap();
    assert_eq!(cpus(&ledger, "a"), "2-3");
    for (wanted, expected) in [
        ("4", "2-5"),
        ("5", "2-6"),
        ("6", "2-7"),
        ("5", "2-6"),
        // Of the addition 4-5 one CPU goes.
        ("3", "2-4"),
        ("2", "2-3"),
        ("6", "2-7"),
    ] {
        ledger = resize(&node, &ledger, "a", &[("c0", "cpu", wanted)]).expect(wanted);
        assert_eq!(cpus(&ledger, "a"), expected, "cpu={wanted}");
    }
    let refused = resize(&node, &ledger, "a", &[("c0", "cpu", "1")]).unwrap_err();
    assert_eq!(
        refused,
        "Infeasible: 1 exclusive CPUs are fewer than the 2 that the container was admitted with"
    );
}

#[test]
fn growth_stays_on_its_nodes_and_the_policy_decides_about_more() {
    let strict = node("single-numa-node");
    let ledger = admit(&strict, &strict.empty_ledger(), "a", &[(4, 512)]).unwrap();
    let ledger = admit(&strict, &ledger, "b", &[(4, 512)]).unwrap();
    assert_eq!((cpus(&ledger, "a").as_str(), cpus(&ledger, "b").as_str()), ("2-5", "8-11"));
    let largest = strict.largest_resize(&ledger, &uid("a"), &sizes(&ledger, "a", &[("c0", "cpu", "7")]));
    assert_eq!(largest.unwrap().amount.value(), 6);
    let ledger = resize(&strict, &ledger, "a", &[("c0", "cpu", "6")]).unwrap();
    assert_eq!(cpus(&ledger, "a"), "2-7");
    let more = [("c0", "cpu", "7")];
    let refused = resize(&strict, &ledger, "a", &more).unwrap_err();
    assert_eq!(refused, "Infeasible: Resources cannot be allocated with Topology locality");
    assert_eq!(
        strict.largest_resize(&ledger, &uid("a"), &sizes(&ledger, "a", &more)),
        None,
        "it has all of its node"
    );
    let loose = node("best-effort");
    let other = resize(&loose, &ledger, "a", &more).unwrap();
    assert_eq!(cpus(&other, "a"), "2-7,12");
    // What another pod has can be free later.
    let ledger = admit(&strict, &ledger, "c", &[(4, 512)]).unwrap();
    let refused = resize(&strict, &ledger, "b", &[("c0", "cpu", "8")]).unwrap_err();
    assert_eq!(refused, "Deferred: Resources cannot be allocated with Topology locality");
}

#[test]
fn one_container_takes_what_another_gives_back() {
    let node = node("single-numa-node");
    let ledger = admit(&node, &node.empty_ledger(), "a", &[(2, 512), (2, 512)]).unwrap();
    let ledger = resize(&node, &ledger, "a", &[("c0", "cpu", "4")]).unwrap();
    assert_eq!(cpus(&ledger, "a"), "2-3,6-7 4-5");
    let ledger = resize(&node, &ledger, "a", &[("c0", "cpu", "2"), ("c1", "cpu", "4")]).unwrap();
    assert_eq!(cpus(&ledger, "a"), "2-3 4-7");
}

#[test]
fn memory_grows_on_its_nodes_only() {
    let node = node("single-numa-node");
    let booked = |ledger: &Ledger, name: &str| {
        let blocks = ledger.memory().unwrap().assigned(&uid(name), &"c0".into()).unwrap();
        blocks
            .iter()
            .map(|block| (block.nodes.mask() == NodeMask::all(1), block.size >> 20))
            .collect::<Vec<_>>()
    };
    let ledger = admit(&node, &node.empty_ledger(), "a", &[(2, 16 << 10)]).unwrap();
    let ledger = resize(&node, &ledger, "a", &[("c0", "memory", "30Gi")]).unwrap();
    assert_eq!(booked(&ledger, "a"), [(true, 30 << 10)]);
    let refused = resize(&node, &ledger, "a", &[("c0", "memory", "32Gi")]).unwrap_err();
    assert_eq!(
        refused,
        "Infeasible: 2147483648 bytes more of memory are asked for, and 1073741824 are free on the container's NUMA nodes"
    );
    let wanted = [("c0", "memory", "32Gi")];
    let largest = node.largest_resize(&ledger, &uid("a"), &sizes(&ledger, "a", &wanted)).unwrap();
    assert_eq!(largest.amount.to_string(), "31Gi");
    let ledger = resize(&node, &ledger, "a", &[("c0", "memory", "1Gi"), ("c0", "cpu", "4")]).unwrap();
    assert_eq!(booked(&ledger, "a"), [(true, 1 << 10)]);
    let ledger = ledger.release(&uid("a"));
    assert!(ledger.memory().unwrap().is_booked_like(node.empty_ledger().memory().unwrap()));
}

#[test]
fn without_the_options_the_kubelet_refuses() {
    let strict = node_with("single-numa-node", Resize::Refuse, Resize::Refuse);
    let ledger = admit(&strict, &strict.empty_ledger(), "a", &[(2, 512)]).unwrap();
    assert_eq!(
        resize(&strict, &ledger, "a", &[("c0", "cpu", "4")]).unwrap_err(),
        "Infeasible: Resize is infeasible for Guaranteed Pods alongside CPU Manager policy \"static\""
    );
    assert_eq!(
        resize(&strict, &ledger, "a", &[("c0", "memory", "1Gi")]).unwrap_err(),
        "Infeasible: Resize is infeasible for Guaranteed Pods alongside Memory Manager policy \"Static\""
    );
    let allowed = node("single-numa-node");
    assert_eq!(
        resize(&allowed, &ledger, "a", &[("c0", "cpu", "15")]).unwrap_err(),
        "Infeasible: Node didn't have enough capacity: cpu, requested: 15000, capacity: 14000"
    );
    assert_eq!(
        resize(&allowed, &ledger, "a", &[("c0", "cpu", "2500m")]).unwrap_err(),
        "Infeasible: the container has exclusive CPUs, which it would lose: it asks for part of a CPU"
    );
    let mut sizes = Sizes::default();
    sizes.0.entry(ContainerName::new("main")).or_default();
    let error = allowed.resize(&ledger, &uid("a"), &sizes).unwrap_err().to_string();
    assert_eq!(error, "the pod has no container \"main\"; it has c0");
    let mut sizes = Sizes::default();
    sizes.0.entry(ContainerName::new("c0")).or_default().requests.insert("cpu".into(), "1".parse().unwrap());
    let error = allowed.resize(&ledger, &uid("a"), &sizes).unwrap_err();
    let expected =
        SizeError::QosClass { before: pod_spec::QosClass::Guaranteed, after: pod_spec::QosClass::Burstable };
    assert_eq!(error, expected.into());
}

#[test]
fn others_wait_until_it_fits() {
    let node = node("none");
    let mut ledger = node.empty_ledger();
    for (name, cpu) in [("a", "3500m"), ("b", "10")] {
        let mut pod = fixture::pod(name, &[Asked { cpus: 1, memory: 512, ..Asked::default() }]);
        for container in &mut pod.containers {
            container.requests.insert("cpu".into(), cpu.parse().unwrap());
            container.limits.insert("cpu".into(), cpu.parse().unwrap());
        }
        let attempt = node.admission(&ledger, &pod).attempt();
        ledger = ledger.commit(attempt).unwrap();
    }
    let refused = resize(&node, &ledger, "a", &[("c0", "cpu", "4500m")]).unwrap_err();
    assert_eq!(
        refused,
        "Deferred: Node didn't have enough resource: cpu, requested: 4500, used: 10000, capacity: 14000"
    );
    let ledger = ledger.release(&uid("b"));
    let ledger = resize(&node, &ledger, "a", &[("c0", "cpu", "4500m")]).unwrap();
    assert_eq!(cpus(&ledger, "a"), "", "it stays in the shared pool");
}

/// The ledger with a pod as it is written.
fn run(node: &Node, ledger: &Ledger, pod: &Pod) -> Ledger {
    let attempt = node.admission(ledger, pod).attempt();
    assert!(matches!(attempt.verdict, Verdict::Admitted(_)), "{:?}", attempt.verdict);
    ledger.commit(attempt).unwrap()
}

fn amounts(cpu: &str, memory: &str) -> ResourceList {
    [("cpu", cpu), ("memory", memory)].map(|(of, amount)| (of.into(), amount.parse().unwrap())).into()
}

#[test]
fn a_container_with_exclusive_cpus_of_its_choice_is_resized_by_its_limit() {
    let pod_policy = PodPolicy::default().with_word("cpu=exclusive").unwrap();
    let node = node_of("restricted", "container", OwnOptions { pod_policy, ..allowed() });
    let mut pod = fixture::pod("a", &[Asked { cpus: 2, memory: 512, ..Asked::default() }]);
    pod.containers[0].requests = amounts("1", "256Mi");
    pod.constraints.wishes = Wishes::among([("topolet.dev/cpu", "exclusive")]);
    let ledger = run(&node, &node.empty_ledger(), &pod);
    assert_eq!(cpus(&ledger, "a"), "2-3");
    let ledger = resize(&node, &ledger, "a", &[("c0", "cpu", "4")]).unwrap();
    assert_eq!(cpus(&ledger, "a"), "2-5");
    let ledger = resize(&node, &ledger, "a", &[("c0", "cpu", "3")]).unwrap();
    assert_eq!(cpus(&ledger, "a"), "2-4");
    let ledger = resize(&node, &ledger, "a", &[("c0", "memory", "300Mi")]).unwrap();
    let mut above = Sizes::default();
    above.0.entry("c0".into()).or_default().requests = amounts("4", "256Mi");
    let error = node.resize(&ledger, &uid("a"), &above).unwrap_err().to_string();
    assert_eq!(error, "the cpu request of container \"c0\" is 4, above its limit of 3");
    let too_many = sizes(&ledger, "a", &[("c0", "cpu", "16")]);
    let largest = node.largest_resize(&ledger, &uid("a"), &too_many).unwrap();
    assert_eq!((largest.container.as_str(), largest.amount.value()), ("c0", 14));
}

#[test]
fn what_init_containers_have_left_serves_no_growth() {
    let node = node_of("single-numa-node", "pod", allowed());
    let mut pod = fixture::pod("a", &[4, 2].map(|cpus| Asked { cpus, memory: 64, ..Asked::default() }));
    pod.containers[0].role = Role::Init;
    let ledger = run(&node, &node.empty_ledger(), &pod);
    assert_eq!(cpus(&ledger, "a"), "2-5 2-3");
    let other = admit(&node, &ledger, "b", &[(1, 64)]).unwrap();
    assert_eq!(cpus(&other, "b"), "6");
    let grown = resize(&node, &other, "a", &[("c1", "cpu", "3")]).unwrap();
    assert_eq!(cpus(&grown, "a"), "2-5 2-3,7");
    let refused = resize(&node, &other, "a", &[("c1", "cpu", "4")]).unwrap_err();
    assert_eq!(refused, "Deferred: Resources cannot be allocated with Topology locality");
}

#[test]
fn a_plugin_that_is_away_comes_back() {
    let node = node("best-effort");
    let inventory = fixture::inventory(&node, 2);
    let ledger = node.empty_ledger().with_inventory(inventory);
    let ledger =
        run(&node, &ledger, &fixture::pod("a", &[Asked { cpus: 2, memory: 64, vfs: 1, ..Asked::default() }]));
    let mut restarted = Inventory::new(node.nodes().clone());
    restarted.remember(&"example.com/vf".into(), Moment(Duration::ZERO));
    let away = ledger.with_inventory(restarted);
    let refused = resize(&node, &away, "a", &[("c0", "cpu", "4")]).unwrap_err();
    let message = "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices example.com/vf, \
                   which is unexpected";
    assert_eq!(refused, format!("Deferred: {message}"));
}

#[test]
fn containers_stay_within_what_their_pod_asks_for() {
    let node = node("none");
    let mut pod = fixture::pod("a", &[Asked { cpus: 2, memory: 64, ..Asked::default() }; 2]);
    pod.resources = Some(PodResources { requests: amounts("5", "1Gi"), limits: amounts("5", "1Gi") });
    let ledger = run(&node, &node.empty_ledger(), &pod);
    for (wanted, expected) in [
        (
            &[("c0", "cpu", "6")][..],
            "the cpu limit of container \"c0\" is 6, which must be less than or equal to pod limits of 5",
        ),
        (
            &[("c0", "cpu", "3"), ("c1", "cpu", "3")],
            "the pod's cpu request is 5, which must be greater than or equal to aggregate container requests of 6",
        ),
    ] {
        assert_eq!(resize(&node, &ledger, "a", wanted).unwrap_err(), expected);
    }
}

#[test]
fn a_pod_has_come_when_it_came() {
    let node = node("none");
    let ledger = admit(&node, &node.empty_ledger(), "a", &[(2, 64)]).unwrap();
    let ledger = admit(&node, &ledger, "b", &[(2, 64)]).unwrap();
    let ledger = resize(&node, &ledger, "a", &[("c0", "cpu", "4")]).unwrap();
    let names: Vec<&str> = ledger.pods_by_arrival().map(|pod| pod.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
}

/// What happens to one of a few pods.
#[derive(Clone, Debug)]
enum Happens {
    /// With an init container that has so many CPUs, if any.
    Admit {
        pod: usize,
        init: u64,
        cpus: Vec<u64>,
    },
    Resize {
        pod: usize,
        cpus: Vec<u64>,
        memory: u64,
    },
    Remove {
        pod: usize,
    },
    Restart,
}

fn happens() -> impl Strategy<Value = Happens> {
    let pod = || 0..5_usize;
    let cpus = || proptest::collection::vec(1..7_u64, 1..3);
    prop_oneof![
        3 => (pod(), 0..4_u64, cpus()).prop_map(|(pod, init, cpus)| Happens::Admit { pod, init, cpus }),
        6 => (pod(), cpus(), 1..2048_u64).prop_map(|(pod, cpus, memory)| Happens::Resize { pod, cpus, memory }),
        1 => pod().prop_map(|pod| Happens::Remove { pod }),
        1 => any::<()>().prop_map(|()| Happens::Restart),
    ]
}

/// The obvious model: by container, the CPUs that it was admitted with and what was added, the last at the end.
type Model = BTreeMap<(String, String), (CpuSet, Vec<CpuSet>)>;

/// Takes the difference into the model, and checks that it is the one that the rules allow.
fn follow(model: &mut Model, ledger: &Ledger, name: &str) -> Result<(), TestCaseError> {
    let held = ledger.cpus().unwrap();
    for (container, now) in held.of_pod(&uid(name)) {
        let key = (name.to_owned(), container.to_string());
        let (baseline, added) = model.entry(key).or_insert_with(|| (now.clone(), Vec::new()));
        let before = added.iter().fold(baseline.clone(), |all, added| &all | added);
        let (gained, mut lost) = (now - &before, &before - now);
        prop_assert!(gained.is_empty() || lost.is_empty(), "what it has is not exchanged");
        while !lost.is_empty() {
            let last = added.pop();
            prop_assert!(last.is_some(), "the baseline stays");
            let last = last.unwrap_or_default();
            let stays = &last - &lost;
            lost -= &last;
            if !stays.is_empty() {
                prop_assert!(lost.is_empty(), "what was added last goes first");
                added.push(stays);
            }
        }
        if !gained.is_empty() {
            added.push(gained);
        }
        prop_assert!((&*baseline - now).is_empty());
        prop_assert_eq!(held.grown_of(&uid(name), container), added.as_slice());
    }
    Ok(())
}

fn check(node: &Node, ledger: &Ledger) -> Result<(), TestCaseError> {
    let (policy, held) = (node.cpus().unwrap(), ledger.cpus().unwrap());
    let mut rest = policy.all().clone();
    let is_init = |pod: &Pod, name: &ContainerName| pod.container(name).unwrap().role == Role::Init;
    for (pod, container, cpus) in held.iter() {
        let pod = ledger.pod(pod).unwrap();
        let asked = pod.container(container).unwrap().requests.get("cpu").unwrap().value();
        prop_assert_eq!(i64::try_from(cpus.len()).unwrap(), asked);
        if !is_init(pod, container) {
            prop_assert!((cpus - &rest).is_empty(), "{}/{container} shares {cpus}", pod.name);
            rest -= cpus;
        }
    }
    // An init container lends its CPUs to those that follow it in its pod, and keeps what they leave.
    for (pod, container, cpus) in held.iter().filter(|(pod, name, _)| is_init(ledger.pod(pod).unwrap(), name))
    {
        let of_others = held.iter().filter(|(other, ..)| *other != pod);
        prop_assert!(of_others.into_iter().all(|(.., other)| other.is_disjoint(cpus)), "{pod}/{container}");
        rest -= cpus;
    }
    for pod in ledger.pods().filter(|_| node.rules().policy == KubeletPolicy::SingleNumaNode) {
        for own in held.of_pod(&pod.uid).filter(|(name, _)| !is_init(pod, name)).map(|(_, cpus)| cpus) {
            prop_assert_eq!(policy.nodes_of(own).len(), 1, "{}", pod.name);
        }
    }
    prop_assert_eq!(held.shared(), &rest, "the shared pool is the rest");
    prop_assert!((policy.reserved() - &rest).is_empty() && !rest.is_empty());
    let memory = ledger.memory().unwrap();
    // What the others took over is not booked for an init container any more.
    let booked = memory.iter().filter(|(pod, name, _)| !is_init(ledger.pod(pod).unwrap(), name));
    for (pod, container, blocks) in booked {
        let asked = ledger.pod(pod).unwrap().container(container).unwrap().requests.get("memory").unwrap();
        prop_assert!(blocks.iter().all(|block| i64::try_from(block.size).unwrap() == asked.value()));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn sets_stay_disjoint_and_baselines_held(
        steps in proptest::collection::vec(happens(), 1..40),
        policy in prop_oneof!["none", "best-effort", "restricted", "single-numa-node"],
        scope in prop_oneof!["container", "pod"],
    ) {
        let node = node_of(&policy, &scope, allowed());
        let (mut ledger, mut model) = (node.empty_ledger(), Model::new());
        for step in steps {
            match step {
                Happens::Admit { pod, init, cpus } => {
                    let name = format!("p{pod}");
                    let counts = (init > 0).then_some(&init).into_iter().chain(&cpus);
                    let asked: Vec<Asked> =
                        counts.map(|cpus| Asked { cpus: *cpus, memory: 256, ..Asked::default() }).collect();
                    let mut pod = fixture::pod(&name, &asked);
                    if init > 0 {
                        pod.containers[0].role = Role::Init;
                    }
                    let attempt = node.admission(&ledger, &pod).attempt();
                    if !ledger.has_pod(&pod.uid) && matches!(attempt.verdict, Verdict::Admitted(_)) {
                        ledger = ledger.commit(attempt).unwrap();
                        follow(&mut model, &ledger, &name)?;
                    }
                }
                Happens::Resize { pod, cpus, memory } => {
                    let name = format!("p{pod}");
                    let Some(known) = ledger.pod(&uid(&name)).cloned() else { continue };
                    let mut sizes = Sizes::default();
                    let running = || known.containers.iter().filter(|container| container.role != Role::Init);
                    for (container, cpus) in running().zip(&cpus) {
                        sizes.set(&known, container, &"cpu".into(), &cpus.to_string().parse().unwrap());
                        sizes.set(&known, container, &"memory".into(), &format!("{memory}Mi").parse().unwrap());
                    }
                    let attempt = node.resize(&ledger, &uid(&name), &sizes).unwrap();
                    if let Err(refused) = &attempt.verdict {
                        let below = running().zip(&cpus).any(|(container, cpus)| {
                            let of = &model[&(name.clone(), container.name.to_string())].0;
                            usize::try_from(*cpus).unwrap() < of.len()
                        });
                        prop_assert!(!below || refused.when == When::Infeasible);
                        // A container that only shrinks is never refused.
                        let grows = running().zip(&cpus).any(|(container, cpus)| {
                            container.requests.get("cpu").unwrap().value() < i64::try_from(*cpus).unwrap()
                        });
                        prop_assert!(below || grows || refused.refused.is_none(), "{refused:?}");
                    }
                    ledger = ledger.resized(attempt).unwrap();
                    follow(&mut model, &ledger, &name)?;
                }
                Happens::Remove { pod } => {
                    let name = format!("p{pod}");
                    ledger = ledger.release(&uid(&name));
                    model.retain(|(of, _), _| *of != name);
                }
                Happens::Restart => {
                    let pods = topology_admission::RunningPods::admitted(ledger.shared_pods().cloned());
                    ledger = node.restore(node.stored(&ledger), pods).unwrap();
                }
            }
            check(&node, &ledger)?;
        }
        let names: Vec<PodUid> = ledger.pods().map(|pod| pod.uid.clone()).collect();
        let empty = names.iter().fold(ledger, |ledger, pod| ledger.release(pod));
        let unused = node.empty_ledger();
        prop_assert_eq!(empty.cpus().unwrap().shared(), unused.cpus().unwrap().shared());
        prop_assert!(empty.cpus().unwrap().is_stored_as(unused.cpus().unwrap()));
        prop_assert!(empty.memory().unwrap().is_booked_like(node.empty_ledger().memory().unwrap()));
    }
}
