//! Both ways of being give the same answers, and where they do not, a field of [`Compat`] says why: one field set to the
//! product's value, or two, makes the kubelet's equal answer as the product does.

use crate::fixture;
use std::collections::{BTreeMap, BTreeSet};

use crate::fixture::Asked;
use node_config::KubeletConfiguration;
use pod_spec::Pod;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use topology_admission::{Compat, Ledger, Node, RunningPods, SourcesReady};
use topology_model::{KubeletView, MachineInfo};

/// Gives one field of a `Compat` the product's value.
type Flip = fn(Compat) -> Compat;

const FIELDS: [(&str, Flip); 10] = [
    ("node_limit", |compat| Compat { node_limit: Compat::default().node_limit, ..compat }),
    ("refused_pod", |compat| Compat { refused_pod: Compat::default().refused_pod, ..compat }),
    ("busy_sibling", |compat| Compat { busy_sibling: Compat::default().busy_sibling, ..compat }),
    ("pod_bubble", |compat| Compat { pod_bubble: Compat::default().pod_bubble, ..compat }),
    ("full_node", |compat| Compat { full_node: Compat::default().full_node, ..compat }),
    ("blocked_devices", |compat| Compat { blocked_devices: Compat::default().blocked_devices, ..compat }),
    ("wrapped_tables", |compat| Compat { wrapped_tables: Compat::default().wrapped_tables, ..compat }),
    ("readmission", |compat| Compat { readmission: Compat::default().readmission, ..compat }),
    ("uneven_group", |compat| Compat { uneven_group: Compat::default().uneven_group, ..compat }),
    ("distance_index", |compat| Compat { distance_index: Compat::default().distance_index, ..compat }),
];

/// What happens on a node.
#[derive(Clone, Debug)]
enum Step {
    /// A pod asks, in eighths of what a node has.
    Admit(Vec<[u64; 4]>),
    /// The pod of that step, if any, comes again.
    Again(usize),
    /// It ends.
    End(usize),
    /// The kubelet starts anew.
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let asked = prop::collection::vec([0..9_u64, 0..9_u64, 0..5_u64, 0..4_u64], 1..3);
    let step = prop_oneof![
        6 => asked.prop_map(Step::Admit),
        1 => (0..8_usize).prop_map(Step::Again),
        2 => (0..8_usize).prop_map(Step::End),
        1 => Just(Step::Restart),
    ];
    prop::collection::vec(step, 3..9)
}

fn asking(name: &str, asked: &[[u64; 4]], info: &MachineInfo) -> Pod {
    let nodes = || info.topology.iter().flatten();
    let cpus = |node: &topology_model::MachineNode| {
        let cores = node.cores.iter().flatten();
        cores.map(|core| core.thread_ids.iter().flatten().count() as u64).sum::<u64>()
    };
    let (most, memory) = (nodes().map(cpus).max().unwrap(), nodes().map(|node| node.memory).max().unwrap());
    let asked: Vec<Asked> = asked
        .iter()
        .map(|[cpus, share, pages, vfs]| Asked {
            cpus: (most * cpus / 8).max(1),
            memory: ((memory * share / 8) >> 20).max(1),
            pages: *pages,
            vfs: *vfs,
            gpus: 0,
        })
        .collect();
    fixture::pod(name, &asked)
}

/// Every answer, and what is held after it.
fn play(info: &MachineInfo, config: &KubeletConfiguration, compat: Compat, steps: &[Step]) -> Vec<String> {
    let view = KubeletView::new(info).unwrap();
    let node = match Node::start_as(&view, config, compat) {
        Ok(node) => node,
        Err(error) => return vec![error.to_string()],
    };
    let inventory = fixture::inventory(&node, 3);
    let mut ledger = node.empty_ledger().with_inventory(inventory.clone());
    let mut answers = Vec::new();
    let mut pods: BTreeMap<usize, Pod> = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        let admit = |ledger: &Ledger, pod: &Pod, answers: &mut Vec<String>| {
            let attempt = node.admission(ledger, pod).attempt();
            answers.push(format!("{:?}", attempt.verdict));
            ledger.commit(attempt).unwrap()
        };
        match step {
            Step::Admit(asked) => {
                let pod = asking(&format!("pod-{at}"), asked, info);
                ledger = admit(&ledger, &pod, &mut answers);
                pods.insert(at, pod);
            }
            Step::Again(which) => {
                let running = pods.get(which).filter(|pod| ledger.pods().any(|other| other.uid == pod.uid));
                if let Some(pod) = running {
                    ledger = admit(&ledger, pod, &mut answers);
                }
            }
            Step::End(which) => {
                if let Some(pod) = pods.get(which) {
                    ledger = ledger.release(&pod.uid);
                }
            }
            Step::Restart => {
                let running: Vec<Pod> = ledger.pods_by_arrival().cloned().collect();
                let containers = running.iter().flat_map(|pod| pod.containers.iter().map(|own| pod.key(own)));
                let containers: BTreeSet<_> = containers.collect();
                let pods =
                    RunningPods { running: containers, sources: SourcesReady::No, ..RunningPods::default() };
                match node.restore(node.stored(&ledger), pods) {
                    Ok(restored) => ledger = restored.with_inventory(inventory.clone()),
                    Err(error) => {
                        answers.push(error.to_string());
                        return answers;
                    }
                }
                for pod in &running {
                    ledger = admit(&ledger, pod, &mut answers);
                }
                ledger = ledger.with_sources(SourcesReady::Yes);
            }
        }
        let memory = ledger.memory().zip(node.memory()).map(|(held, policy)| policy.stored(held));
        let devices: Vec<_> = ledger.devices().all_taken().collect();
        answers.push(format!("{:?} {memory:?} {devices:?}", ledger.cpus()));
    }
    answers
}

/// The fewest fields, one or two, that make the kubelet's equal answer as the product does.
fn explaining(play: impl Fn(Compat) -> Vec<String>, product: &[String]) -> Option<Vec<&'static str>> {
    let one = FIELDS.iter().find(|(_, flip)| play(flip(Compat::KUBELET)) == product);
    if let Some((name, _)) = one {
        return Some(vec![*name]);
    }
    let mut pairs = FIELDS.iter().flat_map(|first| FIELDS.iter().map(move |second| (first, second)));
    let two = pairs.find(|((_, first), (_, second))| play(second(first(Compat::KUBELET))) == product);
    two.map(|((first, _), (second, _))| vec![*first, *second])
}

#[test]
fn where_the_two_differ_a_field_says_why() {
    let policy = prop::sample::select(vec!["none", "best-effort", "restricted", "single-numa-node"]);
    let options = prop::sample::select(vec![
        "",
        "full-pcpus-only",
        "strict-cpu-reservation",
        "distribute-cpus-across-numa",
    ]);
    let scope = prop::sample::select(vec!["container", "pod"]);
    let strategy = (policy, scope, options, any::<bool>(), steps());
    let mut explained: BTreeMap<String, u32> = BTreeMap::new();
    for name in machine_fixtures::names() {
        let info = fixture::machine(name, 4);
        let cases = std::cell::RefCell::new(&mut explained);
        let seeded =
            Config { cases: 8, rng_seed: RngSeed::Fixed(11), failure_persistence: None, ..Config::default() };
        let result = TestRunner::new(seeded).run(&strategy, |(policy, scope, option, closest, steps)| {
            let mut config = fixture::config(&info, policy, scope, 2);
            if !option.is_empty() {
                config.cpu_manager_policy_options.insert(option.to_owned(), "true".to_owned());
            }
            if closest {
                let options = &mut config.topology_manager_policy_options;
                options.insert("prefer-closest-numa-nodes".to_owned(), "true".to_owned());
            }
            let play = |compat| play(&info, &config, compat, &steps);
            let product = play(Compat::default());
            let fields =
                if play(Compat::KUBELET) == product { Some(Vec::new()) } else { explaining(play, &product) };
            let fields = fields.map(|fields| fields.join(" and "));
            prop_assert!(fields.is_some(), "no field explains the difference");
            *cases.borrow_mut().entry(fields.unwrap()).or_default() += 1;
            Ok(())
        });
        if let Err(error) = result {
            panic!("{name}: {error}");
        }
    }
    println!("{explained:?}");
    for field in ["", "node_limit", "refused_pod"] {
        assert!(explained.keys().any(|fields| fields.contains(field)), "{field:?}: {explained:?}");
    }
    assert!(explained.contains_key(""), "there are sequences without a difference");
}
