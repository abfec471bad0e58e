//! Series of admissions, removals and restarts on one memory manager.
//!
//! What the kubelet keeps around its policy is played here: which pods are active, which container has which id, the
//! Topology Manager where the case names one, and what is stored between a stop and the next start.

mod admit;

use std::collections::BTreeMap;

use memory_manager::{Holdings, PodLevel, Static, Stored};
use node_config::{DistanceRows, FeatureGates, NodeCountCheck, Rules, TopologyConfig, TopologyFacts};
use pod_spec::{ContainerName, Pod, PodUid, Role};
use serde_json::{Map, Value, json};
use topology_model::Nodes;

use super::leeway::any_of;
use super::order::{Order, in_any_order};
use super::setup::{Fault, Made, Setup};
use super::{file, leeway, pods, state};
use crate::case::{Case, Outcome, text};
use crate::corpus::Corpus;

/// Plays the steps and compares what each answers and leaves behind.
pub(super) fn sequence(_: &Corpus, case: &Case) -> Outcome {
    in_any_order(|order| sequence_in(order, case))
}

fn sequence_in(order: Order, case: &Case) -> Outcome {
    let setup = Setup::new(case);
    let mut kubelet = Kubelet::new(case, setup, order);
    match kubelet.start(setup) {
        Ok(()) => {}
        Err(Fault::Refused(errors)) => {
            return leeway::compare(case, json!({ "error": any_of(&errors) }));
        }
        Err(Fault::Unreadable(what)) => return Outcome::unreadable(what),
    }
    let start = kubelet.state();
    let mut before = start.clone();
    let mut steps = Vec::new();
    for step in case.input["steps"].as_array().into_iter().flatten() {
        let mut entry = match kubelet.step(setup, step) {
            Ok(entry) => entry,
            Err(what) => return Outcome::unreadable(what),
        };
        entry.insert("metrics".into(), Value::Object(std::mem::take(&mut kubelet.metrics)));
        let after = kubelet.state();
        if after != before {
            entry.insert("state".into(), after.clone());
            before = after;
        }
        steps.push(Value::Object(entry));
    }
    leeway::compare(case, json!({ "start_state": start, "steps": steps }))
}

/// A container of a pod.
type Key = (PodUid, ContainerName);

/// One memory manager and what the kubelet keeps around it.
struct Kubelet<'a> {
    case: &'a Value,
    pod_level: PodLevel,
    /// `None` between a failed start and the next.
    running: Option<Running>,
    /// What the state file says.
    stored: Stored,
    /// The policy that wrote it; `None` before the first start.
    written_by: Option<String>,
    /// Every pod ever seen, by uid.
    known: BTreeMap<String, Pod>,
    /// The uids of those that are active.
    active: Vec<String>,
    /// By container id, as the manager knows them.
    containers: BTreeMap<String, Key>,
    /// The same as the runtime knows them.
    started: BTreeMap<String, Key>,
    sources: Sources,
    /// In which the next start books what is stored.
    order: Order,
    /// What the counters of the current step have gained.
    metrics: Map<String, Value>,
}

struct Running {
    nodes: Nodes,
    /// `None`: policy `None`.
    manager: Option<Manager>,
}

struct Manager {
    policy: Static,
    held: Holdings,
}

/// Whether it is known which pods there are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sources {
    Ready,
    NotReady,
}

impl<'a> Kubelet<'a> {
    fn new(case: &'a Case, setup: Setup<'_>, order: Order) -> Self {
        Self {
            case: &case.input,
            pod_level: setup.pod_level(),
            running: None,
            stored: Stored::default(),
            written_by: None,
            known: BTreeMap::new(),
            active: Vec::new(),
            containers: BTreeMap::new(),
            started: BTreeMap::new(),
            sources: Sources::Ready,
            order,
            metrics: Map::new(),
        }
    }

    /// Starts from what is stored. Everything that was in memory alone is gone.
    fn start(&mut self, setup: Setup<'_>) -> Result<(), Fault> {
        self.running = None;
        self.check_topology(&setup.nodes()?)?;
        let Made { policy, nodes } = setup.make()?;
        let written_by = self.written_by.get_or_insert_with(|| setup.policy.to_owned());
        file::check_policy(setup.policy, written_by).map_err(Fault::refused)?;
        let manager = match policy {
            None => None,
            Some(policy) => {
                let held = self.order.restore(&policy, &self.stored);
                self.order = self.order.next();
                let held = held.map_err(Fault::refused)?;
                Some(Manager { policy, held })
            }
        };
        self.running = Some(Running { nodes, manager });
        Ok(())
    }

    /// The Topology Manager is made before the others.
    fn check_topology(&self, nodes: &Nodes) -> Result<(), Fault> {
        let Some(topology) = self.case.get("topology") else { return Ok(()) };
        let facts = TopologyFacts { nodes: nodes.len(), distances: DistanceRows::Missing };
        let (policy, scope) = (text(&topology["policy"]), text(&topology["scope"]));
        // Without options neither gates nor rules are asked.
        let (rules, options) = (Rules::default(), BTreeMap::new());
        let gates = FeatureGates::new(rules.gates);
        let checked =
            TopologyConfig::check(policy, scope, &options, &gates, &rules, facts, NodeCountCheck::Kubelet);
        let first = |faults: Vec<_>| faults.first().map(ToString::to_string).unwrap_or_default();
        checked.map(|_| ()).map_err(|faults| Fault::refused(first(faults)))
    }

    /// What the running manager stores; `null` if none runs.
    fn state(&mut self) -> Value {
        if let Some(Manager { policy, held }) = self.manager() {
            self.stored = policy.stored(held);
        }
        if self.running.is_none() { Value::Null } else { Value::Object(state::shown(&self.stored)) }
    }

    fn manager(&self) -> Option<&Manager> {
        self.running.as_ref()?.manager.as_ref()
    }

    fn held(&mut self) -> Option<&mut Holdings> {
        Some(&mut self.running.as_mut()?.manager.as_mut()?.held)
    }

    /// The machine's nodes; none while nothing runs.
    fn nodes(&self) -> Nodes {
        self.running.as_ref().map(|running| running.nodes.clone()).unwrap_or_default()
    }

    fn step(&mut self, setup: Setup<'_>, step: &Value) -> Result<Map<String, Value>, String> {
        let mut entry = Map::new();
        let op = text(&step["op"]);
        if op == "restart" {
            self.restart(setup, step, &mut entry)?;
            return Ok(entry);
        }
        let uid = match step.get("pod") {
            None => text(&step["uid"]).to_owned(),
            Some(described) => {
                let pod = pods::pod(described).map_err(|error| error.to_string())?;
                let uid = pod.uid.to_string();
                self.known.insert(uid.clone(), pod);
                uid
            }
        };
        if self.running.is_none() {
            entry.insert("skipped".into(), json!("the manager is not running"));
            return Ok(entry);
        }
        match op {
            "admit" | "readmit" => {
                let pod = self.known.get(&uid).cloned().ok_or("a pod that nobody has seen")?;
                self.admit(step, &pod, &mut entry);
            }
            "add_container" => {
                let pod = self.known.get(&uid).cloned().ok_or("a pod that nobody has seen")?;
                self.add_container(text(&step["cid"]), &pod, ContainerName::new(text(&step["container"])));
            }
            "remove_container" => {
                let id = text(&step["cid"]);
                self.started.remove(id);
                if let (Some((pod, name)), Some(held)) = (self.containers.remove(id), self.held()) {
                    *held = held.release(&pod, &name);
                }
            }
            "pod_gone" => self.deactivate(&uid),
            "sources" => {
                let is_ready = step["ready"].as_bool() == Some(true);
                self.sources = if is_ready { Sources::Ready } else { Sources::NotReady };
            }
            "numa_nodes" => {
                let key = (PodUid::new(&uid), ContainerName::new(text(&step["container"])));
                self.numa_nodes(&key, &mut entry);
            }
            op => return Err(format!("no step {op:?}")),
        }
        Ok(entry)
    }

    fn restart(
        &mut self,
        setup: Setup<'_>,
        step: &Value,
        entry: &mut Map<String, Value>,
    ) -> Result<(), String> {
        self.containers.clear();
        if step["map"].as_bool() == Some(true) {
            self.containers.clone_from(&self.started);
        }
        match self.start(setup.changed(step)) {
            Ok(()) => entry.insert("ok".into(), json!(true)),
            Err(Fault::Refused(errors)) => entry.insert("error".into(), any_of(&errors)),
            Err(Fault::Unreadable(what)) => return Err(what),
        };
        Ok(())
    }

    fn add_container(&mut self, id: &str, pod: &Pod, name: ContainerName) {
        if let Some(held) = self.held() {
            *held = held.start(pod, &name);
        }
        // Earlier init containers are released, and forgotten with that.
        let earlier = pod.containers.iter().take_while(|earlier| earlier.name != name);
        for done in earlier.filter(|earlier| earlier.role == Role::Init) {
            self.containers.retain(|_, (of, name)| *of != pod.uid || *name != done.name);
        }
        let key = (pod.uid.clone(), name);
        self.started.insert(id.to_owned(), key.clone());
        self.containers.insert(id.to_owned(), key);
    }

    fn numa_nodes(&self, (pod, name): &Key, entry: &mut Map<String, Value>) {
        let mask = self.manager().and_then(|manager| manager.held.nodes_of(pod, name));
        let nodes = mask.map(|mask| self.nodes().ids_of(mask).map(|id| id.0).collect::<Vec<_>>());
        let memory = self.stored.entries.get(pod).and_then(|containers| containers.get(name));
        entry.insert("nodes".into(), json!(nodes));
        entry.insert("memory".into(), memory.map_or(Value::Null, |blocks| state::shown_blocks(blocks)));
    }

    fn deactivate(&mut self, uid: &str) {
        self.active.retain(|active| active != uid);
    }

    /// Frees what containers hold that no active pod lists, if it is known which pods there are.
    fn collect(&mut self) {
        if self.sources == Sources::NotReady {
            return;
        }
        let (active, known) = (&self.active, &self.known);
        let is_active = |pod: &PodUid, container: &ContainerName| {
            active.iter().any(|active| active == pod.as_str())
                && known.get(pod.as_str()).is_some_and(|pod| pod.container(container).is_some())
        };
        self.containers.retain(|_, (pod, container)| is_active(pod, container));
        if let Some(manager) = self.running.as_mut().and_then(|running| running.manager.as_mut()) {
            manager.held = manager.held.retain(is_active);
        }
    }
}
