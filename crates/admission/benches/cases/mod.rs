//! What is measured, and what must be reached.
#![expect(clippy::unwrap_used, clippy::panic, reason = "what is written down here is well formed")]

use std::hint::black_box;

use device_manager::Replies;
use node_config::OwnOptions;
use pod_spec::Pod;
use topology_admission::{Compat, Detail, Ledger, Node, Search, Tries, Verdict};

use crate::fixture::{self, Asked};
use crate::repacking;

/// One thing that is measured.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) must_reach: MustReach,
    /// Whether it takes less than a millisecond.
    pub(crate) is_short: bool,
    run: Box<dyn Fn()>,
}

/// How long it may take.
#[derive(Clone, Copy)]
pub(crate) enum MustReach {
    Nanos(u64),
    /// In comparison with the last case that has a time.
    TimesTheOneBefore(f64),
}

impl Case {
    pub(crate) fn run(&self) {
        (self.run)();
    }

    fn attempt(name: String, must_reach: MustReach, state: &State, traced: Traced) -> Self {
        let state = state.clone();
        let run = Box::new(move || {
            let (node, ledger, pod) = (&state.node, &state.ledger, &state.pod);
            let replies = Replies::new();
            match traced {
                Traced::No => drop(black_box(node.admission(ledger, pod).with(&replies).attempt())),
                Traced::Yes => {
                    drop(black_box(node.admission(ledger, pod).with(&replies).trace(Detail::Short)));
                }
            }
        });
        Self { name, must_reach, is_short: true, run }
    }
}

#[derive(Clone, Copy)]
enum Traced {
    No,
    Yes,
}

/// A node, what it holds, and who comes.
#[derive(Clone)]
struct State {
    node: Node,
    ledger: Ledger,
    pod: Pod,
}

impl State {
    /// The pod has four containers, each with CPUs, memory, huge pages and two kinds of devices; before it come so many
    /// small ones.
    fn new(machine: &str, policy: &str, residents: usize, asked: Asked) -> Self {
        let info = fixture::machine(machine, 8);
        let mut config = fixture::config(&info, policy, "container", 2);
        config.max_pods = Some(1000);
        let node = fixture::node(&info, &config, Compat::default(), OwnOptions::default());
        let mut ledger = node.empty_ledger().with_inventory(fixture::inventory(&node, 64));
        for at in 0..residents {
            let vfs = u64::from(at % 2 == 0);
            let small = Asked { cpus: 1, memory: 256, vfs, ..Asked::default() };
            ledger = admitted(&node, &ledger, &fixture::pod(&format!("small-{at}"), &[small]));
        }
        Self { node, ledger, pod: fixture::pod("new", &[asked; 4]) }
    }
}

fn admitted(node: &Node, ledger: &Ledger, pod: &Pod) -> Ledger {
    let attempt = node.admission(ledger, pod).attempt();
    assert!(matches!(attempt.verdict, Verdict::Admitted(_)), "{}: {:?}", pod.name, attempt.verdict);
    ledger.commit(attempt).unwrap()
}

/// What each container of the new pod asks for.
const ASKED: Asked = Asked { cpus: 2, memory: 1024, pages: 1, vfs: 1, gpus: 1 };

const MACHINES: [(&str, &str, u64); 4] = [
    ("2 nodes", "pack:2 [numa(memory=256GiB)] core:64 pu:2", 30),
    ("8 nodes", "pack:2 numa:4(memory=128GiB) core:16 pu:2", 100),
    ("GB200, 34 nodes", "gb200-nvl4-34node", 300),
    ("Turin, 32 nodes", "turin-9755-nps4-l3numa-32node", 300),
];

pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, machine, micros) in MACHINES {
        for policy in ["restricted", "best-effort", "single-numa-node"] {
            let state = State::new(machine, policy, 0, ASKED);
            admitted(&state.node, &state.ledger, &state.pod);
            let name = format!("attempt of 4 containers, {name}, {policy}");
            cases.push(Case::attempt(name, MustReach::Nanos(micros * 1000), &state, Traced::No));
            if policy == "restricted" {
                let more = |times| MustReach::TimesTheOneBefore(times);
                cases.push(Case::attempt("  with a trace".to_owned(), more(1.5), &state, Traced::Yes));
                // With 25 pods for each of the four that would be too many for some.
                let beside = State::new(machine, policy, 100, ASKED);
                cases.push(Case::attempt("  beside 100 pods".to_owned(), more(2.0), &beside, Traced::No));
            }
        }
    }
    cases.push(moves());
    cases.push(explanation());
    cases
}

/// A pod that fits once others restart, on eight nodes with a hundred pods.
fn moves() -> Case {
    let info = fixture::machine("pack:2 numa:4(memory=128GiB) core:16 pu:2", 4);
    let config = fixture::config(&info, "single-numa-node", "container", 2);
    let node = fixture::node(&info, &config, Compat::default(), OwnOptions::default());
    let ledger = repacking::spread(&node, 100);
    let pod = fixture::pod("new", &[Asked { cpus: 12, memory: 4096, ..Asked::default() }]);
    let run = move || {
        let found = repacking::repack(&node, &ledger, &pod, Tries(5000).into(), 3);
        assert!(found.plan.is_some_and(|plan| plan.apply(&node, &ledger, &pod, &Replies::new()).is_ok()));
    };
    Case {
        name: "moves for a pod, 8 nodes, 100 pods".to_owned(),
        must_reach: MustReach::Nanos(200_000_000),
        is_short: false,
        run: Box::new(run),
    }
}

/// A pod that would have to wait for more than two others: everything is tried that there is.
fn explanation() -> Case {
    let large = Asked { cpus: 17, memory: 1024, pages: 1, vfs: 1, gpus: 1 };
    let machine = "pack:4 numa:16(memory=64GiB) core:8 pu:2";
    let state = State::new(machine, "restricted", 500, large);
    let replies = Replies::new();
    let run = move || {
        let State { node, ledger, pod } = &state;
        let (attempt, trace) = node.admission(ledger, pod).with(&replies).trace(Detail::Short);
        let Verdict::Refused(refused) = &attempt.verdict else { panic!("it fits") };
        let explained = node.admission(ledger, pod).with(&replies).explain(refused, &trace, Tries(500));
        assert!(explained.search == Search::Complete && explained.tries > 20, "{} tries", explained.tries);
    };
    Case {
        name: "explanation, 64 nodes, 500 pods".to_owned(),
        must_reach: MustReach::Nanos(100_000_000),
        is_short: false,
        run: Box::new(run),
    }
}
