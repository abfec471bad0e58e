//! Series of admissions, removals and restarts on one CPU manager.
//!
//! What the kubelet keeps around its policy is played here: which pods are active, which container has which id, and
//! where the Topology Manager wants each. Cases with policy `none`, with allocations for whole pods, or with a state
//! file of another policy or version are not played: nothing here answers them.

use std::collections::BTreeMap;

use cpu_manager::Holdings;
use cpuset::CpuSet;
use pod_spec::{ContainerName, Pod, PodUid, Unit};
use serde_json::{Map, Value, json};
use topology_hint::{Affinity, Answers};
use topology_model::NodeId;

use super::setup::{Fault, Made, Manager, Setup};
use super::{insert_error, listed, pods, state};
use crate::case::{Case, Outcome, numbers, text};
use crate::corpus::Corpus;

/// Plays the steps and compares what each answers and leaves behind.
pub(super) fn sequence(corpus: &Corpus, case: &Case) -> Outcome {
    if !is_played(&case.input) {
        return Outcome::Skipped;
    }
    let mut setup = Setup::new(&case.input);
    let manager = match setup.make(corpus) {
        Ok(Made::Manager(manager)) => manager,
        Ok(Made::Nothing) => return Outcome::Skipped,
        Err(Fault::Unreadable(what)) => return Outcome::Failed { got: json!({ "unreadable": what }) },
        Err(Fault::Refused(errors)) => {
            return case.compare(json!({ "error": errors.first(), "stage": "construct" }));
        }
    };
    let mut kubelet = Kubelet::new(manager);
    let mut steps = Vec::new();
    let mut is_down = false;
    for step in case.input["steps"].as_array().into_iter().flatten() {
        let mut entry = Map::new();
        if text(&step["op"]) == "restart" {
            setup.change(step);
            let started = match setup.make(corpus) {
                Ok(Made::Manager(manager)) => kubelet.restart(manager).map_err(|error| (error, "start")),
                Ok(Made::Nothing) => return Outcome::Skipped,
                Err(Fault::Refused(errors)) => Err((errors.concat(), "construct")),
                Err(Fault::Unreadable(what)) => {
                    return Outcome::Failed { got: json!({ "unreadable": what }) };
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
            return Outcome::Failed { got: json!({ "unreadable": what }) };
        }
        if !is_down {
            entry.insert("state".into(), state(&kubelet.held));
        }
        steps.push(Value::Object(entry));
    }
    case.compare(json!({ "steps": steps }))
}

/// Whether everything that the case does has an answer here.
fn is_played(input: &Value) -> bool {
    let managed = |gates: &Value| gates["PodLevelResourceManagers"].as_bool() == Some(true);
    let mut pod_level = managed(&input["gates"]);
    let mut steps = input["steps"].as_array().into_iter().flatten();
    steps.all(|step| {
        let was_pod_level = pod_level;
        if !step["gates"].is_null() {
            pod_level = managed(&step["gates"]);
        }
        text(&step["op"]) != "allocatePod" && (!was_pod_level || pod_level)
    })
}

/// One CPU manager and what the kubelet keeps around it.
struct Kubelet {
    manager: Box<Manager>,
    held: Holdings,
    /// Every pod ever seen, by uid.
    known: BTreeMap<String, Pod>,
    /// The uids of those that are active, in order of admission.
    active: Vec<String>,
    /// By container id.
    containers: BTreeMap<String, (PodUid, ContainerName)>,
    /// Where containers are wanted, by uid and name.
    affinities: BTreeMap<(String, String), Value>,
    sources: Sources,
}

/// Whether it is known which pods there are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sources {
    Ready,
    NotReady,
}

impl Kubelet {
    fn new(manager: Box<Manager>) -> Self {
        Self {
            held: manager.policy.initial(),
            manager,
            known: BTreeMap::new(),
            active: Vec::new(),
            containers: BTreeMap::new(),
            affinities: BTreeMap::new(),
            sources: Sources::Ready,
        }
    }

    /// Starts again from what is stored. Everything that was in memory alone is gone.
    fn restart(&mut self, manager: Box<Manager>) -> Result<(), String> {
        let stored = self.held.iter().map(|(pod, name, cpus)| (pod.clone(), name.clone(), cpus.clone()));
        let stored = Holdings::new(self.held.shared().clone(), stored);
        self.held = manager.policy.restore(stored).map_err(|error| error.to_string())?;
        self.manager = manager;
        self.containers.clear();
        self.affinities.clear();
        self.sources = Sources::Ready;
        Ok(())
    }

    fn step(&mut self, step: &Value, entry: &mut Map<String, Value>) -> Result<(), String> {
        match text(&step["op"]) {
            op @ ("admit" | "hints" | "podHints") => return self.on_pod(op, step, entry),
            "addContainer" => {
                let (uid, name) = (text(&step["uid"]), text(&step["container"]));
                if !self.known.contains_key(uid) {
                    entry.insert("skipped".into(), json!(true));
                    return Ok(());
                }
                self.add_container(text(&step["containerID"]), uid, name);
            }
            "removeContainer" => {
                if let Some((pod, name)) = self.containers.remove(text(&step["containerID"])) {
                    self.held = self.held.release(&pod, &name);
                }
            }
            "deletePod" => self.deactivate(text(&step["uid"])),
            "ready" => {
                let is_ready = step["ready"].as_bool() == Some(true);
                self.sources = if is_ready { Sources::Ready } else { Sources::NotReady };
            }
            "reconcile" => self.reconcile(&step["statuses"]),
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
        let Some(pod) = self.known.get(&uid).cloned() else {
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
            _ => {
                for container in wanted {
                    self.collect();
                    let affinity = self.affinity(&uid, container.name.as_str());
                    match self.manager.policy.allocate(&self.held, &pod, container, affinity) {
                        Ok(allocation) => self.held = allocation.after,
                        Err(error) => {
                            insert_error(entry, error);
                            entry.insert("failedContainer".into(), json!(container.name.as_str()));
                            if step["keepOnError"].as_bool() != Some(true) {
                                self.deactivate(&uid);
                            }
                            break;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn hints(&self, unit: Unit<'_>) -> Value {
        let mut answers = Answers::new();
        self.manager.policy.hints(&self.held, unit, &mut answers);
        answers.get(0).map_or(Value::Null, |(_, answer)| listed(&self.manager.nodes, answer))
    }

    fn affinity(&self, uid: &str, name: &str) -> Affinity {
        match self.affinities.get(&(uid.to_owned(), name.to_owned())) {
            None | Some(Value::Null) => Affinity::Any,
            Some(mask) => Affinity::Nodes(self.manager.nodes.mask_of(numbers(mask).into_iter().map(NodeId))),
        }
    }

    fn deactivate(&mut self, uid: &str) {
        self.active.retain(|active| active != uid);
    }

    fn is_active(&self, pod: &PodUid, container: &ContainerName) -> bool {
        let is_listed = self.active.iter().any(|active| active == pod.as_str());
        is_listed && self.known.get(pod.as_str()).is_some_and(|pod| pod.container(container).is_some())
    }

    /// Frees what containers hold that no active pod lists, if it is known which pods there are.
    fn collect(&mut self) {
        if self.sources == Sources::NotReady {
            return;
        }
        self.held = self.held.retain(|pod, container| self.is_active(pod, container));
        let mut containers = std::mem::take(&mut self.containers);
        containers.retain(|_, (pod, container)| self.is_active(pod, container));
        self.containers = containers;
    }

    fn add_container(&mut self, id: &str, uid: &str, name: &str) {
        self.containers.insert(id.to_owned(), (PodUid::new(uid), ContainerName::new(name)));
    }

    /// One round: containers that run are known by their ids from then on. What is sent to them is not played.
    fn reconcile(&mut self, statuses: &Value) {
        self.collect();
        for uid in self.active.clone() {
            let Some(pod) = self.known.get(&uid).cloned() else { continue };
            for container in &pod.containers {
                let status = &statuses[&uid][container.name.as_str()];
                let id: Vec<&str> = text(&status["id"]).split("://").collect();
                if let ([_, id], "running") = (id.as_slice(), text(&status["state"])) {
                    self.add_container(id, &uid, container.name.as_str());
                }
            }
        }
    }

    fn info(&self, uid: &str, entry: &mut Map<String, Value>) {
        let Some(pod) = self.known.get(uid) else {
            entry.insert("skipped".into(), json!(true));
            return;
        };
        let policy = &self.manager.policy;
        let shared = self.held.shared();
        let each = pod.containers.iter().map(|container| {
            let own = self.held.assigned(&pod.uid, &container.name);
            let exclusive = own.map_or_else(String::new, CpuSet::to_string);
            let shown = json!({ "exclusive": exclusive, "affinity": own.unwrap_or(shared).to_string() });
            (container.name.to_string(), shown)
        });
        entry.insert("containers".into(), Value::Object(each.collect()));
        entry.insert("allocatable".into(), json!(policy.allocatable().to_string()));
        entry.insert("all".into(), json!(policy.all().to_string()));
    }
}
