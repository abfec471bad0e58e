//! The admission of a pod: by the Topology Manager, or with affinities that the case names.

use memory_manager::{AllocateError, Counted, Decision, EmptySharedPool, Holdings, PodLevel, Source};
use node_config::Scope;
use numa_bitmask::NodeIndex;
use pod_spec::{Container, Pod, Unit};
use serde_json::{Map, Value, json};
use topology_hint::{Affinity, Answers, Hint, Preference};
use topology_model::{NodeId, Nodes};
use topology_policy::{Admit, KubeletPolicy};

use super::super::answers::answer;
use super::super::leeway::any_of;
use super::{Kubelet, Manager};
use crate::case::{numbers, text};

/// What is asked of a manager before it allocates.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    EachContainer,
    WholePod,
    Nothing,
}

impl Kubelet<'_> {
    pub(super) fn admit(&mut self, step: &Value, pod: &Pod, entry: &mut Map<String, Value>) {
        self.deactivate(pod.uid.as_str());
        self.active.push(pod.uid.to_string());
        let mut calls = Vec::new();
        let admitted = match self.case.get("topology") {
            Some(topology) => self.admit_aligned(topology, pod, &mut calls),
            None => self.admit_given(step, pod, &mut calls),
        };
        entry.insert("admit".into(), json!(admitted.is_ok()));
        entry.insert("calls".into(), Value::Array(calls));
        if let Err(Refusal { reason, messages }) = admitted {
            self.deactivate(pod.uid.as_str());
            entry.insert("reason".into(), json!(reason));
            entry.insert("message".into(), any_of(&messages));
        }
    }

    /// Admission by the Topology Manager.
    fn admit_aligned(&mut self, topology: &Value, pod: &Pod, calls: &mut Vec<Value>) -> Result<(), Refusal> {
        let policy = policy_named(text(&topology["policy"]));
        if policy == KubeletPolicy::None {
            return pod.containers.iter().try_for_each(|own| self.allocate(pod, own, Hint::NONE, calls));
        }
        if Scope::from_name(text(&topology["scope"])) == Some(Scope::Container) {
            return pod.containers.iter().try_for_each(|container| {
                let hint = self.align(policy, Unit::Container(pod, container), calls)?;
                self.allocate(pod, container, hint, calls)
            });
        }
        let hint = self.align(policy, Unit::Pod(pod), calls)?;
        if self.books_whole(pod) {
            return self.allocate_pod(pod, hint, calls);
        }
        pod.containers.iter().try_for_each(|own| self.allocate(pod, own, hint, calls))
    }

    fn align(
        &mut self,
        policy: KubeletPolicy,
        unit: Unit<'_>,
        calls: &mut Vec<Value>,
    ) -> Result<Hint, Refusal> {
        let answers = self.hints(unit, calls);
        match policy.merge(self.nodes().all(), &answers) {
            Ok(merged) if merged.admit == Admit::Yes => Ok(merged.hint),
            _ => Err(Refusal::not_aligned(unit, self.books_whole(unit.pod()))),
        }
    }

    /// Admission with affinities that the case names.
    fn admit_given(&mut self, step: &Value, pod: &Pod, calls: &mut Vec<Value>) -> Result<(), Refusal> {
        let scope = text(&step["scope"]);
        let asked = match scope {
            _ if self.case["no_hints"].as_bool() == Some(true) => Asked::Nothing,
            "none" => Asked::Nothing,
            "pod" => Asked::WholePod,
            _ => Asked::EachContainer,
        };
        let nodes = self.nodes();
        let given = |container: &Container| given_hint(&step["affinity"][container.name.as_str()], &nodes);
        if asked == Asked::WholePod {
            self.hints(Unit::Pod(pod), calls);
        }
        if scope == "pod" && self.books_whole(pod) {
            let hint = pod.containers.first().map_or(Hint::NONE, given);
            return self.allocate_pod(pod, hint, calls);
        }
        pod.containers.iter().try_for_each(|container| {
            if asked == Asked::EachContainer {
                self.hints(Unit::Container(pod, container), calls);
            }
            self.allocate(pod, container, given(container), calls)
        })
    }

    /// Whether containers are served at once under pod scope, whatever the memory manager does.
    fn books_whole(&self, pod: &Pod) -> bool {
        self.pod_level == PodLevel::Managed && pod.has_pod_level_resources()
    }

    fn hints(&mut self, unit: Unit<'_>, calls: &mut Vec<Value>) -> Answers {
        self.collect();
        let mut answers = Answers::new();
        let hints = match self.manager() {
            None => Value::Null,
            Some(Manager { policy, held }) => answer(policy, &self.nodes(), held, unit, &mut answers),
        };
        calls.push(match unit {
            Unit::Container(_, container) => {
                json!({ "call": "hints", "container": container.name.as_str(), "hints": hints })
            }
            Unit::Pod(_) => json!({ "call": "hints_pod", "hints": hints }),
        });
        answers
    }

    fn allocate(
        &mut self,
        pod: &Pod,
        container: &Container,
        hint: Hint,
        calls: &mut Vec<Value>,
    ) -> Result<(), Refusal> {
        self.collect();
        let decided = self.manager().map(|Manager { policy, held }| {
            let mut after = held.clone();
            (policy.allocate_in(&mut after, pod, container, hint).map(drop), after)
        });
        let mut call = json!({ "call": "allocate", "container": container.name.as_str() });
        call["affinity"] = shown_hint(hint, &self.nodes());
        self.keep(decided, Source::Node, call, calls)
    }

    fn allocate_pod(&mut self, pod: &Pod, hint: Hint, calls: &mut Vec<Value>) -> Result<(), Refusal> {
        self.collect();
        let decided = self.manager().map(|Manager { policy, held }| {
            let mut after = held.clone();
            (policy.allocate_pod_in(&mut after, pod, hint).map(drop), after)
        });
        let call = json!({ "call": "allocate_pod", "affinity": shown_hint(hint, &self.nodes()) });
        self.keep(decided, Source::Pod, call, calls)
    }

    /// Keeps what a decision gives; without a manager nothing is to be kept.
    fn keep(
        &mut self,
        decided: Option<(Decision<()>, Holdings)>,
        source: Source,
        mut call: Value,
        calls: &mut Vec<Value>,
    ) -> Result<(), Refusal> {
        let (counted, admitted) = match decided {
            None => (Counted::default(), Ok(())),
            Some((Decision { granted: Ok(()), counted, .. }, after)) => {
                if let Some(held) = self.held() {
                    *held = after;
                }
                (counted, Ok(()))
            }
            Some((Decision { granted: Err(error), counted, .. }, _)) => {
                call["error"] = any_of(&texts(&error));
                (counted, Err(Refusal::from(error)))
            }
        };
        calls.push(call);
        self.count(counted, source);
        admitted
    }

    fn count(&mut self, counted: Counted, source: Source) {
        let from = source.name();
        for (name, more) in [
            ("pinning_requests".to_owned(), counted.pinning_requests),
            ("pinning_errors".to_owned(), counted.pinning_errors),
            (format!("allocations{{{from}}}"), counted.allocations),
            (format!("allocation_errors{{{from}}}"), counted.allocation_errors),
            ("assignments{node_exclusive}".to_owned(), counted.node_exclusive),
            ("assignments{pod_exclusive}".to_owned(), counted.pod_exclusive),
            ("assignments{pod_shared}".to_owned(), counted.pod_shared),
        ] {
            if more > 0 {
                let before = self.metrics.get(&name).and_then(Value::as_u64).unwrap_or(0);
                self.metrics.insert(name, json!(before + u64::from(more)));
            }
        }
    }
}

/// Why a pod was not admitted.
struct Refusal {
    reason: &'static str,
    /// Any of these.
    messages: Vec<String>,
}

impl Refusal {
    fn not_aligned(unit: Unit<'_>, books_whole: bool) -> Self {
        let message = match unit {
            Unit::Pod(_) if books_whole => {
                "Pod Scope pod with pod-level resources failed admission under pod-scope topology manager"
            }
            Unit::Container(..) if books_whole => {
                "Pod Scope pod with pod-level resources failed admission with a container-level topology manager"
            }
            _ => "Resources cannot be allocated with Topology locality",
        };
        Self { reason: "TopologyAffinityError", messages: vec![message.to_owned()] }
    }
}

impl From<AllocateError> for Refusal {
    fn from(error: AllocateError) -> Self {
        if matches!(error, AllocateError::EmptySharedPool(_)) {
            return Self { reason: "EmptyPodSharedPoolError", messages: texts(&error) };
        }
        let message = format!("Allocate failed due to {error}, which is unexpected");
        Self { reason: "UnexpectedAdmissionError", messages: vec![message] }
    }
}

/// What the kubelet may say.
fn texts(error: &AllocateError) -> Vec<String> {
    let text = error.to_string();
    match error {
        AllocateError::EmptySharedPool(EmptySharedPool::Init(used_up) | EmptySharedPool::App(used_up)) => {
            let told = format!(" {used_up} ");
            let each = used_up.iter().map(|resource| text.replacen(&told, &format!(" {resource} "), 1));
            each.collect()
        }
        _ => vec![text],
    }
}

fn policy_named(name: &str) -> KubeletPolicy {
    let all = [KubeletPolicy::BestEffort, KubeletPolicy::Restricted, KubeletPolicy::SingleNumaNode];
    all.into_iter().find(|policy| policy.name() == name).unwrap_or(KubeletPolicy::None)
}

/// `{"nodes","preferred"}`. A node that the machine lacks is the position past its last.
fn given_hint(value: &Value, nodes: &Nodes) -> Hint {
    let is_preferred = value["preferred"].as_bool() == Some(true);
    let preference = if is_preferred { Preference::Preferred } else { Preference::Acceptable };
    if value["nodes"].is_null() {
        return Hint { affinity: Affinity::Any, preference };
    }
    let position = |id| nodes.index_of(NodeId(id)).or_else(|| NodeIndex::new(nodes.len()).ok());
    let mask = numbers(&value["nodes"]).into_iter().filter_map(position).collect();
    Hint { affinity: Affinity::Nodes(mask), preference }
}

fn shown_hint(hint: Hint, nodes: &Nodes) -> Value {
    let ids = hint.affinity.nodes().map(|mask| nodes.ids_of(mask).map(|id| id.0).collect::<Vec<_>>());
    json!({ "nodes": ids, "preferred": hint.is_preferred() })
}
