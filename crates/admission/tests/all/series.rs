//! Pods one after the other are decided on as each by itself is, with less work.

use crate::fixture;
use crate::fixture::Asked;
use device_manager::Replies;
use node_config::OwnOptions;
use pod_spec::Pod;
use topology_admission::{Compat, Detail, Ledger, Node, Outcome, RefusedPod, Series, Tries, Verdict};

fn node(policy: &str, scope: &str, compat: Compat) -> Node {
    let info = fixture::machine("pack:2 [numa(memory=32GiB)] core:8 pu:2", 4);
    let config = fixture::config(&info, policy, scope, 2);
    fixture::node(&info, &config, compat, OwnOptions::default())
}

fn pod(name: &str, cpus: u64) -> Pod {
    fixture::pod(name, &[Asked { cpus, memory: 64, ..Asked::default() }])
}

/// Some of one container, some of two, some of which are there twice; many of them do not fit.
fn mixed() -> Vec<Pod> {
    let asks = |cpus| Asked { cpus, memory: 64, ..Asked::default() };
    let pods = (0..60_u64).map(|at| {
        let name = format!("p{}", at % 50);
        match at % 5 {
            0 => fixture::pod(&name, &[asks(at % 3 + 1), asks(6)]),
            1 => pod(&name, 40),
            _ => pod(&name, at % 4 + 1),
        }
    });
    pods.collect()
}

/// What each pod comes to by itself.
fn alone(node: &Node, ledger: &Ledger, pod: &Pod) -> (String, Ledger) {
    let replies = Replies::new();
    let (attempt, trace) = node.admission(ledger, pod).with(&replies).trace(Detail::Merges);
    let verdict = attempt.verdict.clone();
    let after = ledger.commit(attempt).unwrap();
    let text = match verdict {
        Verdict::Admitted(placement) => format!("{placement:?} {trace:?}"),
        Verdict::Refused(refused) => {
            let explained =
                node.admission(ledger, pod).with(&replies).explain(&refused, &trace, Tries::default());
            format!("{refused:?} {explained:?} {trace:?}")
        }
        Verdict::NeedsPlugin(question) => format!("{question:?}"),
    };
    (text, after)
}

#[test]
fn a_series_decides_as_attempts_do() {
    let keeps = Compat { refused_pod: RefusedPod::KeepBooked, ..Compat::default() };
    for compat in [Compat::default(), keeps] {
        for (policy, scope) in
            [("single-numa-node", "container"), ("restricted", "pod"), ("best-effort", "pod")]
        {
            let node = node(policy, scope, compat);
            let mut series = Series::new(&node, node.empty_ledger(), Detail::Merges, Tries::default());
            let mut ledger = node.empty_ledger();
            for pod in &mixed() {
                let decided = series.decide(pod, &Replies::new());
                let trace = &decided.trace;
                let text = match &decided.outcome {
                    Outcome::Admitted(placement) => format!("{placement:?} {trace:?}"),
                    Outcome::Refused(refused, explained) => format!("{refused:?} {explained:?} {trace:?}"),
                    Outcome::NeedsPlugin(question) => format!("{question:?}"),
                };
                let expected;
                (expected, ledger) = alone(&node, &ledger, pod);
                assert_eq!(text, expected, "{policy} {scope} {}", pod.name);
                assert_eq!(format!("{:?}", series.ledger()), format!("{ledger:?}"), "{}", pod.name);
            }
        }
    }
}

#[test]
fn pods_of_one_template_are_explained_once() {
    const REFUSED: usize = 1000;
    let node = node("single-numa-node", "container", Compat::default());
    let mut series = Series::new(&node, node.empty_ledger(), Detail::Short, Tries::default());
    let mut refused = 0;
    let mut admitted = 0;
    for at in 0.. {
        // Two templates in turn.
        match series.decide(&pod(&format!("p{at}"), 4 + 2 * (at % 2)), &Replies::new()).outcome {
            Outcome::Refused(..) => refused += 1,
            _ => admitted += 1,
        }
        if refused == REFUSED {
            break;
        }
    }
    assert!(admitted > 0);
    let explained = series.attempts() - admitted - refused;
    assert!(explained < 2 * 500, "{explained} attempts for two explanations");
}

#[test]
fn amounts_that_are_written_otherwise_are_explained_as_they_are_written() {
    let node = node("single-numa-node", "container", Compat::default());
    let mut series = Series::new(&node, node.empty_ledger(), Detail::Short, Tries::default());
    let asking = |name: &str, cpus: &str| {
        let mut pod = pod(name, 40);
        for amounts in pod.containers.iter_mut().flat_map(|own| [&mut own.requests, &mut own.limits]) {
            amounts.insert("cpu".into(), cpus.parse().unwrap());
        }
        pod
    };
    let told = ["40", "40e0"].map(|cpus| {
        let pod = asking(&format!("p{}", cpus.len()), cpus);
        format!("{:?}", series.decide(&pod, &Replies::new()).outcome)
    });
    assert!(!told[0].contains("DecimalExponent"), "{}", told[0]);
    assert!(told[1].contains("DecimalExponent"), "{}", told[1]);
}
