//! The conditions that a kubelet keeps on a pod that it has admitted, with its reasons and messages.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde_json::{Value, json};

use crate::object::{Part, PodObject, SpecContainer};

/// The conditions that only a kubelet writes. Those that it does not have are taken away; all others stay.
pub(crate) const OF_KUBELET: [&str; 5] =
    ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];

/// The statuses that conditions are worked out of.
#[derive(Clone, Copy)]
pub(crate) struct Statuses<'a> {
    pub(crate) phase: &'a str,
    pub(crate) inits: &'a [Value],
    pub(crate) apps: &'a [Value],
}

/// A condition without its times.
struct Judged {
    kind: &'static str,
    holds: Holds,
}

/// Whether a condition holds.
#[derive(Clone)]
enum Holds {
    Yes,
    YesSince(&'static str),
    No,
    NotFor(&'static str, String),
}

/// All conditions, with the times of those of `before` that have not changed.
pub(crate) fn conditions(pod: &PodObject, statuses: Statuses<'_>, before: &Value, now: &str) -> Vec<Value> {
    let containers_ready = containers_ready(pod, statuses);
    let judged = [
        Judged { kind: "PodReadyToStartContainers", holds: ready_to_start(statuses) },
        Judged { kind: "Initialized", holds: initialized(pod, statuses) },
        Judged { kind: "Ready", holds: ready(pod, &containers_ready) },
        Judged { kind: "ContainersReady", holds: containers_ready },
        Judged { kind: "PodScheduled", holds: Holds::Yes },
    ];
    judged.into_iter().map(|judged| judged.written(pod, before, now)).collect()
}

/// A condition of a pod that was ended for a more important one.
pub(crate) fn disrupted(pod: &PodObject, before: &Value, now: &str) -> Value {
    let mut condition = Judged { kind: "DisruptionTarget", holds: Holds::YesSince("TerminationByKubelet") }
        .written(pod, before, now);
    condition["message"] = json!("Pod was preempted by Kubelet to accommodate a critical pod.");
    condition
}

impl Judged {
    fn written(self, pod: &PodObject, before: &Value, now: &str) -> Value {
        let status = if matches!(self.holds, Holds::Yes | Holds::YesSince(_)) { "True" } else { "False" };
        let before = before.as_array().into_iter().flatten().find(|condition| condition["type"] == self.kind);
        let since = before.filter(|before| before["status"] == status);
        let since = since.and_then(|before| before["lastTransitionTime"].as_str()).unwrap_or(now);
        let mut condition = json!({
            "type": self.kind,
            "status": status,
            "lastProbeTime": null,
            "lastTransitionTime": since,
        });
        match self.holds {
            Holds::Yes | Holds::No => {}
            Holds::YesSince(reason) => condition["reason"] = json!(reason),
            Holds::NotFor(reason, message) => {
                condition["reason"] = json!(reason);
                if !message.is_empty() {
                    condition["message"] = json!(message);
                }
            }
        }
        if let Some(generation) = pod.generation() {
            condition["observedGeneration"] = json!(generation);
        }
        condition
    }
}

/// A runtime that has started a container has made the pod's sandbox, and takes it away after the last one.
fn ready_to_start(statuses: Statuses<'_>) -> Holds {
    let mut all = statuses.inits.iter().chain(statuses.apps);
    let has_ended = crate::object::is_terminal(statuses.phase);
    let has_any = all.any(|status| !status["state"]["waiting"].is_object());
    if has_any && !has_ended { Holds::Yes } else { Holds::No }
}

fn initialized(pod: &PodObject, statuses: Statuses<'_>) -> Holds {
    if statuses.phase == "Succeeded" {
        return Holds::YesSince("PodCompleted");
    }
    let has_started = statuses
        .apps
        .iter()
        .any(|status| status["started"] == true || status["state"]["terminated"].is_object());
    let containers = pod.init_containers();
    let is_incomplete = |container: &SpecContainer<'_>, status: &Value| match container.part {
        Part::Sidecar => status["started"] != true,
        Part::Init | Part::App => status["ready"] != true,
    };
    let incomplete = named(&containers, statuses.inits, is_incomplete);
    if has_started || incomplete.is_empty() {
        return Holds::Yes;
    }
    let message = format!("containers with incomplete status: [{}]", incomplete.join(" "));
    Holds::NotFor("ContainersNotInitialized", message)
}

fn containers_ready(pod: &PodObject, statuses: Statuses<'_>) -> Holds {
    match statuses.phase {
        "Succeeded" => return Holds::NotFor("PodCompleted", String::new()),
        "Failed" => return Holds::NotFor("PodFailed", String::new()),
        _ => {}
    }
    let sidecars = pod.init_containers();
    let is_unready = |_: &SpecContainer<'_>, status: &Value| status["ready"] != true;
    let mut unready = named(&sidecars, statuses.inits, |container, status| {
        container.part == Part::Sidecar && is_unready(container, status)
    });
    unready.extend(named(&pod.containers(), statuses.apps, is_unready));
    if unready.is_empty() {
        return Holds::Yes;
    }
    let message = format!("containers with unready status: [{}]", unready.join(" "));
    Holds::NotFor("ContainersNotReady", message)
}

/// The containers are ready, and all that others say the pod needs.
fn ready(pod: &PodObject, containers: &Holds) -> Holds {
    if !matches!(containers, Holds::Yes) {
        return containers.clone();
    }
    let mut unmet = vec![];
    for gate in pod.readiness_gates() {
        let conditions = pod.status()["conditions"].as_array().into_iter().flatten();
        let found = conditions.into_iter().find(|condition| condition["type"] == gate);
        match found.and_then(|condition| condition["status"].as_str()) {
            Some("True") => {}
            Some(other) => {
                unmet.push(format!(
                    "the status of pod readiness gate \"{gate}\" is not \"True\", but {other}"
                ));
            }
            None => {
                unmet.push(format!(
                    "corresponding condition of pod readiness gate \"{gate}\" does not exist."
                ));
            }
        }
    }
    if unmet.is_empty() { Holds::Yes } else { Holds::NotFor("ReadinessGatesNotReady", unmet.join(", ")) }
}

fn named(
    containers: &[SpecContainer<'_>],
    statuses: &[Value],
    is_it: impl Fn(&SpecContainer<'_>, &Value) -> bool,
) -> Vec<String> {
    let each = containers.iter().zip(statuses).filter(|(container, status)| is_it(container, status));
    each.map(|(container, _)| container.name.to_owned()).collect()
}
