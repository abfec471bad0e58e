//! The status of a pod as its node has it.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Map, Value, json};

use crate::conditions::{Statuses, conditions, disrupted};
use crate::container::{Containers, Course, Simulated, statuses};
use crate::object::{PodObject, is_terminal};
use crate::patch;
use crate::phase::phase;
use crate::terminate::terminate;

/// What the node has done with a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Life {
    /// It is not admitted, and never runs.
    Refused(Refusal),
    /// It ran, and was ended for a more important pod.
    Preempted,
    /// It is admitted.
    Admitted(Containers),
    /// It was admitted, and nothing of it runs any more or will.
    Over(Containers),
}

/// Why a pod is not admitted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// One word.
    pub reason: String,
    /// A sentence, as events have it.
    pub message: String,
}

impl Refusal {
    /// What a kubelet puts before the message in a status.
    const REJECTED: &str = "Pod was rejected: ";
}

/// The status of a pod as its node has it: what a kubelet writes of a status, and nothing else.
#[derive(Clone, PartialEq, Debug)]
pub struct Draft(Value);

impl Draft {
    /// What the API server has: where a node goes on that has just heard of the pod.
    #[must_use]
    pub fn of(pod: &PodObject) -> Self {
        Self(pod.status().clone())
    }

    /// The status as of `now` (RFC 3339, in whole seconds). `addresses` are those of the node, the first before all.
    #[must_use]
    pub fn next(&self, pod: &PodObject, life: &Life, addresses: &[String], now: &str) -> Self {
        let Self(before) = self;
        let mut status = Map::new();
        let mut set = |field: &str, value: Value| status.insert(field.to_owned(), value);
        set(
            "startTime",
            if before["startTime"].is_string() { before["startTime"].clone() } else { json!(now) },
        );
        // The API server has worked it out.
        let class = &pod.status()["qosClass"];
        if class.is_string() {
            set("qosClass", class.clone());
        }
        if let Some(generation) = pod.generation() {
            set("observedGeneration", json!(generation));
        }
        match life {
            Life::Refused(Refusal { reason, message }) => {
                set("phase", json!("Failed"));
                set("reason", json!(reason));
                set("message", json!([Refusal::REJECTED, message].concat()));
                set("conditions", json!([]));
                return Self(Value::Object(status));
            }
            Life::Admitted(_) | Life::Over(_) | Life::Preempted => {}
        }
        if let Some(address) = addresses.first() {
            set("hostIP", json!(address));
            let all: Vec<Value> = addresses.iter().map(|address| json!({ "ip": address })).collect();
            set("hostIPs", json!(all));
            if pod.is_on_host_network() {
                set("podIP", json!(address));
                set("podIPs", json!(all));
            }
        }
        let nothing = Containers::default();
        let (known, course) = match life {
            Life::Admitted(known) if known.simulated == Simulated::Ended => (known, Course::IsOver),
            Life::Admitted(known) => (known, Course::GoesOn),
            Life::Over(known) => (known, Course::IsOver),
            Life::Refused(_) | Life::Preempted => (&nothing, Course::IsOver),
        };
        let of = |list: &str, of: &[_]| statuses(pod, of, &before[list], known, now);
        let mut inits = of("initContainerStatuses", &pod.init_containers());
        let mut apps = of("containerStatuses", &pod.containers());
        if course == Course::IsOver {
            terminate(pod, &mut inits, &mut apps);
        }
        let mut phase = phase(pod, &inits, &apps, course);
        let was = before["phase"].as_str().unwrap_or_default();
        if is_terminal(was) {
            phase = if was == "Succeeded" { "Succeeded" } else { "Failed" };
        }
        if *life == Life::Preempted {
            phase = "Failed";
            set("reason", json!("Preempting"));
            set("message", json!("Preempted in order to admit critical pod"));
        }
        set("phase", json!(phase));
        let statuses = Statuses { phase, inits: &inits, apps: &apps };
        let mut all = conditions(pod, statuses, &before["conditions"], now);
        if *life == Life::Preempted {
            all.push(disrupted(pod, &before["conditions"], now));
        }
        set("conditions", json!(all));
        if !inits.is_empty() {
            set("initContainerStatuses", json!(inits));
        }
        set("containerStatuses", json!(apps));
        // What is not known any more keeps its last status.
        let said = || (before["resources"].clone(), before["allocatedResources"].clone());
        let (resources, allocated) = known.given.of_pod(pod).unwrap_or_else(said);
        for (field, value) in [("resources", resources), ("allocatedResources", allocated)] {
            if !value.is_null() {
                set(field, value);
            }
        }
        Self(Value::Object(status))
    }

    /// The phase.
    #[must_use]
    pub fn phase(&self) -> &str {
        self.0["phase"].as_str().unwrap_or_default()
    }

    /// Whether the pod does not leave this phase.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        is_terminal(self.phase())
    }

    /// A strategic merge patch that makes it the status of the pod; `None`: it is.
    #[must_use]
    pub fn patch(&self, pod: &PodObject) -> Option<Value> {
        let status = patch::status(pod.status(), &self.0)?;
        // Another pod of that name gets nothing of it.
        Some(json!({ "metadata": { "uid": pod.uid() }, "status": status }))
    }
}
