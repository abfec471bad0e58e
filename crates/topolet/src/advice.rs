//! Advice on configurations as it is written: findings with their lines, and proposals as files.

pub(crate) mod profile;
pub(crate) mod settings;

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use config_advice::{Change, DecidedBy, Severity, Trial, merge_patch};
use node_config::KubeletConfiguration;
use serde::Serialize;
use serde_json::Value;
use topology_manifest::{ConfigKind, FieldChange, Source, Warning, patch_kubelet_config};

/// A check, as it is written.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub(crate) struct Checked {
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
    #[cfg_attr(feature = "serve", schemars(schema_with = "node_output::schema::decided_by"))]
    pub(crate) target: DecidedBy,
    /// Most harmful first.
    pub(crate) findings: Vec<Finding>,
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

/// One thing about a configuration.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Finding {
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
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum Expected {
    /// All of these fields together; `null`: the field is left out.
    Fields(BTreeMap<String, Value>),
    /// What is to be written there.
    Text(String),
}

impl Finding {
    /// A fault of the configuration whose text is `text`.
    pub(crate) fn new(finding: config_advice::Finding, text: &str) -> Self {
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
    pub(crate) fn without_effect(warning: &Warning, name: &str) -> Self {
        Self::of_warning(Severity::WithoutEffect, warning, name)
    }

    /// Something in a file of the configuration `name` that decides too, and is not read.
    pub(crate) fn not_known(warning: &Warning, name: &str) -> Self {
        Self::of_warning(Severity::NotKnown, warning, name)
    }

    /// Whether a kubelet starts is not known, for this reason.
    pub(crate) fn start_not_known(field: &str, why: String, text: &str) -> Self {
        Self {
            field: field.to_owned(),
            file: None,
            line: line_of(field, text),
            severity: Severity::NotKnown,
            text: why,
            expected: None,
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
pub(crate) struct Given<'a> {
    pub(crate) name: &'a str,
    /// Empty for one that is built in.
    pub(crate) text: &'a str,
    /// Who makes the kubelet's own file of it.
    pub(crate) kind: ConfigKind,
}

impl Given<'_> {
    /// What else can be done.
    const fn otherwise(&self) -> &'static str {
        if matches!(self.kind, ConfigKind::OpenShift) {
            "without --propose the changes are listed"
        } else {
            "--drop-in prints the changes alone, which need not be written into it"
        }
    }
}

/// The given text with `changes` made in place, which is then `read` as the proposal; of one that is built in, all that
/// decides.
pub(crate) fn whole_file(
    given: Given<'_>,
    proposal: &KubeletConfiguration,
    changes: &[Change],
    read: impl Fn(&str) -> anyhow::Result<KubeletConfiguration>,
) -> anyhow::Result<String> {
    if given.text.is_empty() {
        return Ok(serde_saphyr::to_string(proposal)?);
    }
    let change = |change: &Change| FieldChange { field: change.field.clone(), value: change.to.clone() };
    let changes: Vec<FieldChange> = changes.iter().map(change).collect();
    let patched = patch_kubelet_config(&Source { name: given.name, text: given.text }, &changes)
        .with_context(|| {
            format!("failed to write the proposal into {}; {}", given.name, given.otherwise())
        })?;
    ensure!(
        serde_json::to_value(read(&patched)?)? == serde_json::to_value(proposal)?,
        "failed to write the proposal into {}: it would be read otherwise; {}",
        given.name,
        given.otherwise()
    );
    Ok(patched)
}

/// The changed fields alone, as a file of the kubelet's drop-in folder. The kubelet merges it as a JSON merge patch:
/// mappings key by key, lists as a whole, and `null` removes.
pub(crate) fn drop_in(changes: &[Change]) -> anyhow::Result<String> {
    let fields = merge_patch(changes);
    let head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
    let rest = if fields.is_empty() { String::new() } else { serde_saphyr::to_string(&fields)? };
    Ok(format!("{head}{rest}"))
}

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
