//! What kube-scheduler and its extenders say to each other: `k8s.io/kube-scheduler/extender/v1`, whose fields have the names
//! that they have in Go.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A pod, and the nodes that are in question: by name, or as objects where the extender is not `nodeCacheCapable`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ExtenderArgs {
    pub(crate) pod: Value,
    #[serde(default)]
    pub(crate) nodes: Option<NodeList>,
    #[serde(default)]
    pub(crate) node_names: Option<Vec<String>>,
}

/// Nodes as objects.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct NodeList {
    #[serde(default)]
    pub(crate) items: Vec<Value>,
    /// `metadata` and the like.
    #[serde(flatten)]
    pub(crate) others: serde_json::Map<String, Value>,
}

impl ExtenderArgs {
    /// The nodes by name, in the order in which they came.
    pub(crate) fn names(&self) -> Vec<String> {
        match (&self.node_names, &self.nodes) {
            (Some(names), _) => names.clone(),
            (None, Some(nodes)) => nodes.items.iter().map(name_of).collect(),
            (None, None) => Vec::new(),
        }
    }
}

pub(crate) fn name_of(node: &Value) -> String {
    node["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

/// Which nodes are left.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ExtenderFilterResult {
    pub(crate) nodes: Option<NodeList>,
    pub(crate) node_names: Option<Vec<String>>,
    /// Why the others are not, by name.
    pub(crate) failed_nodes: BTreeMap<String, String>,
    /// Those that no preemption makes fit.
    pub(crate) failed_and_unresolvable_nodes: BTreeMap<String, String>,
    pub(crate) error: String,
}

/// How good a node is: 0 to 10.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct HostPriority {
    pub(crate) host: String,
    pub(crate) score: i64,
}

/// Which pods would be ended on which nodes for a pod.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ExtenderPreemptionArgs {
    pub(crate) pod: Value,
    /// Where the extender is not `nodeCacheCapable`.
    #[serde(default)]
    pub(crate) node_name_to_victims: Option<BTreeMap<String, Victims>>,
    #[serde(default)]
    pub(crate) node_name_to_meta_victims: Option<BTreeMap<String, MetaVictims>>,
}

/// Pods that would be ended on one node.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Victims {
    #[serde(default)]
    pub(crate) pods: Option<Vec<Value>>,
    #[serde(default, rename = "NumPDBViolations")]
    pub(crate) violations: i64,
}

/// The same by UID.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct MetaVictims {
    #[serde(default)]
    pub(crate) pods: Option<Vec<MetaPod>>,
    #[serde(default, rename = "NumPDBViolations")]
    pub(crate) violations: i64,
}

/// A pod by UID.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct MetaPod {
    #[serde(rename = "UID")]
    pub(crate) uid: String,
}

/// The nodes on which the pod fits after its victims have gone.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ExtenderPreemptionResult {
    pub(crate) node_name_to_meta_victims: BTreeMap<String, MetaVictims>,
}

impl ExtenderPreemptionArgs {
    /// The victims by UID.
    pub(crate) fn victims(self) -> BTreeMap<String, MetaVictims> {
        if let Some(victims) = self.node_name_to_meta_victims.filter(|victims| !victims.is_empty()) {
            return victims;
        }
        let meta = |victims: Victims| {
            let uid =
                |pod: &Value| MetaPod { uid: pod["metadata"]["uid"].as_str().unwrap_or_default().into() };
            let pods = victims.pods.map(|pods| pods.iter().map(uid).collect());
            MetaVictims { pods, violations: victims.violations }
        };
        let all = self.node_name_to_victims.unwrap_or_default().into_iter();
        all.map(|(node, victims)| (node, meta(victims))).collect()
    }
}
