//! Series of admissions, removals and restarts on one CPU manager.
//!
//! What each step does, and what is shown of it; the node itself is [`Kubelet`].

use cpu_manager::{ContainerId, ContainerState, Isolation, Status};
use cpuset::CpuSet;
use pod_spec::{ContainerKey, ContainerName, PodUid, Unit};
use serde_json::{Map, Value, json};
use topology_hint::Answers;

use super::kubelet::{Kubelet, Sources};
use super::pods;
use super::setup::{Fault, Made, Setup};
use super::shown::{insert_error, listed, state};
use crate::case::{Case, Outcome, reported, text};
use crate::corpus::Corpus;

/// Plays the steps and compares what each answers and leaves behind.
pub(super) fn sequence(corpus: &Corpus, case: &Case) -> Outcome {
    let mut setup = Setup::new(case);
    let made = match setup.make(corpus) {
        Ok(made) => made,
        Err(Fault::Unreadable(what)) => return Outcome::unreadable(what),
        Err(Fault::Refused(errors)) => {
            let error = reported(&errors, case.recorded("/error"));
            return case.compare(json!({ "error": error, "stage": "construct" }));
        }
    };
    let Ok(mut kubelet) =
        setup.forms().map(|forms| Kubelet::new(made, forms, setup.rules.metric_prefix, setup.pod_rules()))
    else {
        return Outcome::unreadable("gates");
    };
    let mut steps = Vec::new();
    let mut is_down = false;
    for step in case.input["steps"].as_array().into_iter().flatten() {
        let mut entry = Map::new();
        if text(&step["op"]) == "restart" {
            setup.change(step);
            let started = match setup.make(corpus).and_then(|made| Ok((made, setup.forms()?))) {
                Ok((made, forms)) => {
                    kubelet.restart(made, forms, setup.pod_rules()).map_err(|error| (error, "start"))
                }
                Err(Fault::Refused(errors)) => {
                    let error = reported(&errors, case.recorded(&format!("/steps/{}/error", steps.len())));
                    Err((error.cloned().unwrap_or_default(), "construct"))
                }
                Err(Fault::Unreadable(what)) => {
                    return Outcome::unreadable(what);
                }
            };
            is_down = started.is_err();
            if let Err((error, stage)) = started {
                entry.insert("error".into(), json!(error));
                entry.insert("stage".into(), json!(stage));
            }
        } else if is_down {
            entry.insert("skipped".into(), json!(true));
        } else if let Err(what) = kubelet.step(step, &mut entry) {
            return Outcome::unreadable(what);
        }
        if !is_down {
            entry.insert("state".into(), state(&kubelet.held));
            let expected = case.recorded(&format!("/steps/{}/metrics", steps.len()));
            entry.insert("metrics".into(), kubelet.metrics.shown(expected));
        }
        steps.push(Value::Object(entry));
    }
    case.compare(json!({ "steps": steps, "file": kubelet.file.text }))
}

impl Kubelet {
    fn step(&mut self, step: &Value, entry: &mut Map<String, Value>) -> Result<(), String> {
        match text(&step["op"]) {
            op @ ("admit" | "allocatePod" | "hints" | "podHints") => return self.on_pod(op, step, entry),
            "addContainer" => {
                let (uid, name) = (text(&step["uid"]), text(&step["container"]));
                if !self.known.contains_key(uid) {
                    entry.insert("skipped".into(), json!(true));
                    return Ok(());
                }
                let id = ContainerId::from(text(&step["containerID"]));
                self.containers = self.containers.start(id, key(uid, name), &self.held);
            }
            "removeContainer" => {
                let id = ContainerId::from(text(&step["containerID"]));
                let (containers, collected) = self.containers.remove(&id, &self.held);
                self.containers = containers;
                self.keep(collected);
            }
            "deletePod" => self.deactivate(text(&step["uid"])),
            "ready" => {
                let is_ready = step["ready"].as_bool() == Some(true);
                self.sources = if is_ready { Sources::Ready } else { Sources::NotReady };
            }
            "reconcile" => self.reconcile(step, entry),
            "info" => self.info(text(&step["uid"]), entry),
            op => return Err(format!("no step {op:?}")),
        }
        Ok(())
    }

    /// What is done with a pod: it counts as active from the moment that it is asked for.
    fn on_pod(&mut self, op: &str, step: &Value, entry: &mut Map<String, Value>) -> Result<(), String> {
        let uid = match &step["pod"] {
            Value::Null => text(&step["uid"]).to_owned(),
            described => {
                let pod = pods::pod(described).map_err(|error| error.to_string())?;
                let uid = pod.uid.as_str().to_owned();
                self.known.insert(uid.clone(), pod);
                uid
            }
        };
        let Some(pod) = self.pod(&uid) else {
            entry.insert("skipped".into(), json!(true));
            return Ok(());
        };
        for (name, mask) in step["affinity"].as_object().into_iter().flatten() {
            self.affinities.insert((uid.clone(), name.clone()), mask.clone());
        }
        self.deactivate(&uid);
        self.active.push(uid.clone());
        let only = step["container"].as_str();
        let wanted =
            pod.containers.iter().filter(|container| only.is_none_or(|name| name == container.name.as_str()));
        match op {
            "podHints" => {
                self.collect();
                entry.insert("hints".into(), self.hints(Unit::Pod(&pod)));
            }
            "hints" => {
                self.collect();
                let each = wanted.map(|container| {
                    (container.name.to_string(), self.hints(Unit::Container(&pod, container)))
                });
                entry.insert("hints".into(), Value::Object(each.collect()));
            }
            "allocatePod" => {
                self.collect();
                if let Err(error) = self.allocate_pod(&pod) {
                    insert_error(entry, error);
                    self.after_error(step, &uid);
                }
            }
            _ => {
                for container in wanted {
                    self.collect();
                    if let Err(error) = self.allocate(&pod, container) {
                        insert_error(entry, error);
                        entry.insert("failedContainer".into(), json!(container.name.as_str()));
                        self.after_error(step, &uid);
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    fn after_error(&mut self, step: &Value, uid: &str) {
        if step["keepOnError"].as_bool() != Some(true) {
            self.deactivate(uid);
        }
    }

    fn hints(&self, unit: Unit<'_>) -> Value {
        let Some(manager) = self.manager() else { return Value::Null };
        let mut answers = Answers::new();
        manager.policy.hints(&self.held, unit, &mut answers);
        answers.get(0).map_or(Value::Null, |(_, answer)| listed(&manager.nodes, answer))
    }

    /// One round. Policy `none` has none.
    fn reconcile(&mut self, step: &Value, entry: &mut Map<String, Value>) {
        if self.manager().is_none() {
            entry.insert("updates".into(), json!([]));
            return;
        }
        self.collect();
        let refused: Vec<&str> =
            step["failUpdates"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut updates = Vec::new();
        for uid in &self.active {
            let (Some(pod), Some(statuses)) = (self.pod(uid), step["statuses"].get(uid)) else {
                continue;
            };
            for container in &pod.containers {
                let Some(status) = statuses.get(container.name.as_str()) else { continue };
                let (containers, update) =
                    self.containers.reconcile(&self.held, &pod, &container.name, &read(status));
                self.containers = containers;
                let Some(update) = update else { continue };
                updates.push(json!({ "id": update.id.as_str(), "cpus": update.cpus.to_string() }));
                if !refused.contains(&update.id.as_str()) {
                    self.containers = self.containers.wrote(&update);
                }
            }
        }
        entry.insert("updates".into(), json!(updates));
    }

    fn info(&self, uid: &str, entry: &mut Map<String, Value>) {
        let Some(pod) = self.pod(uid) else {
            entry.insert("skipped".into(), json!(true));
            return;
        };
        let shared = self.held.shared();
        let each = pod.containers.iter().map(|container| {
            let own = self.held.assigned(&pod.uid, &container.name);
            let isolation = self
                .manager()
                .map_or(Isolation::Host, |manager| manager.policy.isolation(&self.held, &pod, container));
            let exclusive = own.map_or_else(String::new, CpuSet::to_string);
            let shown = json!({
                "exclusive": exclusive,
                "affinity": own.unwrap_or(shared).to_string(),
                "isolation": isolation.name(),
            });
            (container.name.to_string(), shown)
        });
        entry.insert("containers".into(), Value::Object(each.collect()));
        let (allocatable, all) = match &self.made {
            Made::Nothing(all) => (String::new(), all.to_string()),
            Made::Manager(manager) => {
                (manager.policy.allocatable().to_string(), manager.policy.all().to_string())
            }
        };
        entry.insert("allocatable".into(), json!(allocatable));
        entry.insert("all".into(), json!(all));
    }
}

fn key(uid: &str, name: &str) -> ContainerKey {
    ContainerKey { pod: PodUid::new(uid), container: ContainerName::new(name) }
}

fn read(status: &Value) -> Status {
    Status {
        id: text(&status["id"]).to_owned(),
        state: match text(&status["state"]) {
            "running" => ContainerState::Running,
            "terminated" => ContainerState::Terminated,
            _ => ContainerState::Waiting,
        },
    }
}
