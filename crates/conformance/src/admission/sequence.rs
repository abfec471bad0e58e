//! Series of admissions, ends, restarts and changes of devices on a whole node.

use std::collections::{BTreeMap, BTreeSet};

use device_manager::{Inventory, Moment, Replies};
use kubelet_checkpoint::store::StateFile;
use node_config::{KubeletConfiguration, allocatable};
use node_state::{StartError, StateFolder, files};
use pod_spec::{ContainerKey, Pod, PodUid, Role};
use serde_json::{Map, Value, json};
use topology_admission::{ContainerId, Identity, Ledger, Node, RunningPods, SourcesReady, Verdict};
use topology_manifest::{Source, read_pods_with};

use super::choice::with_any_choice;
use super::node::{Machine, configuration, is_among, root_file_system};
use super::plugins::{Plugin, answer};
use super::reserved::listed;
use super::show::{Known, allocatable_memory, container, metrics, state};
use crate::case::{Case, Expected, Outcome, text};
use crate::corpus::Corpus;
use kubelet_fates::{Fate, Fates, of_pod};

/// Plays the steps and compares what each answers and leaves behind.
pub(super) fn sequence(corpus: &Corpus, case: &Case) -> Outcome {
    with_any_choice(case, |case| played(corpus, case))
}

/// What the steps answer and leave behind, or what else came of the case.
fn played(corpus: &Corpus, case: &Case) -> Result<Value, Outcome> {
    let machine = Machine::new(corpus, case)?;
    let config = configuration(case).map_err(|error| case.compare(json!({ "unreadable": error })))?;
    let node = match machine.start(case, &config) {
        Ok(node) => node.with_identity(identity()),
        Err(errors) => {
            let Expected::Result(expected) = &case.expected else {
                return Ok(json!({ "start": { "error": errors } }));
            };
            let expected = &expected["start"]["error"];
            let error = if is_among(expected, &errors) { expected.clone() } else { json!(errors) };
            return Ok(json!({ "start": { "error": error } }));
        }
    };
    let expected = match &case.expected {
        Expected::Result(expected) => expected["steps"].as_array().cloned().unwrap_or_default(),
        Expected::Crash(_) | Expected::Hang => Vec::new(),
    };
    let mut kubelet = Kubelet::new(case, machine, config, node);
    let start = kubelet.start();
    let mut got = json!({ "start": start });
    let mut steps = Vec::new();
    for (at, step) in case.input["steps"].as_array().into_iter().flatten().enumerate() {
        if expected.get(at).is_some_and(|expected| !expected["panic"].is_null()) {
            // The kubelet is dead from here on; its further answers are unknown.
            steps.push(expected[at].clone());
            break;
        }
        match kubelet.step(step) {
            Ok(entry) => steps.push(entry),
            Err(what) => return Err(Outcome::Failed { got: json!({ "unreadable": what, "step": at }) }),
        }
        if steps.last().is_some_and(is_end) {
            break;
        }
    }
    if !steps.is_empty() {
        got["steps"] = json!(steps);
    }
    Ok(got)
}

/// Whether the kubelet does not start again, or crashes.
pub(crate) fn is_end(entry: &Value) -> bool {
    !entry["error"].is_null() || !entry["panic"].is_null()
}

/// The node of all cases.
pub(super) fn identity() -> Identity {
    let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let labels = [label("kubernetes.io/os", "linux"), label("kubernetes.io/hostname", "node-1")];
    Identity { name: "node-1".to_owned(), labels: labels.into(), taints: Vec::new() }
}

/// A kubelet with everything around it.
pub(crate) struct Kubelet<'a> {
    pub(super) case: &'a Case,
    pub(super) machine: Machine,
    pub(super) config: KubeletConfiguration,
    pub(super) node: Node,
    pub(super) ledger: Ledger,
    plugins: Vec<Plugin>,
    known: Vec<Known>,
    /// The last id of each container.
    ids: BTreeMap<ContainerKey, ContainerId>,
    created: u64,
    /// What becomes of the kubelet with each pod that it admits; `None`: it is not asked for.
    pub(super) fates: Option<Vec<Fates>>,
    /// All errors of a start that failed, of which the kubelet reports any.
    pub(super) errors: Vec<String>,
}

impl<'a> Kubelet<'a> {
    /// With all its plugins.
    pub(super) fn new(case: &'a Case, machine: Machine, config: KubeletConfiguration, node: Node) -> Self {
        let described = case.input["devices"].as_array().into_iter().flatten();
        let mut kubelet = Self {
            case,
            machine,
            config,
            ledger: node.empty_ledger(),
            node,
            plugins: described.map(Plugin::new).collect(),
            known: Vec::new(),
            ids: BTreeMap::new(),
            created: 0,
            fates: None,
            errors: Vec::new(),
        };
        kubelet.register_all();
        kubelet
    }

    fn register_all(&mut self) {
        let mut inventory = self.ledger.inventory().clone();
        for plugin in &self.plugins {
            plugin.register(&mut inventory);
        }
        self.ledger = self.ledger.with_inventory(inventory);
    }

    pub(super) fn start(&self) -> Value {
        let mut start = self.amounts();
        start["state"] = self.state();
        if let Some(cpus) =
            self.node.cpus().map(cpu_manager::Static::allocatable).filter(|cpus| !cpus.is_empty())
        {
            start["allocatableCPUs"] = json!(cpus.to_string());
        }
        if let Some(memory) = allocatable_memory(&self.node) {
            start["allocatableMemory"] = memory;
        }
        start
    }

    /// Capacity and allocatable of the node, devices included.
    fn amounts(&self) -> Value {
        let capacity = self.machine.capacity(&self.config, Some(root_file_system(self.case)));
        let reserved = self.machine.reservation(&self.config).map(|kept| kept.amounts(&capacity));
        let allocatable = allocatable(&capacity, &reserved.unwrap_or_default());
        let mut amounts = json!({ "capacity": listed(&capacity), "allocatable": listed(&allocatable) });
        let devices = self.ledger.inventory().clone().capacity(Moment::default());
        for (name, counts) in [("capacity", devices.capacity), ("allocatable", devices.allocatable)] {
            for (resource, count) in counts {
                amounts[name][resource.as_str()] = json!(count.to_string());
            }
        }
        amounts
    }

    fn state(&self) -> Value {
        state(&self.node, &self.machine.view, &self.ledger, &self.known)
    }

    pub(super) fn step(&mut self, step: &Value) -> Result<Value, String> {
        match text(&step["op"]) {
            "add" => self.add(&step["pod"]),
            "remove" => self.remove(step),
            "restartContainer" => self.restart_container(step),
            "devices" => {
                self.change_devices(|plugins, inventory| {
                    for plugin in
                        plugins.iter_mut().filter(|plugin| plugin.resource.as_str() == step["resource"])
                    {
                        plugin.report(&step["devices"], inventory);
                    }
                });
                Ok(self.amounts())
            }
            "unplug" => {
                let resource = text(&step["resource"]).into();
                self.ledger = self.ledger.disconnect(&resource, Moment::default());
                Ok(self.amounts())
            }
            "restart" => self.restart(step),
            other => Err(format!("step {other}")),
        }
    }

    fn change_devices(&mut self, change: impl FnOnce(&mut Vec<Plugin>, &mut Inventory)) {
        let mut inventory = self.ledger.inventory().clone();
        change(&mut self.plugins, &mut inventory);
        self.ledger = self.ledger.with_inventory(inventory);
    }

    fn add(&mut self, manifest: &Value) -> Result<Value, String> {
        let pod = self.read(manifest)?;
        self.known.push(Known { pod: pod.clone(), is_active: false });
        let mut entry = self.admit(&pod)?;
        if self.is_active(&pod.uid) {
            self.create_all(&pod);
        }
        entry["state"] = self.state();
        Ok(entry)
    }

    /// A pod as its API server hands it on. One without UID has its name as that.
    fn read(&self, manifest: &Value) -> Result<Pod, String> {
        let mut manifest = manifest.clone();
        if manifest["metadata"]["uid"].is_null() {
            manifest["metadata"]["uid"] = manifest["metadata"]["name"].clone();
        }
        let manifest = manifest.to_string();
        let source = Source { name: "pod", text: &manifest };
        let mut pods = read_pods_with(&source, self.node.pod_rules()).map_err(|error| error.to_string())?;
        pods.pop().ok_or_else(|| "no pod".to_owned())
    }

    fn admit(&mut self, pod: &Pod) -> Result<Value, String> {
        let mut replies = Replies::new();
        let attempt = loop {
            let attempt = self.node.admission(&self.ledger, pod).with(&replies).attempt();
            let Verdict::NeedsPlugin(question) = &attempt.verdict else { break attempt };
            let reply = answer(&self.plugins, question).ok_or_else(|| format!("asked {question:?}"))?;
            replies.insert(question.clone(), reply);
        };
        if self.fates.is_some() {
            let fates = of_pod(self.as_asked(), &self.ledger, pod, &replies);
            // What commands ask takes a short way where nothing can happen.
            let short = self.as_asked().fate(&self.ledger, pod, &replies);
            let is_missed = match &fates.fate {
                Some(fate) => short.as_ref() != Some(fate),
                None => fates.work.seconds() > 1.0 && !matches!(short, Some(Fate::AnswersLate(_))),
            };
            if is_missed {
                return Err(format!("{short:?} where {fates:?} is known of pod {}", pod.name));
            }
            self.fates.as_mut().into_iter().for_each(|all| all.push(fates.clone()));
        }
        let verdict = attempt.verdict.clone();
        let metrics = metrics(&attempt.counted, self.node.scope());
        self.ledger = self.ledger.commit(attempt).map_err(|stale| stale.to_string())?;
        let mut entry = Map::new();
        entry.insert("admitted".into(), json!(matches!(verdict, Verdict::Admitted(_))));
        if !metrics.is_empty() {
            entry.insert("metrics".into(), Value::Object(metrics));
        }
        match &verdict {
            Verdict::Refused(refused) => {
                entry.insert("reason".into(), json!(refused.reason.to_string()));
                entry.insert("message".into(), json!(refused.message));
            }
            Verdict::Admitted(placement) => {
                self.set_active(&pod.uid, true);
                let name = |uid: &PodUid| {
                    self.known.iter().find(|known| known.pod.uid == *uid).map(|known| &known.pod.name)
                };
                let preempted: Vec<_> = placement.preempted.iter().filter_map(name).collect();
                if !preempted.is_empty() {
                    entry.insert("preempted".into(), json!(preempted));
                }
                for uid in &placement.preempted {
                    self.set_active(uid, false);
                }
            }
            Verdict::NeedsPlugin(_) => {}
        }
        let containers = pod.containers.iter();
        let containers: Vec<Value> =
            containers.map(|own| container(&self.node, &self.ledger, &self.plugins, pod, own)).collect();
        entry.insert("containers".into(), json!(containers));
        Ok(Value::Object(entry))
    }

    fn create_all(&mut self, pod: &Pod) {
        for container in &pod.containers {
            self.create(&pod.key(container));
        }
    }

    /// A container starts, under a new id.
    fn create(&mut self, container: &ContainerKey) {
        let id = ContainerId::from(format!("id-{}", self.created).as_str());
        self.created += 1;
        self.ledger = self.ledger.create(container, id.clone());
        self.ids.insert(container.clone(), id);
    }

    fn is_active(&self, uid: &PodUid) -> bool {
        self.known.iter().any(|known| known.pod.uid == *uid && known.is_active)
    }

    fn set_active(&mut self, uid: &PodUid, is_active: bool) {
        for known in self.known.iter_mut().filter(|known| known.pod.uid == *uid) {
            known.is_active = is_active;
        }
    }

    /// The pod that came last with that name.
    fn find(&self, step: &Value) -> Option<&Known> {
        self.known.iter().rev().find(|known| known.pod.name == text(&step["name"]))
    }

    fn remove(&mut self, step: &Value) -> Result<Value, String> {
        let pod = self.find(step).ok_or("no such pod")?.pod.uid.clone();
        self.set_active(&pod, false);
        self.ledger = self.ledger.end(&pod);
        if step["lazy"].as_bool() != Some(true) {
            self.ledger = self.ledger.collect();
        }
        Ok(json!({ "state": self.state() }))
    }

    fn restart_container(&mut self, step: &Value) -> Result<Value, String> {
        let Some(known) = self.find(step).filter(|known| known.is_active) else {
            return Ok(json!({ "skipped": true }));
        };
        let pod = known.pod.clone();
        let own = pod.container(&text(&step["container"]).into()).ok_or("no such container")?;
        if let Some(id) = self.ids.get(&pod.key(own)) {
            self.ledger = self.ledger.exit(id);
        }
        let shown = container(&self.node, &self.ledger, &self.plugins, &pod, own);
        self.create(&pod.key(own));
        Ok(json!({ "container": shown, "state": self.state() }))
    }

    /// The ledger of a kubelet that starts with `node` on the files of this one.
    fn restarted(&self, node: &Node, pods: RunningPods) -> Result<Ledger, Box<StartError>> {
        let Self { ledger, .. } = self;
        let text = |file| files::text(file, &self.node, ledger).into_bytes();
        let found = StateFolder {
            cpu: Some(text(StateFile::Cpu)),
            memory: Some(text(StateFile::Memory)),
            // A kubelet does not write this file at every change.
            device: Some(files::device_text(ledger.device_file(), ledger.inventory()).into_bytes()),
            ..StateFolder::default()
        };
        let nothing = Inventory::new(node.nodes().clone());
        let start = found.strict(node)?;
        Ok(start.ledger_with(node, pods, nothing, Moment::default()).map_err(StartError::from)?)
    }

    /// Starts again on what was stored, maybe with another configuration.
    fn restart(&mut self, step: &Value) -> Result<Value, String> {
        if !step["config"].is_null() {
            let mut case = self.case.clone();
            case.input["config"] = step["config"].clone();
            // The gates of a recording process are set once.
            let feature_gates = self.config.feature_gates.clone();
            self.config = KubeletConfiguration { feature_gates, ..configuration(&case)? };
        }
        let is_running = step["running"].as_bool() == Some(true);
        let mut active: Vec<Pod> = Vec::new();
        let mut running: BTreeSet<ContainerKey> = BTreeSet::new();
        for known in self.known.iter_mut().filter(|known| known.is_active) {
            known.is_active = false;
            let staying = known.pod.containers.iter().filter(|container| container.role != Role::Init);
            if is_running {
                running.extend(staying.map(|container| known.pod.key(container)));
            }
            active.push(known.pod.clone());
        }
        let started = self.machine.start(self.case, &self.config);
        let node = match started {
            Ok(node) => node.with_identity(identity()),
            Err(errors) => {
                let first = json!({ "error": errors.first() });
                self.errors = errors;
                return Ok(first);
            }
        };
        let pods = RunningPods { admitted: Vec::new(), running, sources: SourcesReady::No };
        self.ledger = match self.restarted(&node, pods) {
            Ok(ledger) => ledger,
            Err(error) => {
                let end = if error.uneven_pages().is_some() { "panic" } else { "error" };
                return Ok(json!({ end: error.to_string() }));
            }
        };
        self.node = node;
        let plugins = text(&step["plugins"]);
        if plugins == "before" {
            self.register_all();
        }
        let mut entry = json!({ "afterStart": self.state() });
        let mut admitted = Vec::new();
        for pod in active {
            let mut again = self.admit(&pod)?;
            again["pod"] = json!(pod.name);
            if self.is_active(&pod.uid) && !is_running {
                self.create_all(&pod);
            }
            admitted.push(again);
        }
        if plugins.is_empty() || plugins == "after" {
            self.register_all();
        }
        self.ledger = self.ledger.with_sources(SourcesReady::Yes);
        // None is no list here.
        entry["readmit"] = if admitted.is_empty() { Value::Null } else { json!(admitted) };
        entry["state"] = self.state();
        Ok(entry)
    }
}
