//! The simulation on recorded sequences: pods that come and go as a trace, decided on as the kubelet did.

use core::num::NonZeroU32;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use device_manager::{Inventory, Question, Reply, RpcCode, RpcError};
use node_simulation::{
    Arrival, Decision, Fleet, Host, Lifetime, Observer, Plugins, Retry, Scheduler, Template, Weight, run,
};
use serde_json::{Value, json};
use topology_manifest::{Source, read_pods};

use super::node::{Machine, configuration};
use super::plugins::{Plugin, answer};
use super::sequence::identity;
use crate::case::{Case, Expected, text};
use crate::corpus::Corpus;

/// The plugins of a case.
struct Recorded(Vec<Plugin>);

impl Plugins for Recorded {
    fn answer(&self, question: &Question) -> Reply {
        let unknown = || Reply::Failed(RpcError { code: RpcCode(14), message: "no such plugin".to_owned() });
        answer(&self.0, question).unwrap_or_else(unknown)
    }
}

/// What was decided on each pod, in the words of the recorded answers.
#[derive(Default)]
struct Decided(BTreeMap<usize, Value>);

impl Observer for Decided {
    fn decided(&mut self, arrival: usize, decision: Decision<'_>) {
        let decision = match decision {
            Decision::Admitted(placement) => {
                let exclusive = placement.containers.iter().map(|placed| {
                    let cpus = placed.cpus.as_ref().and_then(|granted| granted.exclusive());
                    cpus.map(ToString::to_string)
                });
                json!({ "admitted": true, "exclusive": exclusive.collect::<Vec<_>>() })
            }
            Decision::Refused(refused) => {
                json!({ "admitted": false, "reason": refused.reason.to_string(), "message": refused.message })
            }
            Decision::Fated(fate) => json!(fate.to_string()),
            Decision::NotPrepared(error) => json!(error.to_string()),
            Decision::NoRoom | Decision::NoDevices => json!("sent nowhere"),
        };
        self.0.insert(arrival, decision);
    }
}

/// A step of the case a second: each pod is a separate kind, and stays until the step that removes it.
fn trace(steps: &[Value]) -> (Vec<Template>, Vec<Arrival>, Vec<usize>) {
    let moment = |step: usize| Duration::from_secs(step as u64);
    let (mut templates, mut arrivals, mut numbers) = (Vec::new(), Vec::<Arrival>::new(), Vec::new());
    let mut last = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        match text(&step["op"]) {
            "add" => {
                let manifest = step["pod"].to_string();
                let pod = read_pods(&Source { name: "pod", text: &manifest }).unwrap().remove(0);
                let weight = Weight(NonZeroU32::MIN);
                last.insert(pod.name.clone(), arrivals.len());
                arrivals.push(Arrival { at: moment(at), template: templates.len(), stays: None });
                templates.push(Template { name: pod.name.clone(), pod, weight, lifetime: Lifetime::Forever });
                numbers.push(at);
            }
            "remove" => {
                let arrival = &mut arrivals[last[text(&step["name"])]];
                arrival.stays = Some(moment(at).saturating_sub(arrival.at));
            }
            other => unreachable!("sequences of this file only add and remove pods, this one does {other}"),
        }
    }
    (templates, arrivals, numbers)
}

/// How many decisions of the case were compared.
fn check(corpus: &Corpus, case: &Case) -> usize {
    let Expected::Result(expected) = &case.expected else { return 0 };
    let machine = Machine::new(corpus, case).unwrap();
    let Ok(node) = machine.start(case, &configuration(case).unwrap()) else {
        assert!(!expected["start"]["error"].is_null(), "{}: no node", case.id);
        return 0;
    };
    let node = node.with_identity(identity());
    let plugins = Recorded(case.input["devices"].as_array().into_iter().flatten().map(Plugin::new).collect());
    let mut inventory = Inventory::new(node.nodes().clone());
    plugins.0.iter().for_each(|plugin| plugin.register(&mut inventory));
    let host = Host::new(&node, machine.view.cpus(), inventory, &plugins);
    let fleet =
        Fleet { hosts: vec![(host, 1)], scheduler: Scheduler::Blind, retry: Retry::Never, repack: None };
    let (templates, arrivals, numbers) = trace(case.input["steps"].as_array().unwrap());
    let mut decided = Decided::default();
    let outcome = run(&fleet, &templates, &arrivals, &mut decided);
    assert_eq!(outcome.arrived(), numbers.len() as u64, "{}", case.id);
    let mut compared = 0;
    for (arrival, step) in numbers.into_iter().enumerate() {
        let answered = &expected["steps"][step];
        if answered["admitted"].is_null() {
            // It changes from run to run what the kubelet says here.
            continue;
        }
        let exclusive = |container: &Value| container["exclusive"].clone();
        let kubelet = if answered["admitted"] == true {
            let containers = answered["containers"].as_array().into_iter().flatten();
            json!({ "admitted": true, "exclusive": containers.map(exclusive).collect::<Vec<_>>() })
        } else {
            json!({ "admitted": false, "reason": answered["reason"], "message": answered["message"] })
        };
        assert_eq!(decided.0[&arrival], kubelet, "{} step {step}", case.id);
        compared += 1;
    }
    compared
}

/// The committed sequences, and those of the folder `TOPOLET_RECORDED`, which has more decisions.
#[test]
fn a_simulation_decides_as_the_kubelet_on_fragmented_nodes() {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/kubelet");
    let recorded = std::env::var_os("TOPOLET_RECORDED").map(|folder| Path::new(&folder).join("oracle"));
    let file = recorded.as_ref().map_or("fragment.jsonl", |_| "fragment.jsonl.zst");
    let least = if recorded.is_some() { 2000 } else { 140 };
    let file = recorded.unwrap_or(committed).join("admission").join(file);
    let (corpus, files) = Corpus::open(&file).unwrap();
    let cases: Vec<Case> = files.iter().flat_map(|file| corpus.cases(file).unwrap()).collect();
    let compared: usize = cases.iter().map(|case| check(&corpus, case)).sum();
    println!("{} sequences, {compared} decisions equal", cases.len());
    assert!(compared > least, "only {compared} decisions were compared");
}
