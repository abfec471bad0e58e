//! What is wrong with a configuration, and what is proposed.

use config_advice::{DecidedBy, Severity, Trial};
use serde_json::Value;
use terminal_text::Page;
use topology_manifest::ConfigKind;

use crate::config_check::{ConfigCheck, Expected, GivenConfig};

/// The check for a person; `snippet` is what is proposed for the `given` text, as a file.
#[must_use]
pub fn config_check(checked: &ConfigCheck, given: GivenConfig<'_>, snippet: &str, page: Page) -> String {
    let dot = page.dot();
    let ConfigCheck { machine, configuration, rules_of, beside, findings, changes, .. } = checked;
    let head = format!("{machine} {dot} configuration {configuration} {dot} rules of kubelet {rules_of}");
    let mut text = page.wrapped(&head, 2);
    text.extend(beside.iter().map(|beside| format!("{beside}\n")));
    text.push('\n');
    for finding in findings {
        let (mark, what) = match finding.severity {
            Severity::Refused => (page.no(), "the kubelet does not start"),
            Severity::NotKnown => ("!", "not known here"),
            Severity::WithoutEffect => ("!", "without effect"),
            Severity::Harmful => (page.no(), "harmful"),
            Severity::Doubtful => ("!", "probably a mistake"),
        };
        let file = finding.file.as_ref().map_or_else(String::new, |file| format!("{file}, "));
        let line = finding.line.map_or_else(String::new, |line| format!(" ({file}line {line})"));
        let field = if finding.field.is_empty() { "the file" } else { &finding.field };
        text.push_str(&format!("{mark} {field}{line}   {what}: {}\n", finding.text));
        text.push_str(&expected(finding.expected.as_ref()));
    }
    if findings.is_empty() {
        let whom = match checked.target {
            DecidedBy::Kubelet => {
                let pods = admitted(checked.trial.as_ref());
                if checked.trial.as_ref().is_some_and(|trial| !trial.restarts) {
                    format!("a kubelet starts with it on this machine and admits {pods}")
                } else {
                    format!(
                        "a kubelet starts with it on this machine, admits {pods}, and restarts with the node full"
                    )
                }
            }
            DecidedBy::Topolet => "topolet starts with it on this machine".to_owned(),
        };
        text.push_str(&format!("{} {whom}\n", page.yes()));
    }
    // A profile has more than the kubelet's configuration.
    let of_profile = given.kind == ConfigKind::PerformanceProfile && !snippet.is_empty();
    if changes.is_empty() && of_profile {
        text.push_str(&notes(&checked.notes));
        text.push_str("\nproposed for the profile (--propose prints the whole file with it):\n\n");
        return filled(page, &text) + snippet;
    }
    if changes.is_empty() {
        text.push_str("\nNothing else is proposed.\n");
        if !given.loses_flags {
            return filled(page, &(text + &notes(&checked.notes)));
        }
    } else {
        text.push_str("\nproposed, so that as much as possible is pinned:\n");
    }
    let rows = changes.iter().map(|change| {
        let or_nothing = |value: &Option<Value>| value.as_ref().map_or_else(|| "(nothing)".to_owned(), flow);
        // One cell, so that the arrow is beside its value where the columns do not fit beside each other.
        let to = format!("{}  {}", page.arrow(), or_nothing(&change.to));
        vec![change.field.clone(), or_nothing(&change.from), to]
    });
    text.push_str(&page.columns(rows, "  "));
    text.push_str(&notes(&checked.notes));
    text.push_str(match given.kind {
        ConfigKind::PerformanceProfile => {
            "\nOpenShift's node tuning operator makes the kubelet's configuration of the profile, in which these are:\n\n"
        }
        ConfigKind::OpenShift => {
            text.push_str("\n--propose prints the KubeletConfig with these changes in it, for OpenShift's machine config operator\n");
            return filled(page, &text);
        }
        ConfigKind::Bottlerocket => {
            "\nas settings of Bottlerocket (--propose prints nothing else):\n\n"
        }
        ConfigKind::Flags => {
            "\nas flags, each in the place of those of its name; such flags are deprecated, and the file of --config takes the \
             fields too:\n\n"
        }
        _ if given.text.is_empty() => {
            "\nas a file (--propose prints nothing else):\n\n"
        }
        ConfigKind::Eks => {
            "\nas a NodeConfig (--propose prints the whole file with it; --drop-in prints a file for the kubelet's folder of \
             drop-ins):\n\n"
        }
        ConfigKind::Talos | ConfigKind::TalosControlPlane => {
            "\nas a patch of the machine configuration (--propose prints the whole file with it):\n\n"
        }
        ConfigKind::K3s | ConfigKind::Rke2 if given.is_in_form => {
            "\nas the arguments of the file (--propose prints the whole file with them):\n\n"
        }
        ConfigKind::Part(_) if given.is_in_form => {
            "\nas the fields of the file (--propose prints the whole file with them):\n\n"
        }
        ConfigKind::K3s | ConfigKind::Rke2 => {
            "\nas a drop-in for agent/etc/kubelet.conf.d below the data folder of k3s or RKE2 (--drop-in prints nothing else):\n\n"
        }
        ConfigKind::Part(_) => "\nas a KubeletConfiguration, whose fields go into the file:\n\n",
        ConfigKind::Kubelet => {
            "\nas a drop-in for --config-dir (--drop-in prints nothing else; --propose prints the whole file with it):\n\n"
        }
    });
    // The file stays as it is: it is copied.
    filled(page, &text) + snippet
}

/// What is expected: below a finding.
const LABELS: [&str; 2] = ["  expected    ", "  and         "];

/// The lines that fit the page. A finding goes on below its field, what is expected below its value, and a note below its text.
fn filled(page: Page, text: &str) -> String {
    let line = |line: &str| {
        let indent = if LABELS.iter().any(|label| line.starts_with(label)) {
            LABELS.iter().map(|label| label.len()).max().unwrap_or_default()
        } else if [page.no(), page.yes(), "!"].iter().any(|mark| line.starts_with(&format!("{mark} "))) {
            2
        } else {
            line.len() - line.trim_start().len()
        };
        page.wrapped(line, indent)
    };
    text.lines().map(line).collect()
}

/// The ordinary pods that an empty node admits.
fn admitted(trial: Option<&Trial>) -> String {
    match trial {
        Some(Trial { admitted, refused, memory, .. }) if !refused.is_empty() => {
            let cpus: Vec<String> = admitted.iter().map(ToString::to_string).collect();
            let unit = if cpus == ["1"] { "CPU" } else { "CPUs" };
            format!("Guaranteed pods of {} {unit} and {memory}", cpus.join(", "))
        }
        _ => "ordinary pods".to_owned(),
    }
}

/// What makes a finding go away: each field as it is to be written.
pub(crate) fn expected(expected: Option<&Expected>) -> String {
    match expected {
        None => String::new(),
        Some(Expected::Text(text)) => format!("  expected    {text}\n"),
        Some(Expected::Fields(fields)) => {
            let line = |(at, (field, value)): (usize, (&String, &Value))| {
                let label = if at == 0 { "expected" } else { "and" };
                match value {
                    Value::Null => format!("  {label:<10}  {field} left out\n"),
                    value => format!("  {label:<10}  {field}: {}\n", flow(value)),
                }
            };
            fields.iter().enumerate().map(line).collect()
        }
    }
}

fn notes(notes: &[String]) -> String {
    let lines: String = notes.iter().map(|note| format!("! {note}\n")).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

/// A value in one line, as YAML has it.
fn flow(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|(name, value)| format!("{name}: {}", flow(value))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        // What would be read as something else is in quotes.
        Value::String(text)
            if text.is_empty() || text.parse::<f64>().is_ok() || text.parse::<bool>().is_ok() =>
        {
            format!("{text:?}")
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
