//! The state file of a CPU manager, and what a manager makes of it when it starts.

use std::collections::BTreeMap;

use cpu_manager::Holdings;
use cpuset::CpuSet;
use kubelet_checkpoint::cpu::{ContainerIds, CpuFile, CpuState};
use kubelet_checkpoint::{Forms, PodLevel};
use pod_spec::{ContainerKey, ContainerName, PodUid};
use serde_json::{Map, Value, json};

use super::metrics::Metrics;
use super::setup::{Fault, Made, Setup};
use super::shown::state;
use crate::case::{Case, Outcome, reported, text};
use crate::corpus::Corpus;

/// The file in the kubelet's root directory, as the cases write that.
const PATH: &str = "{dir}/cpu_manager_state";

/// What is on disk.
#[derive(Clone)]
pub(super) struct File {
    pub(super) text: Option<String>,
    forms: Forms,
}

impl File {
    pub(super) const fn none(forms: Forms) -> Self {
        Self { text: None, forms }
    }

    /// A kubelet with these forms starts from now on.
    pub(super) fn reopen(&self, forms: Forms) -> Self {
        Self { text: self.text.clone(), forms }
    }

    pub(super) fn write(&mut self, made: &Made, held: &Holdings) {
        let (containers, baselines) = (by_pod(held.iter()), by_pod(held.baselines()));
        // With the gate off a kubelet keeps what pods hold as a whole in memory only.
        let pods = held.whole_pods().filter(|_| self.forms.pod_level == PodLevel::On);
        let state = CpuState {
            policy: made.policy_name().to_owned(),
            shared: held.shared().clone(),
            containers,
            pods: pods.map(|(pod, cpus)| (pod.clone(), cpus.clone())).collect(),
            baselines,
        };
        self.text = Some(state.encode(self.forms.cpu()));
    }

    /// What a manager starts with; a new node writes its file.
    pub(super) fn start(&mut self, made: &Made, running: &ContainerIds) -> Result<Holdings, String> {
        let stored = match &self.text {
            None => {
                self.write(made, &Holdings::default());
                Holdings::default()
            }
            Some(file) => {
                let read = CpuFile::read(file.as_bytes(), self.forms, running);
                let state = read.and_then(|read| read.restore(made.policy_name()));
                held(state.map_err(|error| error.refused(PATH).to_string())?)
            }
        };
        let Made::Manager(manager) = made else { return Ok(stored) };
        let restored = manager.policy.restore(stored.clone()).map_err(|error| error.to_string())?;
        if restored != stored {
            self.write(made, &restored);
        }
        Ok(restored)
    }
}

/// CPUs by pod and container.
fn by_pod<'a>(
    each: impl Iterator<Item = (&'a PodUid, &'a ContainerName, &'a CpuSet)>,
) -> BTreeMap<PodUid, BTreeMap<ContainerName, CpuSet>> {
    let mut pods: BTreeMap<PodUid, BTreeMap<ContainerName, CpuSet>> = BTreeMap::new();
    for (pod, container, cpus) in each {
        pods.entry(pod.clone()).or_default().insert(container.clone(), cpus.clone());
    }
    pods
}

fn held(state: CpuState) -> Holdings {
    let pods: Vec<_> = state.containers.keys().cloned().collect();
    let assigned = state.containers.into_iter().flat_map(|(pod, containers)| {
        containers.into_iter().map(move |(name, cpus)| (pod.clone(), name, cpus))
    });
    let baselines = state.baselines.into_iter().flat_map(|(pod, containers)| {
        containers.into_iter().map(move |(name, cpus)| (pod.clone(), name, cpus))
    });
    let held = Holdings::new(state.shared, assigned).with_pods(pods).with_whole_pods(state.pods);
    held.with_baselines(baselines)
}

/// The state after a start from a file, or why there is none.
pub(super) fn start(corpus: &Corpus, case: &Case) -> Outcome {
    let setup = Setup::new(case);
    let (made, forms) = match setup.make(corpus).and_then(|made| Ok((made, setup.forms()?))) {
        Ok(made) => made,
        Err(Fault::Unreadable(what)) => return Outcome::unreadable(what),
        Err(Fault::Refused(errors)) => {
            let error = reported(&errors, case.recorded("/error"));
            return case.compare(json!({ "error": error, "stage": "construct" }));
        }
    };
    let mut file = File { text: case.input["file"].as_str().map(str::to_owned), forms };
    let running = case.input["containerMap"].as_array().into_iter().flatten().map(|known| {
        let (pod, container) = (text(&known["pod"]), text(&known["container"]));
        let key = ContainerKey { pod: PodUid::new(pod), container: ContainerName::new(container) };
        (text(&known["id"]).to_owned(), key)
    });
    let mut got = Map::new();
    match file.start(&made, &running.collect()) {
        Err(error) => {
            got.insert("error".into(), json!(error));
        }
        Ok(held) => {
            got.insert("state".into(), state(&held));
            got.insert(
                "metrics".into(),
                Metrics::of(&made, &held, setup.rules.metric_prefix).shown(&Value::Null),
            );
        }
    }
    got.insert("file".into(), json!(file.text));
    case.compare(Value::Object(got))
}
