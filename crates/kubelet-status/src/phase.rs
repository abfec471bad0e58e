//! The phase of a pod by the statuses of its containers, by the kubelet's rules.

use serde_json::Value;

use crate::container::Course;
use crate::object::{Part, PodObject};

/// What containers are doing.
#[derive(Default)]
struct Counts {
    running: usize,
    waiting: usize,
    stopped: usize,
    succeeded: usize,
}

/// The phase of an admitted pod; `inits` and `apps` are the statuses of its containers.
pub(crate) fn phase(pod: &PodObject, inits: &[Value], apps: &[Value], course: Course) -> &'static str {
    let has_started = apps.iter().any(|status| !status["state"]["waiting"].is_object());
    let (mut counts, mut pending, mut failed) = (Counts::default(), 0, 0);
    for (container, status) in pod.init_containers().iter().zip(inits) {
        let state = &status["state"];
        let was_terminated = status["lastState"]["terminated"].is_object();
        let code = |state: &Value| state["terminated"]["exitCode"].as_i64().unwrap_or_default();
        match container.part {
            Part::Init if state["terminated"].is_object() => failed += usize::from(code(state) != 0),
            Part::Init if state["waiting"].is_object() && was_terminated => {
                failed += usize::from(code(&status["lastState"]) != 0);
            }
            Part::Init => pending += 1,
            Part::Sidecar | Part::App if state["running"].is_object() => counts.running += 1,
            Part::Sidecar | Part::App if state["waiting"].is_object() && !was_terminated => {
                counts.waiting += 1;
                pending += usize::from(!has_started);
            }
            Part::Sidecar | Part::App => {}
        }
    }
    for status in apps {
        let state = &status["state"];
        if state["running"].is_object() {
            counts.running += 1;
        } else if state["terminated"].is_object() {
            counts.stopped += 1;
            counts.succeeded += usize::from(state["terminated"]["exitCode"] == 0);
        } else if status["lastState"]["terminated"].is_object() {
            counts.stopped += 1;
        } else {
            counts.waiting += 1;
        }
    }
    let Counts { running, waiting, stopped, succeeded } = counts;
    let policy = pod.restart_policy();
    let has_all_succeeded = stopped == succeeded;
    match course {
        _ if failed > 0 && policy == "Never" => "Failed",
        // Nothing starts any more, whatever the policy.
        Course::IsOver if running == 0 => {
            if has_all_succeeded && pending == 0 && waiting == 0 && failed == 0 {
                "Succeeded"
            } else {
                "Failed"
            }
        }
        _ if pending > 0 || failed > 0 || waiting > 0 => "Pending",
        _ if running > 0 => "Running",
        _ if stopped == 0 => "Pending",
        _ if policy == "Always" => "Running",
        _ if has_all_succeeded => "Succeeded",
        _ if policy == "Never" => "Failed",
        _ => "Running",
    }
}
