//! Random configurations on random machines: what is called good starts, admits the pod that `share.rs` promises, and starts
//! again on a full node, by the kubelet's own rules with its faults.
//!
//! The node is filled here in another way than the advice fills it: by pods of random sizes, until none of one CPU fits.

use config_advice::{Cause, DecidedBy, Doubt, Finding, Hazard, check, propose};
use cpuset::CpuSet;
use k8s_quantity::{Format, Quantity};
use node_config::{KubeletConfiguration, Release, Rules};
use pod_spec::{Container, Pod, PodLevelResources, ResourceList, Role};
use proptest::prelude::*;
use proptest::test_runner::TestRng;
use topology_admission::{Compat, Node, RunningPods, SourcesReady, Verdict};
use topology_discovery::{SysfsTree, read};
use topology_model::{KubeletView, MachineCore, MachineInfo, MachineNode};

/// Machines as they are sold: packages of equal NUMA nodes, and virtual machines with a package for each core.
fn regular() -> impl Strategy<Value = KubeletView> {
    let packages = prop_oneof![Just(1_u32), Just(2), Just(4), Just(8), Just(17), Just(32)];
    let memory = prop_oneof![Just(2_u32), Just(4), Just(16), Just(96)];
    (packages, 0..3_u32, prop_oneof![Just(1_u32), 1..12_u32], 1..3_u32, memory).prop_map(
        |(packages, nodes, cores, threads, memory)| {
            // Without separate NUMA nodes packages share the only one.
            let text = match nodes {
                0 => format!("[numa(memory={memory}GiB)] pack:{packages} core:{cores} pu:{threads}"),
                1 => format!("pack:{packages} [numa(memory={memory}GiB)] core:{cores} pu:{threads}"),
                _ => format!("pack:{packages} numa:{nodes}(memory={memory}GiB) core:{cores} pu:{threads}"),
            };
            KubeletView::new(&text.parse().unwrap()).unwrap()
        },
    )
}

/// Machines whose cores have one or two threads, on packages of different sizes.
fn irregular() -> impl Strategy<Value = KubeletView> {
    let package = prop::collection::vec(1..3_usize, 1..10);
    prop::collection::vec(package, 1..4).prop_map(|packages| {
        let (mut cpus, mut nodes) = (0, Vec::new());
        for (id, package) in (0..).zip(&packages) {
            let core = |threads: &usize| {
                let own: Vec<i64> = (cpus..).take(*threads).collect();
                cpus += i64::try_from(*threads).unwrap();
                MachineCore { thread_ids: Some(own), socket_id: id, ..MachineCore::default() }
            };
            let cores = Some(package.iter().map(core).collect());
            let distances = Some(vec![10; packages.len()]);
            nodes.push(MachineNode { id, cores, memory: 16 << 30, distances, ..MachineNode::default() });
        }
        let sockets = i64::try_from(packages.len()).unwrap();
        KubeletView::new(&MachineInfo {
            num_cpus: cpus,
            num_sockets: sockets,
            memory_capacity: (16 << 30) * packages.len() as u64,
            topology: Some(nodes),
            ..MachineInfo::default()
        })
        .unwrap()
    })
}

fn embedded() -> impl Strategy<Value = KubeletView> {
    prop::sample::select(machine_fixtures::names().collect::<Vec<_>>()).prop_map(|name| {
        let tree = SysfsTree::archive(machine_fixtures::archive(name).unwrap()).unwrap();
        KubeletView::new(&read(&tree).unwrap().info).unwrap()
    })
}

/// What people write, right and wrong.
fn configuration() -> impl Strategy<Value = KubeletConfiguration> {
    let word = |words: &'static [&'static str]| {
        prop::option::of(prop::sample::select(words)).prop_map(|word| word.map(str::to_owned))
    };
    let amount = |words: &'static [&'static str]| prop::option::of(prop::sample::select(words));
    let options: &[&str] = &[
        "full-pcpus-only",
        "strict-cpu-reservation",
        "align-by-socket",
        "distribute-cpus-across-numa",
        "distribute-cpus-across-cores",
        "prefer-align-cpus-by-uncorecache",
    ];
    let policies = (
        word(&["static", "none"]),
        word(&["none", "best-effort", "restricted", "single-numa-node"]),
        word(&["container", "pod"]),
        word(&["None", "Static"]),
    );
    let reserved = (
        word(&["0", "1", "0-1", "0,2", "0-3", "0-999", "2-5", ""]),
        amount(&["100m", "500m", "1", "1500m", "3", "64"]),
        amount(&["500m", "1Gi", "512Mi", "100", "900Gi"]),
        amount(&["310m", "2"]),
        word(&["/runtime"]),
    );
    let options = (prop::sample::subsequence(options, 0..3), any::<bool>(), any::<bool>());
    (policies, reserved, options).prop_map(|(policies, reserved, (options, alpha, is_new))| {
        let (cpu, topology, scope, memory) = policies;
        let (list, system_cpu, system_memory, kube_cpu, cgroup) = reserved;
        let amounts = |pairs: [(&str, Option<&str>); 2]| {
            pairs
                .into_iter()
                .filter_map(|(name, amount)| Some((name.to_owned(), amount?.to_owned())))
                .collect()
        };
        let on = |name: &&str| ((*name).to_owned(), "true".to_owned());
        KubeletConfiguration {
            rules: Rules::of(if is_new { Release::V1_37 } else { Release::V1_36 }),
            cpu_manager_policy: cpu,
            cpu_manager_policy_options: options.iter().map(on).collect(),
            topology_manager_policy: topology,
            topology_manager_scope: scope,
            memory_manager_policy: memory,
            reserved_system_cpus: list,
            system_reserved: amounts([("cpu", system_cpu), ("memory", system_memory)]),
            kube_reserved: amounts([("cpu", kube_cpu), ("memory", None)]),
            kube_reserved_cgroup: cgroup,
            feature_gates: [("CPUManagerPolicyAlphaOptions".to_owned(), alpha)].into(),
            ..KubeletConfiguration::default()
        }
    })
}

fn pod(name: &str, cpus: usize, memory: u64) -> Pod {
    let amount = |units: u64| Quantity::from_units(i64::try_from(units).unwrap(), Format::BinarySi);
    let limits: ResourceList =
        [("cpu".into(), amount(cpus as u64)), ("memory".into(), amount(memory))].into();
    let container = Container { name: "main".into(), role: Role::App, requests: limits.clone(), limits };
    Pod::new("default", name, vec![container]).with_defaults(PodLevelResources::Count)
}

/// Fills the node and starts it again; what goes wrong.
fn fill_and_start_again(node: &Node, sizes: &[usize]) -> Result<(), String> {
    let (mut ledger, mut pods) = (node.empty_ledger(), Vec::new());
    let smallest = if sizes.iter().any(|size| size % 2 == 1) { [1; 40] } else { [2; 40] };
    for size in sizes.iter().chain(&smallest) {
        let pod = pod(&format!("random-{}", pods.len()), *size, 1 << 20);
        let attempt = node.admission(&ledger, &pod).attempt();
        if matches!(attempt.verdict, Verdict::Admitted(_)) {
            ledger = ledger.commit(attempt).unwrap();
            pods.push(pod);
        }
    }
    let keys = |pod: &Pod| pod.containers.iter().map(|own| pod.key(own)).collect::<Vec<_>>();
    let running = pods.iter().flat_map(keys).collect();
    let running = RunningPods { admitted: Vec::new(), running, sources: SourcesReady::No };
    let mut again = node.restore(node.stored(&ledger), running).map_err(|error| error.to_string())?;
    for pod in &pods {
        let attempt = node.admission(&again, pod).attempt();
        if let Verdict::Refused(refused) = &attempt.verdict {
            return Err(format!("{} is refused: {}", pod.name, refused.message));
        }
        again = again.commit(attempt).unwrap();
    }
    Ok(())
}

/// What a configuration without findings promises.
fn good(config: &KubeletConfiguration, view: &KubeletView, sizes: &[usize]) -> Result<(), String> {
    if !config.validate().is_empty() {
        return Err(format!("{:?}", config.validate()));
    }
    let node = Node::start_as(view, config, Compat::KUBELET).map_err(|error| error.to_string())?;
    fill_and_start_again(&node, sizes)
}

/// A pod of half of the CPUs of the smallest NUMA node with two cores, in whole cores, which is promised where the
/// proposal has chosen what is reserved.
fn promised(config: &KubeletConfiguration, view: &KubeletView) -> Result<(), String> {
    let table = view.cpus();
    let cores = |node: &CpuSet| table.cores().filter(|(_, core)| core.is_subset(node)).count();
    let halves = table.nodes().filter(|(_, cpus)| cores(cpus) > 1).map(|(_, cpus)| {
        let own: Vec<_> = table.cores().filter(|(_, core)| core.is_subset(cpus)).collect();
        own.iter().take(own.len() / 2).map(|(_, core)| core.len()).sum::<usize>()
    });
    let Some(cpus) = halves.min() else { return Ok(()) };
    let cpus = cpus / table.cpus_per_core().max(1) * table.cpus_per_core().max(1);
    let node = Node::start_as(view, config, Compat::KUBELET).map_err(|error| error.to_string())?;
    let memory = (view.memory_capacity() / 8).min(1 << 30);
    match node.admission(&node.empty_ledger(), &pod("promised", cpus, memory)).attempt().verdict {
        Verdict::Refused(refused) => Err(format!("a pod of {cpus} CPUs is refused: {}", refused.message)),
        _ => Ok(()),
    }
}

/// Findings of a proposal that nothing but giving up what was asked for would mend.
fn is_asked_for(finding: &Finding, config: &KubeletConfiguration) -> bool {
    match &finding.cause {
        Cause::Hazard(Hazard::RefusedAtRestart { reason, .. }) => reason == "SMTAlignmentError",
        Cause::Doubt(Doubt::AlignsDevicesAlone { .. }) => config.cpu_manager_policy.is_some(),
        _ => false,
    }
}

/// Whether all that went wrong is the kubelet's fault with whole cores that were asked for, which is a note and no finding.
fn is_kept(kept: &Result<(), String>, config: &KubeletConfiguration) -> bool {
    kept.as_ref().err().is_none_or(|error| {
        error.contains("SMT Alignment Error")
            && config.cpu_manager_policy_options.contains_key("full-pcpus-only")
    })
}

fn shown(config: &KubeletConfiguration) -> String {
    format!("{} {}", config.rules.version, serde_json::to_string(config).unwrap())
}

fn try_one(
    view: &KubeletView,
    config: &KubeletConfiguration,
    sizes: &[usize],
) -> Result<bool, TestCaseError> {
    let proposal = propose(config, view, DecidedBy::Kubelet);
    let found = check(config, &proposal, view, DecidedBy::Kubelet);
    if found.is_empty() {
        let kept = good(config, view, sizes);
        prop_assert!(is_kept(&kept, config), "called good: {}: {kept:?}", shown(config));
    }
    let left = check(&proposal, &proposal, view, DecidedBy::Kubelet);
    let is_good = left.is_empty();
    if is_good {
        let kept = good(&proposal, view, sizes);
        prop_assert!(is_kept(&kept, &proposal), "for {}: {}: {kept:?}", shown(config), shown(&proposal));
    } else {
        prop_assert!(
            left.iter().all(|own| is_asked_for(own, config)) || view.cpus().all().len() < 2,
            "for {} with faults: {}: {left:?}",
            shown(config),
            shown(&proposal)
        );
    }
    let asks_nothing = config.reserved_cpus().is_empty()
        && config.system_reserved.is_empty()
        && config.kube_reserved.is_empty();
    if asks_nothing && proposal.cpu_policy() == "static" {
        let kept = promised(&proposal, view);
        prop_assert!(kept.is_ok(), "for {}: {}: {kept:?}", shown(config), shown(&proposal));
    }
    Ok(is_good)
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    let any_size = prop::collection::vec(prop_oneof![1..4_usize, 1..24_usize], 1..40);
    prop_oneof![any_size.clone(), any_size.prop_map(|sizes| sizes.iter().map(|size| size * 2).collect())]
}

/// A machine as its counts in messages.
struct Hidden(KubeletView);

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let table = self.0.cpus();
        let sets = |sets: Vec<&CpuSet>| sets.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (nodes, cores) = (table.nodes().map(|own| own.1), table.cores().map(|own| own.1));
        let sockets = table.sockets().map(|own| own.1);
        write!(
            f,
            "nodes {:?} sockets {:?} cores {:?}",
            sets(nodes.collect()),
            sets(sockets.collect()),
            sets(cores.collect())
        )
    }
}

/// Runs `cases`, or as many as `ADVICE_CASES` says, from the seed `ADVICE_SEED` if it is set, and counts the proposals that were called good.
fn run(machines: impl Strategy<Value = KubeletView>, cases: u32) {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
    let cases = number("ADVICE_CASES").unwrap_or(cases);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let algorithm = config.rng_algorithm;
    let seed = number("ADVICE_SEED").map(|seed| {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&seed.to_le_bytes());
        TestRng::from_seed(algorithm, &bytes)
    });
    let rng = seed.unwrap_or_else(|| TestRng::deterministic_rng(algorithm));
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(config, rng);
    let good = std::cell::Cell::new(0);
    let machines = machines.prop_map(Hidden);
    let result = runner.run(&(machines, configuration(), sizes()), |(Hidden(view), config, sizes)| {
        if try_one(&view, &config, &sizes)? {
            good.set(good.get() + 1);
        }
        Ok(())
    });
    result.unwrap();
    // An answer that is never yes proves nothing.
    assert!(good.get() * 10 > cases * 6, "{} of {cases}", good.get());
}

#[test]
fn promises_are_kept_on_regular_machines() {
    run(regular(), 400);
}

#[test]
fn promises_are_kept_on_machines_whose_cores_differ() {
    run(irregular(), 300);
}

#[test]
fn promises_are_kept_on_captured_machines() {
    run(embedded(), 40);
}
