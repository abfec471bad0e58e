//! A pod as the API server has it.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::Value;

/// The annotation of an object that stands for a static pod.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// A pod as the API server has it.
#[derive(Clone, PartialEq, Debug)]
pub struct PodObject(Value);

/// How far a pod has come by its object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// It runs, or is to.
    Active,
    /// It is deleted, and the API server waits for the node.
    Deleted,
    /// It has succeeded or failed.
    Ended,
}

impl PodObject {
    /// The object in JSON; `None`: it has no UID, by which pods are distinguished.
    #[must_use]
    pub fn new(object: Value) -> Option<Self> {
        let pod = Self(object);
        (!pod.uid().is_empty()).then_some(pod)
    }

    /// The object in JSON.
    #[must_use]
    pub const fn json(&self) -> &Value {
        &self.0
    }

    /// `metadata.uid`.
    #[must_use]
    pub fn uid(&self) -> &str {
        self.metadata("uid")
    }

    /// `metadata.namespace`.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.metadata("namespace")
    }

    /// `metadata.name`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.metadata("name")
    }

    /// `metadata.creationTimestamp`.
    #[must_use]
    pub fn created(&self) -> &str {
        self.metadata("creationTimestamp")
    }

    /// How far it has come.
    #[must_use]
    pub fn stage(&self) -> Stage {
        if self.0["metadata"]["deletionTimestamp"].is_string() {
            Stage::Deleted
        } else if is_terminal(self.phase()) {
            Stage::Ended
        } else {
            Stage::Active
        }
    }

    /// `status.phase`.
    #[must_use]
    pub fn phase(&self) -> &str {
        self.0["status"]["phase"].as_str().unwrap_or_default()
    }

    /// Whether its status says that a container of it has run.
    #[must_use]
    pub fn has_run(&self) -> bool {
        let statuses = self.0["status"]["containerStatuses"].as_array();
        statuses.into_iter().flatten().any(|status| status["containerID"].is_string())
    }

    /// Whether containers that end stay ended.
    #[must_use]
    pub fn never_restarts(&self) -> bool {
        self.restart_policy() == "Never"
    }

    /// Whether it stands for a static pod of a kubelet.
    #[must_use]
    pub fn is_mirror(&self) -> bool {
        self.0["metadata"]["annotations"][MIRROR].is_string()
    }

    /// Whether this is older than `other`. Versions that are no numbers cannot be compared: then it is not.
    #[must_use]
    pub fn is_older_than(&self, other: &Self) -> bool {
        let version = |pod: &Self| pod.metadata("resourceVersion").parse::<u64>().ok();
        version(self).zip(version(other)).is_some_and(|(own, other)| own < other)
    }

    pub(crate) fn generation(&self) -> Option<i64> {
        self.0["metadata"]["generation"].as_i64().filter(|generation| *generation > 0)
    }

    pub(crate) fn restart_policy(&self) -> &str {
        self.0["spec"]["restartPolicy"].as_str().unwrap_or("Always")
    }

    pub(crate) fn is_on_host_network(&self) -> bool {
        self.0["spec"]["hostNetwork"] == true
    }

    pub(crate) fn status(&self) -> &Value {
        &self.0["status"]
    }

    pub(crate) fn containers(&self) -> Vec<SpecContainer<'_>> {
        self.list("containers", |_| Part::App)
    }

    pub(crate) fn init_containers(&self) -> Vec<SpecContainer<'_>> {
        self.list("initContainers", |container| {
            if container["restartPolicy"] == "Always" { Part::Sidecar } else { Part::Init }
        })
    }

    /// The conditions that have to be true for the pod to be ready.
    pub(crate) fn readiness_gates(&self) -> impl Iterator<Item = &str> {
        let gates = self.0["spec"]["readinessGates"].as_array();
        gates.into_iter().flatten().filter_map(|gate| gate["conditionType"].as_str())
    }

    fn list(&self, field: &str, part: impl Fn(&Value) -> Part) -> Vec<SpecContainer<'_>> {
        let containers = self.0["spec"][field].as_array().into_iter().flatten();
        let each = containers.map(|container| SpecContainer {
            name: container["name"].as_str().unwrap_or_default(),
            image: container["image"].as_str().unwrap_or_default(),
            part: part(container),
            resources: &container["resources"],
        });
        each.collect()
    }

    fn metadata(&self, field: &str) -> &str {
        self.0["metadata"][field].as_str().unwrap_or_default()
    }
}

/// A container of a pod's manifest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SpecContainer<'a> {
    pub(crate) name: &'a str,
    pub(crate) image: &'a str,
    pub(crate) part: Part,
    /// Null if the manifest has none.
    pub(crate) resources: &'a Value,
}

/// When a container runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Init,
    Sidecar,
    App,
}

/// Whether a phase is one that a pod does not leave.
pub(crate) fn is_terminal(phase: &str) -> bool {
    matches!(phase, "Succeeded" | "Failed")
}

/// The value as text; empty where there is none.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
