//! The statuses of containers, which follow what a runtime reports.
//!
//! A status is worked out of the one before: a container that ran, does not run any more and whose exit was not
//! reported has been lost, and its status says so in the kubelet's words.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Value, json};

use crate::object::{Part, PodObject, SpecContainer, Stage, text};
use crate::resources::{Given, Repeated};
use crate::terminate::{USED_TO_RUN, unknown};

/// The scheme of container ids, in the place of a runtime's name.
const SCHEME: &str = "topolet";

/// What is known of the containers of a pod, by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Containers {
    /// Those that run.
    pub running: BTreeMap<String, RunningContainer>,
    /// How those ended that have ended last, as far as that was reported.
    pub exits: BTreeMap<String, Exit>,
    /// Whether containers are simulated.
    pub simulated: Simulated,
    /// What the pod has been given.
    pub given: Given,
}

/// A container that runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunningContainer {
    /// Its id in the runtime.
    pub id: String,
}

/// How a container ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exit {
    /// Its id in the runtime.
    pub id: String,
    /// As its process ended.
    pub code: i32,
}

/// Whether containers are simulated: counted as running without a runtime that starts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Simulated {
    /// A runtime reports them.
    #[default]
    No,
    /// Init containers have succeeded and the others run, as soon as the pod is admitted.
    Running,
    /// They have succeeded: the pod is deleted.
    Ended,
}

/// How far a pod is, as far as it matters to its containers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Course {
    /// Containers may start.
    GoesOn,
    /// None starts any more, and those that ran have ended.
    IsOver,
}

/// The statuses of containers, in the order of the manifest. `before` is the list before.
pub(crate) fn statuses(
    pod: &PodObject,
    of: &[SpecContainer<'_>],
    before: &Value,
    known: &Containers,
    now: &str,
) -> Vec<Value> {
    let waits_for = if pod.init_containers().is_empty() { "ContainerCreating" } else { "PodInitializing" };
    let each = of.iter().map(|container| {
        let statuses = before.as_array().into_iter().flatten();
        let before = statuses.into_iter().find(|status| status["name"] == container.name);
        let next = Next { pod, container, before, known, now };
        next.status(waits_for)
    });
    each.collect()
}

/// The next status of one container.
struct Next<'a> {
    pod: &'a PodObject,
    container: &'a SpecContainer<'a>,
    before: Option<&'a Value>,
    known: &'a Containers,
    now: &'a str,
}

impl Next<'_> {
    fn status(&self, waits_for: &str) -> Value {
        let SpecContainer { name, image, part, resources } = *self.container;
        let nothing = Value::Null;
        let before = self.before.unwrap_or(&nothing);
        let id_before = text(&before["containerID"]);
        let (state, id) = self.state(before, waits_for);
        let was_another = !id.is_empty() && !id_before.is_empty() && id != id_before;
        let mut count = before["restartCount"].as_i64().unwrap_or_default() + i64::from(was_another);
        let last = if was_another { terminated_of(&before["state"]) } else { None };
        let mut last = last.unwrap_or_else(|| match &before["lastState"] {
            Value::Object(last) => Value::Object(last.clone()),
            _ => json!({}),
        });
        // It ran, and its end was not reported.
        let is_lost = before["state"]["running"].is_object() && state["waiting"].is_object();
        if is_lost && !last["terminated"].is_object() {
            last = unknown(USED_TO_RUN);
            count += i64::from(self.pod.stage() != Stage::Deleted);
        }
        let runs = state["running"].is_object();
        let has_succeeded = state["terminated"]["exitCode"] == 0;
        let mut status = json!({
            "name": name,
            "image": image,
            "imageID": "",
            "state": state,
            "lastState": last,
            "ready": if part == Part::Init { has_succeeded } else { runs },
            "started": runs,
            "restartCount": count,
        });
        let given = &self.known.given;
        if !id.is_empty() {
            status["containerID"] = json!(id);
            if given.of_containers == Repeated::Yes {
                status["resources"] = if resources.is_object() { resources.clone() } else { json!({}) };
                if let requests @ Value::Object(_) = &resources["requests"] {
                    status["allocatedResources"] = requests.clone();
                }
            }
        }
        if part == Part::App
            && let Some(devices) = given.devices_of(name)
        {
            status["allocatedResourcesStatus"] = devices;
        }
        status
    }

    /// The state, and the container's id; empty if it has none.
    fn state(&self, before: &Value, waits_for: &str) -> (Value, String) {
        let SpecContainer { name, part, .. } = *self.container;
        let id_before = text(&before["containerID"]);
        let running = &before["state"]["running"];
        let since = |id: &str| {
            let stays = id == id_before && running.is_object();
            if stays { text(&running["startedAt"]) } else { self.now.into() }
        };
        if let Some(container) = self.known.running.get(name) {
            let id = format!("{SCHEME}://{}", container.id);
            return (json!({ "running": { "startedAt": since(&id) } }), id);
        }
        let simulated = match (self.known.simulated, part) {
            (Simulated::No, _) => None,
            (Simulated::Running, Part::Init) | (Simulated::Ended, _) => Some(false),
            (Simulated::Running, Part::Sidecar | Part::App) => Some(true),
        };
        if before["state"]["terminated"].is_object() && simulated != Some(true) {
            let ended = self.known.exits.get(name);
            if ended.is_none_or(|exit| format!("{SCHEME}://{}", exit.id) == id_before) {
                return (before["state"].clone(), id_before);
            }
        }
        match simulated {
            Some(true) => {
                let id = format!("{SCHEME}://simulated-{}-{name}", self.pod.uid());
                return (json!({ "running": { "startedAt": since(&id) } }), id);
            }
            Some(false) => {
                let id = format!("{SCHEME}://simulated-{}-{name}", self.pod.uid());
                let since = since(&id);
                return (self.terminated(0, &since, &id), id);
            }
            None => {}
        }
        if let Some(exit) = self.known.exits.get(name) {
            let id = format!("{SCHEME}://{}", exit.id);
            let since = since(&id);
            return (self.terminated(exit.code, &since, &id), id);
        }
        (json!({ "waiting": { "reason": waits_for } }), String::new())
    }

    fn terminated(&self, code: i32, since: &str, id: &str) -> Value {
        let reason = if code == 0 { "Completed" } else { "Error" };
        json!({ "terminated": {
            "exitCode": code,
            "reason": reason,
            "startedAt": since,
            "finishedAt": self.now,
            "containerID": id,
        } })
    }
}

fn terminated_of(state: &Value) -> Option<Value> {
    state["terminated"].is_object().then(|| state.clone())
}
