//! What a kubelet makes of the containers of a pod that is over: one whose end was not reported has failed.
//!
//! The rules are those of `TerminatePod`, `hasPodInitialized` and `initializedContainers` in the kubelet's status manager.
//! Containers that a pod never came to stay waiting.

use serde_json::{Value, json};

use crate::object::{Part, PodObject};

/// The exit code of a container whose end was not reported: as if killed by a signal.
const KILLED: i32 = 137;
/// In the state of a pod that is over.
const TERMINATED: &str = "The container could not be located when the pod was terminated";
/// In the last state of a container that ran.
pub(crate) const USED_TO_RUN: &str =
    "The container could not be located when the pod was deleted.  The container used to be Running";

/// The state of a container whose end was not reported. Its times are null, as an API server has unknown times.
pub(crate) fn unknown(message: &str) -> Value {
    json!({ "terminated": {
        "reason": "ContainerStatusUnknown",
        "message": message,
        "exitCode": KILLED,
        "startedAt": null,
        "finishedAt": null,
    } })
}

/// Terminates the containers that have neither ended nor never been started.
pub(crate) fn terminate(pod: &PodObject, inits: &mut [Value], apps: &mut [Value]) {
    let (has_initialized, tried) = (has_initialized(pod, inits, apps), tried(inits));
    let inits = inits.iter_mut().take(tried);
    let apps = apps.iter_mut().filter(|_| has_initialized);
    for status in inits.chain(apps).filter(|status| !status["state"]["terminated"].is_object()) {
        status["state"] = unknown(TERMINATED);
        status["ready"] = json!(false);
        status["started"] = json!(false);
    }
}

fn has_moved(status: &Value) -> bool {
    !status["state"]["waiting"].is_object() || status["lastState"]["terminated"].is_object()
}

/// Whether the pod has ever come to its app containers.
fn has_initialized(pod: &PodObject, inits: &[Value], apps: &[Value]) -> bool {
    let parts = pod.init_containers();
    let (Some(part), Some(last)) = (parts.last().map(|container| container.part), inits.last()) else {
        return true;
    };
    let has_succeeded = |state: &Value| state["terminated"]["exitCode"] == 0;
    apps.iter().any(has_moved)
        || match part {
            Part::Sidecar => last["state"]["running"].is_object() && last["started"] == true,
            Part::Init | Part::App => has_succeeded(&last["lastState"]) || has_succeeded(&last["state"]),
        }
}

/// So many init containers have been started, or the first would have been.
fn tried(inits: &[Value]) -> usize {
    inits.iter().rposition(has_moved).map_or(1, |last| last + 1)
}
