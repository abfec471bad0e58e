//! State files: what they say, and what is wrong with them.

use node_state::{FindingLine, Problem, RefusedAgain, Restart, RestartOutcome};
use serde::Serialize;
use terminal_text::Page;

use crate::RELEASE;
use crate::held::Shown;
use crate::judged_by::JudgedBy;
use crate::ranges::ranges;

/// All findings, as they are written.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StateCheck<'a> {
    /// Machine and rules; without a configuration the machine alone, and without one nothing.
    node: &'a JudgedBy,
    findings: &'a [FindingLine],
    /// What the next restart of the kubelet does.
    restart: &'a Restart,
    /// What else has to be known of the files, as text to be shown.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'a [&'a str],
}

impl<'a> StateCheck<'a> {
    /// What was found, most harmful first, what the next restart does, and what else has to be known, as text to be shown.
    #[must_use]
    pub const fn new(
        node: &'a JudgedBy,
        findings: &'a [FindingLine],
        restart: &'a Restart,
        notes: &'a [&'a str],
    ) -> Self {
        Self { node, findings, restart, notes }
    }
}

/// The files and a table of what each container holds.
#[must_use]
pub fn shown(shown: &Shown, page: Page) -> String {
    let files = shown.files.iter().map(|line| vec![line.file.to_owned(), line.contents.clone()]);
    let mut text = format!("kubelet state {} rules of kubelet {RELEASE}\n", page.dot());
    text.push_str(&page.columns(files, ""));
    for quarantined in shown.quarantined.values() {
        let kept = quarantined.kept();
        let (no, name, why) = (page.no(), &quarantined.name, &quarantined.why);
        text.push_str(&page.wrapped(&format!("{no} {name} is quarantined since a repair: {why}{kept}"), 2));
    }
    if shown.containers.is_empty() {
        let unreadable: Vec<&str> =
            shown.files.iter().filter(|line| !line.readable).map(|line| line.file).collect();
        text.push_str(&match unreadable.as_slice() {
            [] => "\nNo container holds exclusive CPUs, memory or devices.\n".to_owned(),
            files => {
                let text = format!("What containers hold is not known: {} cannot be read.", files.join(", "));
                format!("\n{}", page.wrapped(&text, 0))
            }
        });
        return text;
    }
    text.push('\n');
    text.push_str(&holders(shown, page));
    text
}

/// A table of what each container holds.
#[must_use]
pub fn holders(shown: &Shown, page: Page) -> String {
    let head = ["POD", "CONTAINER", "CPUS", "MEMORY", "DEVICES"].map(str::to_owned).to_vec();
    // What a file would say that cannot be read is not known.
    let of_file = |at: usize, text: String| match shown.files.get(at) {
        Some(line) if !line.readable => "?".to_owned(),
        _ if text.is_empty() => "-".to_owned(),
        _ => text,
    };
    let rows = shown.containers.iter().map(|line| {
        let memory = line.held.memory.iter().map(|held| {
            let nodes = ranges(held.nodes.iter().copied());
            let amount = pod_spec::ResourceName::new(&held.resource).amount(held.bytes);
            let what = if held.resource == "memory" { String::new() } else { format!(" {}", held.resource) };
            format!("{amount}{what} on {nodes}")
        });
        let devices =
            line.held.devices.iter().map(|held| format!("{} {}", held.resource, held.ids.join(" ")));
        let container = if line.container.is_empty() { "(whole pod)" } else { &line.container };
        vec![
            line.pod.clone(),
            container.to_owned(),
            of_file(0, line.held.cpus.clone()),
            of_file(1, memory.collect::<Vec<_>>().join(", ")),
            of_file(2, devices.collect::<Vec<_>>().join(", ")),
        ]
    });
    page.columns(std::iter::once(head).chain(rows), "")
}

/// What was found, most harmful first, and what the next restart comes to.
#[must_use]
pub fn checked(findings: &[FindingLine], restart: &Restart, page: Page) -> String {
    let wrong = findings.iter().filter(|finding| finding.problem != Problem::Odd).count();
    let wrong = wrong + restart.refused.len() + usize::from(restart.stopped.is_some());
    let mut text = String::new();
    for finding in findings {
        let mark = if finding.problem == Problem::Odd { "!" } else { page.no() };
        text.push_str(&page.wrapped(&format!("{mark} {}   {}", finding.file, finding.what), 4));
        let told = [("kubelet", &finding.kubelet), ("help", &finding.help)];
        text.push_str(&page.columns(told.map(|(who, said)| vec![who.to_owned(), said.clone()]), "  "));
        text.push('\n');
    }
    if let Some(why) = &restart.stopped {
        text.push_str(
            &page.wrapped(
                &format!("{} the kubelet does not start, whatever the files are: {why}", page.no()),
                4,
            ),
        );
        text.push('\n');
    }
    for RefusedAgain { pod, reason, message, cause, help, .. } in &restart.refused {
        let what = format!("{} {pod}   the next restart refuses it ({reason}): {cause}", page.no());
        text.push_str(&page.wrapped(&what, 4));
        let told = [("kubelet", message), ("help", help)];
        text.push_str(&page.columns(told.map(|(who, said)| vec![who.to_owned(), said.clone()]), "  "));
        text.push('\n');
    }
    text.push_str(&match (wrong, &restart.not_known) {
        (0, Some(why)) => page.wrapped(
            &format!(
                "! nothing wrong was found, but what the next restart of the kubelet does is not known: {why}"
            ),
            2,
        ),
        (0, None) => {
            format!("{} the kubelet starts from these files{}\n", page.yes(), admits(restart.admitted))
        }
        (1, _) => "1 thing is wrong\n".to_owned(),
        (many, _) => format!("{many} things are wrong, the most harmful first\n"),
    });
    if let (Some(why), true) =
        (&restart.not_known, wrong > 0 && restart.outcome != RestartOutcome::DoesNotStart)
    {
        text.push_str(&page.wrapped(&format!("! what else the next restart does is not known: {why}"), 2));
    }
    text
}

/// What becomes of the pods that run.
fn admits(pods: usize) -> String {
    match pods {
        0 => String::new(),
        1 => ", and admits the pod that runs again".to_owned(),
        many => format!(", and admits the {many} pods that run again"),
    }
}
