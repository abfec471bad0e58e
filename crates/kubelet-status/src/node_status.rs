//! The status of a node.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Map, Value, json};

use crate::node::{HostFacts, NodeFacts};

/// Whether pods can be sent to the node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Readiness {
    /// They can.
    Ready,
    /// They cannot.
    NotReady {
        /// Why, each as a sentence.
        why: Vec<String>,
    },
}

/// What a kubelet says of resources that it does not watch here.
const CALM: [(&str, &str, &str); 3] = [
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
];

/// The status of a node as of `now`. `before` is the one that was sent last; at first it has the conditions of
/// the object that was found.
#[must_use]
pub fn node_status(facts: &NodeFacts<'_>, readiness: &Readiness, before: &Value, now: &str) -> Value {
    let calm = CALM.map(|(kind, reason, message)| condition(kind, "False", reason, message, before, now));
    let ready = match readiness {
        Readiness::Ready => {
            condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", before, now)
        }
        Readiness::NotReady { why } => {
            condition("Ready", "False", "KubeletNotReady", &format!("[{}]", why.join(", ")), before, now)
        }
    };
    let HostFacts { machine_id, system_uuid, boot_id, kernel, os_image, architecture, .. } = facts.host;
    json!({
        "capacity": amounts(&facts.capacity, &before["capacity"]),
        "allocatable": amounts(&facts.allocatable, &before["allocatable"]),
        "conditions": calm.into_iter().chain([ready]).collect::<Vec<_>>(),
        "addresses": addresses(facts),
        "nodeInfo": {
            "machineID": machine_id,
            "systemUUID": system_uuid,
            "bootID": boot_id,
            "kernelVersion": kernel,
            "osImage": os_image,
            "containerRuntimeVersion": facts.runtime,
            "kubeletVersion": facts.kubelet_version,
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": architecture,
        },
    })
}

/// The status without the times of its last heart-beat: one that differs in nothing else has not changed.
#[must_use]
pub fn without_heartbeat(status: &Value) -> Value {
    let mut status = status.clone();
    for condition in status["conditions"].as_array_mut().into_iter().flatten() {
        if let Some(condition) = condition.as_object_mut() {
            condition.remove("lastHeartbeatTime");
        }
    }
    status
}

/// Whether the `found` status has all conditions of another one, with the same status and reason.
#[must_use]
pub fn has_conditions(found: &Value, sent: &Value) -> bool {
    let of = |status: &Value| -> BTreeMap<String, (Value, Value)> {
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let named = conditions.map(|condition| {
            let name = condition["type"].as_str().unwrap_or_default().to_owned();
            (name, (condition["status"].clone(), condition["reason"].clone()))
        });
        named.collect()
    };
    let found = of(found);
    of(sent).iter().all(|(name, condition)| found.get(name) == Some(condition))
}

/// Amounts by resource. One that the node had and has no more is zero, as with a kubelet whose device plugin is gone for
/// good.
fn amounts(now: &BTreeMap<String, String>, before: &Value) -> Map<String, Value> {
    let gone = before.as_object().into_iter().flatten().filter(|(resource, _)| !now.contains_key(*resource));
    let gone = gone.map(|(resource, _)| (resource.clone(), json!("0")));
    now.iter().map(|(resource, amount)| (resource.clone(), json!(amount))).chain(gone).collect()
}

fn addresses(facts: &NodeFacts<'_>) -> Vec<Value> {
    let own = facts.host.addresses.iter().map(|address| json!({ "type": "InternalIP", "address": address }));
    own.chain([json!({ "type": "Hostname", "address": facts.name })]).collect()
}

fn condition(kind: &str, status: &str, reason: &str, message: &str, before: &Value, now: &str) -> Value {
    let conditions = before["conditions"].as_array().into_iter().flatten();
    let same =
        conditions.into_iter().find(|condition| condition["type"] == kind && condition["status"] == status);
    let since = same.and_then(|condition| condition["lastTransitionTime"].as_str()).unwrap_or(now);
    json!({
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": now,
        "lastTransitionTime": since,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::has_conditions;

    #[test]
    fn a_condition_that_a_controller_has_written_is_another() {
        let ready = |status, reason, time| json!({"type": "Ready", "status": status, "reason": reason, "lastHeartbeatTime": time});
        let network = json!({"type": "NetworkUnavailable", "status": "False", "reason": "Route"});
        let sent = json!({"conditions": [ready("True", "KubeletReady", "1")]});
        for (found, expected) in [
            (json!({"conditions": [network, ready("True", "KubeletReady", "2")]}), true),
            (json!({"conditions": [ready("Unknown", "NodeStatusUnknown", "1")]}), false),
            (json!({"conditions": [network]}), false),
            (json!({}), false),
        ] {
            assert_eq!(has_conditions(&found, &sent), expected, "{found}");
        }
    }
}
