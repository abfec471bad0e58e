//! What is proposed for a machine and a configuration.

use serde_json::Value;

/// One proposal.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) machine: String,
    pub(crate) configuration: String,
    /// The file that is printed, as the kubelet reads it.
    pub(crate) file: String,
    /// The file that it is for, and the changes as a drop-in; `None`: what it is for is no file of a kubelet.
    pub(crate) drop_in: Option<(String, String)>,
    /// The fields of it that decide.
    pub(crate) fields: Value,
    /// A line about it.
    pub(crate) notes: Vec<String>,
}
