//! Series of admissions, removals and restarts on one CPU manager.
//!
//! What the kubelet keeps around its policy is played here: which pods are active, and where the Topology Manager
//! wants each container.

use std::collections::BTreeMap;

use cpu_manager::{
    AllocateError, Collected, ContainerId, ContainerState, Containers, Holdings, Isolation, Status,
};
use cpuset::CpuSet;
use pod_spec::{ContainerKey, ContainerName, Pod, PodUid, Unit};
use serde_json::{Map, Value, json};
use topology_hint::{Affinity, Answers};
use topology_model::NodeId;

use super::metrics::Metrics;
use super::setup::{Fault, Made, Manager, Setup};
use super::{insert_error, listed, pods, state};
use crate::case::{Case, Expected, Outcome, numbers, text};
use crate::corpus::Corpus;

/// Plays the steps and compares what each answers and leaves behind.
pub(super) fn sequence(corpus: &Corpus, case: &Case) -> Outcome {
    if !is_played(&case.input) {
        return Outcome::Skipped;
    }
    let mut setup = Setup::new(&case.input);
    let made = match setup.make(corpus) {
        Ok(made) => made,
        Err(Fault::Unreadable(what)) => return Outcome::Failed { got: json!({ "unreadable": what }) },
        Err(Fault::Refused(errors)) => {
            return case.compare(json!({ "error": errors.first(), "stage": "construct" }));
        }
    };
    let mut kubelet = Kubelet::new(made);
    let mut steps = Vec::new();
    let mut is_down = false;
    for step in case.input["steps"].as_array().into_iter().flatten() {
        let mut entry = Map::new();
        if text(&step["op"]) == "restart" {
            setup.change(step);
            let started = match setup.make(corpus) {
                Ok(made) => kubelet.restart(made).map_err(|error| (error, "start")),
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
            let expected = match &case.expected {
                Expected::Result(result) => &result["steps"][steps.len()]["metrics"],
                Expected::Crash(_) | Expected::Hang => &Value::Null,
            };
            entry.insert("metrics".into(), kubelet.metrics.shown(expected));
        }
        steps.push(Value::Object(entry));
    }
    case.compare(json!({ "steps": steps }))
}

/// Whether everything that the case does has an answer here: a state file of another policy or version has not.
fn is_played(input: &Value) -> bool {
    let managed = |gates: &Value| gates["PodLevelResourceManagers"].as_bool() == Some(true);
    let mut pod_level = managed(&input["gates"]);
    let mut policy = input["policy"].as_str().unwrap_or("static");
    let mut steps = input["steps"].as_array().into_iter().flatten();
    steps.all(|step| {
        let (was_pod_level, was_policy) = (pod_level, policy);
        if !step["gates"].is_null() {
            pod_level = managed(&step["gates"]);
        }
        policy = step["policy"].as_str().unwrap_or(policy);
        (!was_pod_level || pod_level) && policy == was_policy
    })
}

/// One CPU manager and what the kubelet keeps around it.
struct Kubelet {
    made: Made,
    held: Holdings,
    metrics: Metrics,
    /// Every pod ever seen, by uid.
    known: BTreeMap<String, Pod>,
    /// The uids of those that are active, in order of admission.
    active: Vec<String>,
    containers: Containers,
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
    fn new(made: Made) -> Self {
        let held = match &made {
            Made::Nothing(_) => Holdings::default(),
            Made::Manager(manager) => manager.policy.initial(),
        };
        let mut kubelet = Self {
            made,
            held,
            metrics: Metrics::default(),
            known: BTreeMap::new(),
            active: Vec::new(),
            containers: Containers::default(),
            affinities: BTreeMap::new(),
            sources: Sources::Ready,
        };
        kubelet.start_metrics();
        kubelet
    }

    fn start_metrics(&mut self) {
        self.metrics = match &self.made {
            Made::Nothing(_) => Metrics::without_policy(),
            Made::Manager(manager) => Metrics::started(manager.policy.metrics_at_start(&self.held)),
        };
    }

    /// Starts again from what is stored. Everything that was in memory alone is gone.
    fn restart(&mut self, made: Made) -> Result<(), String> {
        if let Made::Manager(manager) = &made {
            let stored = self.held.iter().map(|(pod, name, cpus)| (pod.clone(), name.clone(), cpus.clone()));
            let whole = self.held.whole_pods().map(|(pod, cpus)| (pod.clone(), cpus.clone()));
            let stored = Holdings::new(self.held.shared().clone(), stored).with_whole_pods(whole);
            self.held = manager.policy.restore(stored).map_err(|error| error.to_string())?;
        }
        self.made = made;
        self.containers = Containers::default();
        self.affinities.clear();
        self.sources = Sources::Ready;
        self.start_metrics();
        Ok(())
    }

    fn manager(&self) -> Option<&Manager> {
        match &self.made {
            Made::Nothing(_) => None,
            Made::Manager(manager) => Some(manager),
        }
    }

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

    fn allocate(&mut self, pod: &Pod, container: &pod_spec::Container) -> Result<(), AllocateError> {
        let Made::Manager(manager) = &self.made else { return Ok(()) };
        let policy = &manager.policy;
        let affinity = self.affinity(manager, pod, container.name.as_str());
        let outcome = policy.allocate(&self.held, pod, container, affinity);
        self.metrics.apply(policy.metrics_of(&self.held, pod, container, outcome.as_ref()));
        self.held = outcome?.after;
        Ok(())
    }

    fn allocate_pod(&mut self, pod: &Pod) -> Result<(), AllocateError> {
        let Made::Manager(manager) = &self.made else { return Ok(()) };
        let policy = &manager.policy;
        let first = pod.containers.first().map_or("", |container| container.name.as_str());
        let outcome = policy.allocate_pod(&self.held, pod, self.affinity(manager, pod, first));
        self.metrics.apply(policy.metrics_of_pod(&self.held, outcome.as_ref()));
        match outcome {
            Ok(allocation) => {
                self.held = allocation.after;
                Ok(())
            }
            Err(failure) => {
                self.held = failure.after;
                Err(failure.error)
            }
        }
    }

    fn hints(&self, unit: Unit<'_>) -> Value {
        let Some(manager) = self.manager() else { return Value::Null };
        let mut answers = Answers::new();
        manager.policy.hints(&self.held, unit, &mut answers);
        answers.get(0).map_or(Value::Null, |(_, answer)| listed(&manager.nodes, answer))
    }

    fn affinity(&self, manager: &Manager, pod: &Pod, name: &str) -> Affinity {
        match self.affinities.get(&(pod.uid.to_string(), name.to_owned())) {
            None | Some(Value::Null) => Affinity::Any,
            Some(mask) => Affinity::Nodes(manager.nodes.mask_of(numbers(mask).into_iter().map(NodeId))),
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
        if self.sources == Sources::Ready {
            let collected = self.held.collect(|pod, container| self.is_active(pod, container));
            self.containers = self.containers.retain(|pod, container| self.is_active(pod, container));
            let other_orders = self.other_orders();
            self.keep(collected);
            for other in &other_orders {
                self.metrics.or(other);
            }
        }
    }

    /// The metrics if the dead were released in other orders; not for more than six.
    fn other_orders(&self) -> Vec<Metrics> {
        let dead = self.held.iter().filter(|(pod, name, _)| !self.is_active(pod, name));
        let dead: Vec<_> = dead.map(|(pod, name, _)| (pod.clone(), name.clone())).collect();
        let Made::Manager(manager) = &self.made else { return Vec::new() };
        if dead.len() > 6 {
            return Vec::new();
        }
        let metrics = |order: Vec<(PodUid, ContainerName)>| {
            let (mut held, mut metrics) = (self.held.clone(), self.metrics.clone());
            for (pod, name) in order {
                let collected = held.collect(|of, it| *of != pod || *it != name);
                metrics.apply(manager.policy.metrics_of_collection(&held, &collected));
                held = collected.after;
            }
            metrics
        };
        orders(&dead).into_iter().map(metrics).collect()
    }

    fn keep(&mut self, collected: Collected) {
        if let Made::Manager(manager) = &self.made {
            self.metrics.apply(manager.policy.metrics_of_collection(&self.held, &collected));
        }
        self.held = collected.after;
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
            let (Some(pod), Some(statuses)) = (self.known.get(uid), step["statuses"].get(uid)) else {
                continue;
            };
            for container in &pod.containers {
                let Some(status) = statuses.get(container.name.as_str()) else { continue };
                let (containers, update) =
                    self.containers.reconcile(&self.held, pod, &container.name, &read(status));
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
        let Some(pod) = self.known.get(uid) else {
            entry.insert("skipped".into(), json!(true));
            return;
        };
        let shared = self.held.shared();
        let each = pod.containers.iter().map(|container| {
            let own = self.held.assigned(&pod.uid, &container.name);
            let isolation = self
                .manager()
                .map_or(Isolation::Host, |manager| manager.policy.isolation(&self.held, pod, container));
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

/// All orders of some things.
fn orders<T: Clone>(things: &[T]) -> Vec<Vec<T>> {
    let Some((last, others)) = things.split_last() else { return vec![Vec::new()] };
    let insert = |order: Vec<T>| {
        (0..=order.len()).map(move |at| {
            let mut order = order.clone();
            order.insert(at, last.clone());
            order
        })
    };
    orders(others).into_iter().flat_map(insert).collect()
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
