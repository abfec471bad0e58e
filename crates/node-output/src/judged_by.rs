//! By what a node and its files are judged, in a line.

use serde::Serialize;
use terminal_text::Page;

use crate::node_line::NodeLine;

/// By what a node and its files are judged.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum JudgedBy {
    /// By machine and rules.
    Configured(NodeLine),
    /// No configuration is known.
    Bare(BareNode),
}

/// A node of which no configuration is known.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BareNode {
    /// What the machine is called; absent: the machine of these files is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The kubelet release whose answers these are; documents name it themselves.
    #[serde(skip)]
    pub rules_of: String,
}

impl JudgedBy {
    /// By the files and the machine of this line.
    #[must_use]
    pub fn files_and_machine(line: &NodeLine) -> Self {
        Self::Bare(BareNode { machine: Some(line.machine.clone()), rules_of: line.rules_of.clone() })
    }

    /// By the files alone, read as by a kubelet of this line's release.
    #[must_use]
    pub fn files_alone(line: &NodeLine) -> Self {
        Self::Bare(BareNode { machine: None, rules_of: line.rules_of.clone() })
    }

    /// The kubelet release whose answers these are.
    #[must_use]
    pub fn rules_of(&self) -> &str {
        match self {
            Self::Configured(line) => &line.rules_of,
            Self::Bare(bare) => &bare.rules_of,
        }
    }

    /// Whether the kubelet's configuration is known.
    #[must_use]
    pub const fn is_configured(&self) -> bool {
        matches!(self, Self::Configured(_))
    }

    /// Whether a machine is known.
    #[must_use]
    pub const fn has_machine(&self) -> bool {
        !matches!(self, Self::Bare(BareNode { machine: None, .. }))
    }

    /// The first line of all output, ending in a newline.
    #[must_use]
    pub fn headline(&self, page: Page) -> String {
        let dot = page.dot();
        match self {
            Self::Configured(line) => line.headline(page),
            Self::Bare(BareNode { machine, rules_of }) => {
                let machine = machine.as_deref().unwrap_or("machine not named");
                let all = format!("{machine} {dot} rules of kubelet {rules_of} {dot} no configuration");
                page.wrapped(&all, 2)
            }
        }
    }
}

impl From<NodeLine> for JudgedBy {
    fn from(line: NodeLine) -> Self {
        Self::Configured(line)
    }
}
