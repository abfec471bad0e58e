//! Moves of resident pods: every plan that is found is carried out step by step, with the crate's public means alone,
//! and where few pods run it is compared with trying every order of every set.

use crate::fixture;

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::fixture::Asked;
use crate::repacking::{BruteForce, admit, repack};
use device_manager::Replies;
use node_config::OwnOptions;
use pod_spec::Pod;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use topology_admission::{Compat, Ledger, Node, Plan, Repack, Search, Step, Tries};

/// From two to 34 NUMA nodes, some of them without memory or CPUs.
const MACHINES: [&str; 8] = [
    "xeon-2s-96cpu-sriov",
    "gnr-6980p-snc3-asym-6node",
    "spr-8480-snc4-8node",
    "gb200-nvl4-34node",
    "pack:2 [numa(memory=32GiB)] core:8 pu:2",
    "pack:4 [numa(memory=32GiB)] core:8 pu:1",
    "pack:2 numa:4(memory=16GiB) core:4 pu:2",
    "pack:2 [numa(memory=64GiB)] core:12 pu:1",
];

/// How often each thing happened.
type Counts = BTreeMap<&'static str, u32>;

/// What all refusals of one case have in common.
struct Case<'a> {
    node: &'a Node,
    ledger: &'a Ledger,
    pod: &'a Pod,
}

impl Case<'_> {
    /// Carries the plan out by deleting and creating, and looks at what is there in the end.
    fn carry_out(&self, plan: &Plan) -> Result<(), TestCaseError> {
        let residents: Vec<Pod> = self.ledger.pods().cloned().collect();
        let mut ledger = self.ledger.clone();
        for step in &plan.steps {
            ledger = match step {
                Step::Delete(uid) => {
                    prop_assert!(ledger.has_pod(uid), "{uid} is there to be deleted");
                    ledger.release(uid)
                }
                Step::Create { pod: uid, placement } => {
                    prop_assert!(!ledger.has_pod(uid), "{uid} is not there twice");
                    let mut all = residents.iter().chain([self.pod]);
                    let pod = all.find(|pod| pod.uid == *uid).unwrap();
                    let Some((after, placed)) = admit(self.node, &ledger, pod) else {
                        return Err(TestCaseError::fail(format!("{uid} is refused")));
                    };
                    prop_assert_eq!(&placed, placement, "where {} runs", uid);
                    after
                }
            };
        }
        for pod in residents.iter().chain([self.pod]) {
            prop_assert!(ledger.has_pod(&pod.uid), "{} is on the node", pod.name);
        }
        prop_assert_eq!(ledger.pods().count(), residents.len() + 1);
        // Those that are not in the plan hold what they held.
        for pod in residents.iter().filter(|pod| !plan.moved.contains(&pod.uid)) {
            let cpus = |ledger: &Ledger| {
                ledger.cpus().unwrap().of_pod(&pod.uid).map(|(_, cpus)| cpus.clone()).collect::<Vec<_>>()
            };
            prop_assert_eq!(cpus(&ledger), cpus(self.ledger), "the CPUs of {}", pod.name);
        }
        let applied = plan.apply(self.node, self.ledger, self.pod, &Replies::new()).unwrap();
        prop_assert!(applied.decides_like(&ledger, self.node), "the plan applied is the plan carried out");
        Ok(())
    }

    fn check(&self, repack: &Repack, counts: &mut Counts) -> Result<(), TestCaseError> {
        let mut count = |what| *counts.entry(what).or_default() += 1;
        if let Some(plan) = &repack.plan {
            count(["", "one", "two", "three", "four"][plan.moved.len()]);
            self.carry_out(plan)?;
        } else {
            count(if repack.hopeless.is_some() { "hopeless" } else { "none" });
        }
        if repack.search == Search::Cut {
            count("cut");
            return Ok(());
        }
        if self.ledger.pods().count() > 4 {
            return Ok(());
        }
        count("compared");
        let found = repack.plan.as_ref().map(|plan| (plan.moved.len(), plan.bytes));
        let all = BruteForce { node: self.node, ledger: self.ledger, wanted: self.pod };
        prop_assert_eq!(found, all.best(), "pods and bytes of the smallest plan; {:?}", repack);
        Ok(())
    }
}

/// What one container asks for, in parts of what a node has, so that few fit.
fn asked() -> impl Strategy<Value = [u64; 5]> {
    let some = |most: u64| prop_oneof![4 => Just(0), 1 => 0..most];
    (1..5_u64, 0..4_u64, some(3), some(3), some(2))
        .prop_map(|(cpus, memory, pages, vfs, gpus)| [cpus, memory, pages, vfs, gpus])
}

/// What an eighth of the richest node's CPUs and memory is.
struct Eighth {
    cpus: u64,
    memory: u64,
}

impl Eighth {
    fn of(node: &Node) -> Self {
        let most = |name: &str| {
            let room = node.room(&node.empty_ledger());
            let row = room.iter().find(|(resource, _)| resource.as_str() == name).unwrap();
            row.1.nodes.iter().map(|cell| cell.allocatable).max().unwrap()
        };
        Self { cpus: (most("cpu") / 8).max(1), memory: most("memory") / 8 }
    }

    fn asked(&self, [cpus, memory, pages, vfs, gpus]: [u64; 5]) -> Asked {
        let memory = ((self.memory * memory) >> 20).max(1);
        Asked { cpus: self.cpus * cpus, memory, pages, vfs, gpus }
    }
}

/// A node on which some pods came and some have left, so that what is free lies in pieces.
fn filled(node: &Node, pods: &[Vec<[u64; 5]>], leave: u64) -> Ledger {
    let eighth = Eighth::of(node);
    let mut ledger = node.empty_ledger().with_inventory(fixture::inventory(node, 3));
    // Machines with many nodes have many pods.
    let times = node.nodes().len().div_ceil(4);
    for (at, containers) in pods.iter().cycle().take(pods.len() * times).enumerate() {
        let containers: Vec<Asked> = containers.iter().map(|parts| eighth.asked(*parts)).collect();
        let pod = fixture::pod(&format!("pod-{at}"), &containers);
        ledger = admit(node, &ledger, &pod).map_or(ledger, |(after, _)| after);
    }
    let uids: Vec<_> = ledger.pods().map(|pod| pod.uid.clone()).collect();
    let leaving = (0_u32..).zip(&uids).filter(|(at, _)| leave.rotate_left(7 * at).trailing_zeros() >= 2);
    leaving.fold(ledger, |ledger, (_, uid)| ledger.release(uid))
}

/// The pod with the fewest CPUs that is refused.
fn refused(node: &Node, ledger: &Ledger, parts: [u64; 5]) -> Option<Pod> {
    let eighth = Eighth::of(node);
    let pods = (1..=8).map(|cpus| {
        let [_, memory, pages, vfs, gpus] = parts;
        fixture::pod("wanted", &[eighth.asked([cpus, memory, pages, vfs, gpus])])
    });
    pods.into_iter().find(|pod| admit(node, ledger, pod).is_none())
}

#[test]
fn every_plan_admits_the_pod_and_keeps_all_others_and_is_the_smallest() {
    const REFUSALS: u32 = 32;
    const HOPELESS: u32 = 3;
    let pods = prop::collection::vec(prop::collection::vec(asked(), 1..3), 3..8);
    let policy = prop::sample::select(vec!["best-effort", "restricted", "single-numa-node"]);
    let scope = prop::sample::select(vec!["container", "pod"]);
    let strategy = (policy, scope, any::<bool>(), pods, asked(), any::<u64>());
    let (mut counts, mut refusals_in_all) = (Counts::new(), 0);
    for name in MACHINES {
        let info = fixture::machine(name, 4);
        let config = Config {
            cases: 1000,
            rng_seed: RngSeed::Fixed(29),
            failure_persistence: None,
            ..Config::default()
        };
        let (refusals, hopeless, counted) =
            (Cell::new(0), Cell::new(0), std::cell::RefCell::new(&mut counts));
        let result =
            TestRunner::new(config).run(&strategy, |(policy, scope, whole_cores, pods, parts, leave)| {
                if refusals.get() >= REFUSALS {
                    return Ok(());
                }
                let mut config = fixture::config(&info, policy, scope, 2);
                if whole_cores {
                    config.cpu_manager_policy_options.insert("full-pcpus-only".to_owned(), "true".to_owned());
                }
                let node = &fixture::node(&info, &config, Compat::default(), OwnOptions::default());
                let ledger = filled(node, &pods, leave);
                let Some(pod) = refused(node, &ledger, parts) else { return Ok(()) };
                let repack = repack(node, &ledger, &pod, Tries(2_000).into(), 4);
                // Those that no move can help are many.
                let counter = if repack.hopeless.is_some() { &hopeless } else { &refusals };
                if repack.hopeless.is_some() && hopeless.get() >= HOPELESS {
                    return Ok(());
                }
                counter.set(counter.get() + 1);
                Case { node, ledger: &ledger, pod: &pod }.check(&repack, &mut counted.borrow_mut())
            });
        if let Err(error) = result {
            panic!("{name}: {error}");
        }
        refusals_in_all += refusals.get();
    }
    println!("{refusals_in_all} refusals: {counts:?}");
    assert!(refusals_in_all >= 200, "only {refusals_in_all} refusals were looked at: {counts:?}");
    for (what, times) in [("one", 50), ("two", 5), ("none", 5), ("hopeless", 5), ("compared", 40)] {
        assert!(counts.get(what).is_some_and(|count| *count >= times), "{what} too seldom: {counts:?}");
    }
}
