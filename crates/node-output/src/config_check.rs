//! A check of a configuration as a document: findings with their lines, and what is proposed.

use std::collections::BTreeMap;

use claim_advice::ForbiddenPair;
use config_advice::{Change, DecidedBy, Severity, Trial};
use serde::Serialize;
use serde_json::Value;
use topology_manifest::{ConfigKind, Warning};

/// A check, as it is written.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfigCheck {
    pub(crate) machine: String,
    pub(crate) configuration: String,
    /// The kubelet release whose rules apply; documents name it themselves.
    #[serde(skip)]
    pub(crate) rules_of: String,
    /// Which pods hold something on the node, by which files, as text to be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) beside: Option<String>,
    /// For whom it is proposed.
    #[serde(rename = "for")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::decided_by"))]
    pub(crate) target: DecidedBy,
    /// Most harmful first.
    pub(crate) findings: Vec<ConfigFinding>,
    /// In what the proposal differs.
    pub(crate) changes: Vec<Change>,
    /// What else has to be known of the proposal.
    pub(crate) notes: Vec<String>,
    /// What became of ordinary pods under the configuration that is checked; `None`: a kubelet does not start with it.
    #[serde(skip)]
    pub(crate) trial: Option<Trial>,
    /// A `KubeletConfiguration` of all fields that decide on resources.
    pub(crate) proposal: Value,
}

impl ConfigCheck {
    /// Of a configuration on a machine, both by name, for a program that runs with what is proposed; `rules_of` is the
    /// release whose rules apply, as in `v1.36.3`.
    #[must_use]
    pub fn new(machine: &str, configuration: &str, rules_of: String, target: DecidedBy) -> Self {
        Self {
            machine: machine.to_owned(),
            configuration: configuration.to_owned(),
            rules_of,
            beside: None,
            target,
            findings: Vec::new(),
            changes: Vec::new(),
            notes: Vec::new(),
            trial: None,
            proposal: Value::Null,
        }
    }

    /// With what is wrong, most harmful first, and what became of ordinary pods under the configuration; `None`: a kubelet
    /// does not start with it.
    #[must_use]
    pub fn found(self, findings: Vec<ConfigFinding>, trial: Option<Trial>) -> Self {
        Self { findings, trial, ..self }
    }

    /// With what is proposed, a `KubeletConfiguration`, in what it differs, and what else has to be known of it, as text to
    /// be shown.
    #[must_use]
    pub fn proposing(self, proposal: Value, changes: Vec<Change>, notes: Vec<String>) -> Self {
        Self { changes, notes, proposal, ..self }
    }

    /// With the pods that hold something on the node, by which files, as text to be shown.
    #[must_use]
    pub fn beside(self, beside: Option<String>) -> Self {
        Self { beside, ..self }
    }

    /// What is wrong, most harmful first.
    #[must_use]
    pub fn findings(&self) -> &[ConfigFinding] {
        &self.findings
    }

    /// What else has to be known, as text to be shown.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The release whose rules apply.
    #[must_use]
    pub fn rules_of(&self) -> &str {
        &self.rules_of
    }
}

/// One thing about a configuration.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Finding"))]
#[serde(rename_all = "camelCase")]
pub struct ConfigFinding {
    /// The field that it is about.
    pub(crate) field: String,
    /// Which of several files it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// Where the field is in the file; absent if it is not written there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    #[serde(rename = "problem")]
    pub(crate) severity: Severity,
    /// The kubelet's words where it has some.
    pub(crate) text: String,
    /// What makes it go away; absent if nothing is known to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expected: Option<Expected>,
}

/// What makes a finding go away.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum Expected {
    /// All of these fields together; `null`: the field is left out.
    Fields(BTreeMap<String, Value>),
    /// What is to be written there.
    Text(String),
}

impl ConfigFinding {
    /// A fault of the configuration whose text is `text`.
    #[must_use]
    pub fn new(finding: config_advice::Finding, text: &str) -> Self {
        let config_advice::Finding { field, cause, remedy } = finding;
        Self {
            field: field.to_owned(),
            file: None,
            line: line_of(field, text),
            severity: cause.severity(),
            text: cause.to_string(),
            expected: (!remedy.is_empty()).then_some(Expected::Fields(remedy)),
        }
    }

    /// Something in a file of the configuration `name` that the kubelet ignores.
    #[must_use]
    pub fn without_effect(warning: &Warning, name: &str) -> Self {
        Self::of_warning(Severity::WithoutEffect, warning, name)
    }

    /// A flag over the configuration `name`.
    #[must_use]
    pub fn of_flag(severity: Severity, warning: &Warning, name: &str) -> Self {
        Self::of_warning(severity, warning, name)
    }

    /// Something in a file of the configuration `name` that decides too, and is not read.
    #[must_use]
    pub fn not_known(warning: &Warning, name: &str) -> Self {
        Self::of_warning(Severity::NotKnown, warning, name)
    }

    /// Whether a kubelet starts is not known, for this reason.
    #[must_use]
    pub fn start_not_known(field: &str, why: String, text: &str) -> Self {
        Self {
            field: field.to_owned(),
            file: None,
            line: line_of(field, text),
            severity: Severity::NotKnown,
            text: why,
            expected: None,
        }
    }

    /// An option of topolet's own that a node has, on which a kubelet decides.
    #[must_use]
    pub fn of_option(option: &str, text: String, help: &str) -> Self {
        Self {
            field: option.to_owned(),
            file: None,
            line: None,
            severity: Severity::WithoutEffect,
            text,
            expected: Some(Expected::Text(help.to_owned())),
        }
    }

    /// Something about the node's state files, with what makes it go away, if that is known.
    #[must_use]
    pub fn of_state(severity: Severity, text: String, help: Option<&str>) -> Self {
        Self {
            field: STATE.to_owned(),
            file: None,
            line: None,
            severity,
            text,
            expected: help.map(|help| Expected::Text(help.to_owned())),
        }
    }

    /// Two programs of the node that give out the same, under the configuration whose text is `text`.
    #[must_use]
    pub fn of_pair(pair: &ForbiddenPair, text: &str) -> Self {
        let field = match pair {
            ForbiddenPair::Cpus { .. } => "cpuManagerPolicy",
            ForbiddenPair::Resource { .. } => PLUGINS,
        };
        Self {
            field: field.to_owned(),
            file: None,
            line: line_of(field, text),
            severity: Severity::Harmful,
            text: pair.to_string(),
            expected: Some(Expected::Text(pair.remedy())),
        }
    }

    /// The field that it is about; `state` where it is about state files.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// How harmful it is.
    #[must_use]
    pub const fn severity(&self) -> Severity {
        self.severity
    }

    /// In the kubelet's words where it has some.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The fields that are to be written so that it goes away; its own where that is not known.
    #[must_use]
    pub fn fields(&self) -> Vec<String> {
        match &self.expected {
            Some(Expected::Fields(fields)) => fields.keys().cloned().collect(),
            _ => vec![self.field.clone()],
        }
    }

    fn of_warning(severity: Severity, warning: &Warning, name: &str) -> Self {
        let error = warning.as_error();
        let (field, expected) = match error.problem() {
            topology_manifest::Problem::MisspeltField { found, meant } => (found.as_str(), Some(*meant)),
            topology_manifest::Problem::UnknownField { found, .. } => (found.as_str(), None),
            other => (error.field(), other.expected()),
        };
        Self {
            field: field.to_owned(),
            file: Some(error.file().to_owned()).filter(|file| file != name),
            line: Some(error.line()),
            severity,
            text: error.problem().to_string(),
            expected: expected.map(|text| Expected::Text(text.to_owned())),
        }
    }
}

/// The configuration that a proposal is for, as it is written.
#[derive(Clone, Copy, Debug)]
pub struct GivenConfig<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Empty for one that is built in.
    pub text: &'a str,
    /// Who makes the kubelet's own file of it.
    pub kind: ConfigKind,
    /// Whether what is proposed is printed as the fields of such a file, of a form that others read the same way.
    pub is_in_form: bool,
    /// Whether flags with which the kubelet does not start are taken out of what is printed.
    pub loses_flags: bool,
}

/// What findings on device plugins are about, in the place of a field.
const PLUGINS: &str = "device plugins";

/// What findings on state files are about, in the place of a field.
const STATE: &str = "state";

/// The line that writes a field, from 1.
fn line_of(field: &str, text: &str) -> Option<usize> {
    let writes = |line: &str| {
        line.split([',', '{', ' ', '\t']).any(|word| {
            let name = word.strip_suffix(':').or_else(|| word.split_once(':').map(|(name, _)| name));
            name.is_some_and(|name| name.trim_matches(['"', '\'']) == field)
        })
    };
    let not_comment = |line: &str| line.split('#').next().unwrap_or_default().to_owned();
    text.lines().position(|line| writes(&not_comment(line))).map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_in_the_file() {
        let text = "a: 1 # cpuManagerPolicy: no\n{\"cpuManagerPolicy\": \"static\",\n  maxPods: 1, podsPerCore: 2}\n- evictionHard:\n";
        for (field, line) in [
            ("cpuManagerPolicy", Some(2)),
            ("maxPods", Some(3)),
            ("podsPerCore", Some(3)),
            ("evictionHard", Some(4)),
            ("cgroupRoot", None),
        ] {
            assert_eq!(line_of(field, text), line, "{field}");
        }
    }
}
