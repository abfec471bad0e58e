//! A whole Topology Manager with scripted providers: what they are asked, what is stored and what is counted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use k8s_quantity::{Format, Quantity};
use node_config::{Amounts, FeatureGates, Gate, OwnOptions, Rules};
use pod_spec::{
    Container, ContainerKey, ContainerName, Pod, PodResources, PodRules, PodUid, ResourceList, Role, Unit,
};
use serde_json::{Map, Value, json};
use topology_admission::{Compat, ContainerId, Ledger, Node, NodeSetup, PodLevel, Verdict};
use topology_hint::{Affinity, Answers, Grant, Held, Hint, Provider, Refusal};
use topology_model::{NodeId, Nodes};

use super::configuration::{config, named, nodes_of};
use super::hints::push;
use crate::case::{Case, Outcome, reported, text};
use crate::corpus::Corpus;

pub(super) fn admit(_: &Corpus, case: &Case) -> Outcome {
    let mut parts = nodes_of(case);
    let config = match config(case, text(&case.input["scope"]), &parts) {
        Ok(config) => config,
        Err(faults) => {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            return case.compare(json!({ "error": reported(&faults, case.recorded("/error")) }));
        }
    };
    parts.sort_by_key(|(id, _)| *id);
    let nodes = match Nodes::new(parts.iter().map(|(id, _)| NodeId(*id))) {
        Ok(nodes) => nodes,
        Err(error) => return Outcome::unanswered(error),
    };
    let setup = || NodeSetup {
        nodes: nodes.clone(),
        distances: parts.iter().map(|(_, row)| row.clone()).collect(),
        topology: config,
        cpus: None,
        memory: None,
        allocatable: plenty(),
        pod_rules: PodRules::default(),
        rules: Rules::default(),
        pod_level: pod_level(&case.input["gates"]),
        compat: Compat::KUBELET,
        options: OwnOptions::default(),
    };
    let script = Arc::new(Script { of_pod: Mutex::default(), calls: Mutex::default() });
    let count = case.input["provider_count"].as_u64().unwrap_or(0);
    let node = (0..count).fold(Node::new(setup()), |node, at| {
        node.with_provider(Scripted { at, name: format!("provider-{at}"), script: script.clone() })
    });
    let mut manager = Manager { ledger: node.empty_ledger(), node, script, seen: BTreeMap::new() };
    let steps = case.input["steps"].as_array().into_iter().flatten().map(|step| manager.step(step));
    let steps: Vec<Value> = steps.collect();
    let mut got = named(config);
    got["steps"] = json!(steps);
    case.compare(got)
}

/// More than any pod asks for: nothing but the hints decides here.
fn plenty() -> Amounts {
    const PLENTY: i64 = 1 << 50;
    let names = ["cpu", "memory", "hugepages-2Mi", "hugepages-1Gi", "hugepages-64Ki"];
    names.map(|name| (name.to_owned(), Quantity::from_units(PLENTY, Format::DecimalSi))).into()
}

fn pod_level(gates: &Value) -> PodLevel {
    let gates = gates.as_object().into_iter().flatten();
    let gates: BTreeMap<String, bool> =
        gates.filter_map(|(name, value)| Some((name.clone(), value.as_bool()?))).collect();
    let Ok(gates) = FeatureGates::check(Rules::default().gates, &gates) else { return PodLevel::NotPinned };
    // The fit of the node, which would refuse pod-level resources without their gate, is no part of these cases.
    if gates.is_on(Gate::PodLevelResourceManagers) { PodLevel::Managed } else { PodLevel::NotPinned }
}

/// What providers are to answer, and what they were asked.
struct Script {
    /// Of the pod under admission: one entry for each provider.
    of_pod: Mutex<Value>,
    calls: Mutex<Vec<Call>>,
}

/// One call of a provider.
struct Call {
    provider: u64,
    name: &'static str,
    container: Option<ContainerName>,
}

impl Script {
    fn answer(&self, provider: u64) -> Value {
        let of_pod = self.of_pod.lock().unwrap_or_else(PoisonError::into_inner);
        usize::try_from(provider).ok().and_then(|at| of_pod.get(at)).cloned().unwrap_or_default()
    }

    fn note(&self, provider: u64, name: &'static str, container: Option<&ContainerName>) {
        let call = Call { provider, name, container: container.cloned() };
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }
}

/// A scripted provider.
struct Scripted {
    at: u64,
    name: String,
    script: Arc<Script>,
}

impl Provider for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn hints(&self, nodes: &Nodes, _: &Held, unit: Unit<'_>, answers: &mut Answers) {
        let script = self.script.answer(self.at);
        let hints = match unit {
            Unit::Container(_, container) => {
                self.script.note(self.at, "GetTopologyHints", Some(&container.name));
                script["containers"][container.name.as_str()]["hints"].clone()
            }
            Unit::Pod(_) => {
                self.script.note(self.at, "GetPodTopologyHints", None);
                script["pod_hints"].clone()
            }
        };
        match hints.as_object() {
            Some(resources) if !resources.is_empty() => {
                for (resource, list) in resources {
                    push(answers, resource, list, nodes);
                }
            }
            _ => answers.push_no_opinion(""),
        }
    }

    fn allocate(&self, _: &Nodes, _: &Held, unit: Unit<'_>, _: Affinity) -> Result<Option<Grant>, Refusal> {
        let script = self.script.answer(self.at);
        let error = match unit {
            Unit::Container(_, container) => {
                self.script.note(self.at, "Allocate", Some(&container.name));
                script["containers"][container.name.as_str()]["error"].clone()
            }
            Unit::Pod(_) => {
                self.script.note(self.at, "AllocatePod", None);
                script["pod_error"].clone()
            }
        };
        if error.is_null() { Ok(None) } else { Err(refusal(&error)) }
    }
}

/// An error with a type keeps its own text; one without has all that was put around it.
fn refusal(error: &Value) -> Refusal {
    let own = text(&error["text"]);
    if let Some(kind) = error["type"].as_str().filter(|kind| !kind.is_empty()) {
        return Refusal { reason: Some(kind.to_owned()), message: own.to_owned() };
    }
    let wrapped = format!("{}{own}", text(&error["wrap"]));
    let message = match error["join"].as_str().filter(|join| !join.is_empty()) {
        Some(join) => format!("{join}\n{wrapped}"),
        None => wrapped,
    };
    Refusal { reason: None, message }
}

/// The manager of a case.
struct Manager {
    node: Node,
    ledger: Ledger,
    script: Arc<Script>,
    /// Every container named so far.
    seen: BTreeMap<PodUid, Vec<ContainerName>>,
}

impl Manager {
    fn step(&mut self, step: &Value) -> Value {
        let mut entry = match text(&step["op"]) {
            "admit" => self.admit(step),
            "add_container" => {
                let (pod, container) =
                    (PodUid::new(text(&step["pod_uid"])), ContainerName::new(text(&step["container"])));
                self.name(&pod, &container);
                let key = ContainerKey { pod, container };
                self.ledger = self.ledger.create(&key, ContainerId::from(text(&step["id"])));
                json!({})
            }
            "remove_container" => {
                self.ledger = self.ledger.exit(&ContainerId::from(text(&step["id"])));
                json!({})
            }
            _ => {
                self.ledger = self.node.empty_ledger();
                json!({})
            }
        };
        let stored = self.seen.iter().map(|(pod, containers)| {
            let stored = containers.iter().filter_map(|container| {
                let key = ContainerKey { pod: pod.clone(), container: container.clone() };
                Some((container.to_string(), self.shown(self.ledger.hint(&key)?)))
            });
            (pod.to_string(), stored.collect::<Map<_, _>>())
        });
        let stored: Map<String, Value> = stored
            .filter(|(_, of_pod)| !of_pod.is_empty())
            .map(|(pod, of)| (pod, Value::Object(of)))
            .collect();
        entry["stored"] = Value::Object(stored);
        entry
    }

    fn name(&mut self, pod: &PodUid, container: &ContainerName) {
        let names = self.seen.entry(pod.clone()).or_default();
        if !names.contains(container) {
            names.push(container.clone());
        }
    }

    fn shown(&self, hint: Hint) -> Value {
        let nodes = self.node.nodes();
        let mask = hint.affinity.nodes().map(|mask| nodes.ids_of(mask).map(|id| id.0).collect::<Vec<_>>());
        json!({ "mask": mask, "preferred": hint.is_preferred() })
    }

    fn admit(&mut self, step: &Value) -> Value {
        let pod = pod_of(&step["pod"]);
        for container in &pod.containers {
            self.name(&pod.uid, &container.name);
        }
        *self.script.of_pod.lock().unwrap_or_else(PoisonError::into_inner) = step["script"].clone();
        let before = self.ledger.clone();
        let attempt = self.node.admission(&self.ledger, &pod).attempt();
        let counted = attempt.counted.clone();
        let verdict = attempt.verdict.clone();
        if let Ok(after) = self.ledger.commit(attempt) {
            self.ledger = after;
        }
        let mut entry = json!({ "admit": matches!(verdict, Verdict::Admitted(_)) });
        if let Verdict::Refused(refused) = &verdict {
            entry["reason"] = json!(refused.reason.to_string());
            entry["message"] = json!(refused.message);
        }
        let calls = self.calls(&pod, &before);
        if !calls.is_empty() {
            entry["calls"] = json!(calls);
        }
        let scope = self.node.scope().name();
        let aligned = |kind| {
            format!("kubelet_container_aligned_compute_resources_{kind}{{boundary=numa_node,scope={scope}}}")
        };
        let metrics = [
            ("kubelet_topology_manager_admission_duration_ms_count".to_owned(), counted.requests),
            ("kubelet_topology_manager_admission_requests_total".to_owned(), counted.requests),
            ("kubelet_topology_manager_admission_errors_total".to_owned(), counted.errors),
            (aligned("count"), counted.aligned),
            (aligned("failure_count"), counted.not_aligned),
        ];
        let metrics = metrics.into_iter().filter(|(_, by)| *by > 0).map(|(name, by)| (name, json!(by)));
        entry["metrics"] = Value::Object(metrics.collect());
        entry
    }

    /// What providers were asked, each with what was stored then: as before the step, with the hints of containers
    /// that had been stored by then.
    fn calls(&self, pod: &Pod, before: &Ledger) -> Vec<Value> {
        let calls = std::mem::take(&mut *self.script.calls.lock().unwrap_or_else(PoisonError::into_inner));
        let mut new: Vec<&ContainerName> = Vec::new();
        let shown = calls.iter().map(|call| {
            match (call.name, &call.container) {
                ("Allocate", Some(container)) => new.push(container),
                // All are stored before a pod is served as a whole.
                ("AllocatePod", _) => new.extend(pod.containers.iter().map(|container| &container.name)),
                _ => {}
            }
            let stored = pod.containers.iter().filter_map(|container| {
                let key = pod.key(container);
                let ledger = if new.contains(&&container.name) { &self.ledger } else { before };
                Some((container.name.to_string(), self.shown(ledger.hint(&key)?)))
            });
            let stored: Map<String, Value> = stored.collect();
            let mut entry = json!({ "provider": call.provider, "call": call.name });
            if let Some(container) = &call.container {
                entry["container"] = json!(container.as_str());
            }
            if !stored.is_empty() {
                entry["stored"] = Value::Object(stored);
            }
            entry
        });
        shown.collect()
    }
}

/// The pod of a step as it is written: nothing is filled in.
fn pod_of(described: &Value) -> Pod {
    let mut containers = Vec::new();
    for (list, is_init) in [("init", true), ("containers", false)] {
        for container in described[list].as_array().into_iter().flatten() {
            let stays = text(&container["restart_policy"]) == "Always";
            containers.push(Container {
                name: ContainerName::new(text(&container["name"])),
                role: match (is_init, stays) {
                    (false, _) => Role::App,
                    (true, false) => Role::Init,
                    (true, true) => Role::Sidecar,
                },
                requests: amounts(&container["requests"]),
                limits: amounts(&container["limits"]),
            });
        }
    }
    let mut pod = Pod::new(text(&described["namespace"]), text(&described["name"]), containers);
    pod.uid = PodUid::new(text(&described["uid"]));
    let resources = &described["resources"];
    pod.resources = (!resources.is_null()).then(|| PodResources {
        requests: amounts(&resources["requests"]),
        limits: amounts(&resources["limits"]),
    });
    pod
}

fn amounts(described: &Value) -> ResourceList {
    let amounts = described.as_object().into_iter().flatten();
    amounts.filter_map(|(name, amount)| Some((name.as_str().into(), text(amount).parse().ok()?))).collect()
}
