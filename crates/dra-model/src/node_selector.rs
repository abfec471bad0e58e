//! Selection of nodes by labels and name, as it is written.

use alloc::string::String;
use alloc::vec::Vec;

/// The nodes of a slice or of a device. Valid ones have exactly one of the three.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeSelection {
    /// `nodeName`: this node alone.
    pub node_name: Option<String>,
    /// `nodeSelector`: the nodes with these labels or names.
    pub node_selector: Option<NodeSelector>,
    /// `allNodes`: every node.
    pub all_nodes: Option<bool>,
}

/// Which nodes: those for which one of the terms holds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeSelector {
    /// Slices and devices have exactly one.
    pub terms: Vec<NodeSelectorTerm>,
}

/// Requirements that must hold together. One without any holds for no node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeSelectorTerm {
    /// `matchExpressions`: on labels.
    pub labels: Vec<NodeSelectorRequirement>,
    /// `matchFields`: on fields; the only one there is, is `metadata.name`.
    pub fields: Vec<NodeSelectorRequirement>,
}

/// A requirement on one label or field.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct NodeSelectorRequirement {
    /// Of which key.
    pub key: String,
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`, or what was written in their place.
    pub operator: String,
    /// With which the value is compared.
    pub values: Vec<String>,
}

impl NodeSelector {
    /// The node of this name alone, as an allocation says it.
    #[must_use]
    pub fn of_node(name: &str) -> Self {
        let requirement = NodeSelectorRequirement {
            key: "metadata.name".into(),
            operator: "In".into(),
            values: [String::from(name)].into(),
        };
        Self { terms: [NodeSelectorTerm { labels: Vec::new(), fields: [requirement].into() }].into() }
    }
}
