//! The Node object: what a kubelet creates, and what it changes of one that is there.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use node_config::RegisteredTaint;
use serde_json::{Map, Value, json};

/// What a kubelet reads of the host that it runs on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HostFacts {
    /// `/etc/machine-id`.
    pub machine_id: String,
    /// The UUID of the system; may be empty.
    pub system_uuid: String,
    /// Another one after each boot.
    pub boot_id: String,
    /// Of the kernel, as `uname -r` prints it.
    pub kernel: String,
    /// `PRETTY_NAME` of the distribution.
    pub os_image: String,
    /// As Go calls it: `amd64`.
    pub architecture: String,
    /// Addresses at which it is reached, the first before all.
    pub addresses: Vec<String>,
}

/// All that a Node object says.
#[derive(Clone, Debug)]
pub struct NodeFacts<'a> {
    /// Its name.
    pub name: &'a str,
    /// Further labels, beside a kubelet's.
    pub labels: &'a BTreeMap<String, String>,
    /// Taints of an object that is created.
    pub taints: &'a [RegisteredTaint],
    /// The host.
    pub host: &'a HostFacts,
    /// The version of Kubernetes whose kubelet this is, as `v1.36.3`.
    pub kubelet_version: &'a str,
    /// What runs containers, as `containerd://2.0`.
    pub runtime: &'a str,
    /// What the node has, by resource, as quantities.
    pub capacity: BTreeMap<String, String>,
    /// What of it pods may have.
    pub allocatable: BTreeMap<String, String>,
}

/// The labels of a node: a kubelet's, and others.
#[must_use]
pub fn labels(facts: &NodeFacts<'_>) -> BTreeMap<String, String> {
    let own = of_kubelet(facts).map(|(key, value)| (key.to_owned(), value.to_owned()));
    facts.labels.clone().into_iter().chain(own).collect()
}

fn of_kubelet<'a>(facts: &NodeFacts<'a>) -> [(&'static str, &'a str); 5] {
    let architecture = facts.host.architecture.as_str();
    [
        ("kubernetes.io/hostname", facts.name),
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", architecture),
        ("beta.kubernetes.io/os", "linux"),
        ("beta.kubernetes.io/arch", architecture),
    ]
}

/// The object of a node that the API server does not know yet, with `status`.
#[must_use]
pub fn registered(facts: &NodeFacts<'_>, status: &Value) -> Value {
    let taints = facts.taints.iter().map(|taint| {
        let RegisteredTaint { key, value, effect } = taint;
        let mut taint = json!({ "key": key, "effect": effect });
        if !value.is_empty() {
            taint["value"] = json!(value);
        }
        taint
    });
    let taints: Vec<Value> = taints.collect();
    let spec = if taints.is_empty() { json!({}) } else { json!({ "taints": taints }) };
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": { "name": facts.name, "labels": labels(facts) },
        "spec": spec,
        "status": status,
    })
}

/// A merge patch that gives an object its labels; what others have written stays. `None`: it has them.
#[must_use]
pub fn relabelled(facts: &NodeFacts<'_>, object: &Value) -> Option<Value> {
    let there = &object["metadata"]["labels"];
    let missing = labels(facts).into_iter().filter(|(key, value)| {
        let is_ours = of_kubelet(facts).iter().any(|(own, _)| own == key);
        // Changes of the other labels by other writers stay.
        if is_ours { there[key.as_str()] != value.as_str() } else { there[key.as_str()].is_null() }
    });
    let missing: Map<String, Value> = missing.map(|(key, value)| (key, json!(value))).collect();
    (!missing.is_empty()).then(|| json!({ "metadata": { "labels": missing } }))
}
