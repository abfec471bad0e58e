//! What is wrong with the nodes of a support bundle, as a document.

use admission_report::{KubeletRefusal, Report};
use config_advice::Severity;
use node_state::{FindingLine, Problem, Restart};
use serde::Serialize;

use crate::config_check::ConfigFinding;
use crate::node_line::NodeLine;

/// What a bundle tells of its nodes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    /// The paths that were read.
    pub bundles: Vec<DiagnosedPath>,
    /// What could not be read, or not wholly, as text to be shown.
    pub remarks: Vec<String>,
    /// The nodes that are looked into, by name.
    pub nodes: Vec<NodeDiagnosis>,
    /// Names of nodes of which only objects tell, and where no pod was refused.
    pub other_nodes: Vec<String>,
}

/// A path that was read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiagnosedPath {
    /// As it was given.
    pub path: String,
    /// What it is: `must-gather`, `sosreport`, `cluster-info dump`, `node file` or `files`.
    pub form: String,
    /// Files in it, those of archives too.
    pub files: u64,
}

/// What a bundle tells of one node.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeDiagnosis {
    /// What it is called; absent: nothing says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The kubelet release whose rules apply, and what names it.
    pub kubelet: NamedRelease,
    /// What the bundle has of it.
    pub found: Vec<FoundPart>,
    /// What it has not, and what gives it.
    pub missing: Vec<MissingPart>,
    /// In what the bundle contradicts itself about it, as text to be shown.
    pub contradictions: Vec<String>,
    /// What else has to be known of the answers, as text to be shown.
    pub notes: Vec<String>,
    /// Its machine and rules; absent: a kubelet does not start there, or one of both is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeLine>,
    /// What is wrong with its configuration; absent: it is not known, or no machine is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<ConfigDiagnosis>,
    /// What is wrong with its state files; absent: there are none, or no machine is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<StateDiagnosis>,
    /// Starts of its kubelet that failed, by its log; of the same error the last one.
    pub failed_starts: Vec<FailedStart>,
    /// Pods that it refused, by name.
    pub refused: Vec<RefusedPod>,
}

/// A kubelet release, and what names it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NamedRelease {
    /// The release whose rules apply, as in `v1.36.3`.
    pub rules_of: String,
    /// What names it, such as `by the Node object`.
    pub named_by: String,
}

/// A part of a node that a bundle has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FoundPart {
    /// Which: `machine`, `configuration`, `state`, `pods`, `static pods`, `devices`, `node object`, `log` or `events`.
    pub part: String,
    /// What is known by it, in a few words.
    pub what: String,
    /// The files.
    pub files: Vec<String>,
}

/// A part of a node that a bundle lacks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MissingPart {
    /// Which, as in [`FoundPart`].
    pub part: String,
    /// What gives it.
    pub next: String,
}

/// What is wrong with a configuration.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfigDiagnosis {
    /// What it is called.
    pub configuration: String,
    /// Most harmful first.
    pub findings: Vec<ConfigFinding>,
}

/// What is wrong with state files, and what the next start of the kubelet does with them.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StateDiagnosis {
    /// Most harmful first.
    pub findings: Vec<FindingLine>,
    /// What the next start does.
    pub restart: Restart,
}

/// A start of a kubelet that failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedStart {
    /// The kubelet's error.
    pub error: String,
    /// The last line that has it.
    pub seen: Sighting,
    /// What helps, as text to be shown; absent: the error alone does not tell it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// A pod that a kubelet refused.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RefusedPod {
    /// `NAMESPACE/NAME`.
    pub pod: String,
    /// The kubelet's reason and message.
    pub said: KubeletRefusal,
    /// What tells of it.
    pub seen: Vec<Sighting>,
    /// The decision on it beside what runs there; absent: it could not be decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Report>,
    /// The decision as a picture, where it was asked for.
    #[serde(skip)]
    pub picture: Option<Box<machine_picture::svg::Decision>>,
    /// Why it could not be decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_decided: Option<String>,
    /// What has to be known of the decision, as text to be shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Where a fact stands.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sighting {
    /// What tells it.
    pub by: SightedBy,
    /// The file.
    pub file: String,
    /// The line of a log, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// When, as it is written there; absent: no time is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// How often; of several the last one is named.
    pub count: usize,
}

/// What tells of a refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum SightedBy {
    /// The pod's status.
    Status,
    /// An event.
    Event,
    /// A line of the kubelet's log.
    Log,
}

impl SightedBy {
    /// It in a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Event => "event",
            Self::Log => "log",
        }
    }
}

impl ConfigDiagnosis {
    /// Whether a kubelet does not start with it, or runs to its harm.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        let harms =
            |finding: &ConfigFinding| matches!(finding.severity(), Severity::Refused | Severity::Harmful);
        self.findings.iter().any(harms)
    }
}

impl StateDiagnosis {
    /// Whether the kubelet does not go on from it as it was.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        self.restart.is_wrong() || self.findings.iter().any(|finding| finding.problem != Problem::Odd)
    }
}

impl NodeDiagnosis {
    /// Whether anything is wrong with the node, or a pod was refused there.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        let Self { contradictions, configuration, state, failed_starts, refused, .. } = self;
        !(contradictions.is_empty() && failed_starts.is_empty() && refused.is_empty())
            || configuration.as_ref().is_some_and(ConfigDiagnosis::is_wrong)
            || state.as_ref().is_some_and(StateDiagnosis::is_wrong)
    }
}

impl Diagnosis {
    /// Whether nothing that was read tells of a node.
    #[must_use]
    pub const fn tells_nothing(&self) -> bool {
        self.nodes.is_empty() && self.other_nodes.is_empty()
    }

    /// Whether anything is wrong with a node.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        self.nodes.iter().any(NodeDiagnosis::is_wrong)
    }
}
