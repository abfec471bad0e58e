//! A condition of a node, in the shape of `metav1.Condition`.

use serde::Serialize;

/// Whether something about a node that is served is as it should be.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeCondition {
    /// What is checked, such as `LeaseRenewed`. `True` is what should be.
    #[serde(rename = "type")]
    pub kind: String,
    /// What of several it is about: the path of a socket, a cgroup, a container; absent: the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    /// The cause in one word.
    pub reason: &'static str,
    /// The cause in one sentence; empty where the status is `True`.
    pub message: String,
    /// When the status became what it is, in UTC.
    pub last_transition_time: String,
}
