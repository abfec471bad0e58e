//! What is wrong with the nodes of a support bundle, for people: what was found, what is missing, and one answer after the other.

use std::collections::BTreeMap;

use config_advice::Severity;
use node_state::{Problem, RestartOutcome};
use terminal_text::Page;

use crate::cells::joined;
use crate::config_check::ConfigFinding;
use crate::decision::{kubelet_said, notes, reasons, verdict, ways_out};
use crate::diagnosis::{
    ConfigDiagnosis, Diagnosis, FailedStart, FoundPart, MissingPart, NodeDiagnosis, RefusedPod, SightedBy,
    Sighting, StateDiagnosis,
};
use crate::explanation::explanation;
use crate::pod_group::PodGroup;
use crate::rows::line;

/// So many refused pods of a node are explained on the screen.
const MOST_REFUSED: usize = 8;
/// So many files of a part are named.
const MOST_FILES: usize = 2;

/// How much of the decision on a refused pod is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefusalDepth {
    /// Why, and what would fit.
    Short,
    /// Everything that led to it.
    Full,
}

/// The diagnosis, ending in a newline.
#[must_use]
pub fn diagnosis(diagnosis: &Diagnosis, depth: RefusalDepth, page: Page) -> String {
    let Diagnosis { bundles, remarks, nodes, other_nodes } = diagnosis;
    let mut text = String::new();
    for bundle in bundles {
        let dot = page.dot();
        let files = if bundle.files == 1 { "1 file".to_owned() } else { format!("{} files", bundle.files) };
        text.push_str(&page.wrapped(&format!("{} {dot} {} {dot} {files}", bundle.path, bundle.form), 2));
    }
    text.extend(remarks.iter().map(|remark| page.wrapped(&format!("! {remark}"), 2)));
    for node in nodes {
        text.push('\n');
        text.push_str(&self::node(node, depth, page));
    }
    if !other_nodes.is_empty() {
        let names = shortened(other_nodes);
        let line = match other_nodes.len() {
            1 => format!("1 node of which only objects tell: {names}"),
            count => format!("{count} nodes of which only objects tell: {names}"),
        };
        text.push('\n');
        text.push_str(&page.wrapped(&line, 2));
    }
    text
}

fn shortened(names: &[String]) -> String {
    const MOST: usize = 5;
    let more = names.len().saturating_sub(MOST);
    let shown = joined(names.iter().take(MOST).cloned());
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

fn node(node: &NodeDiagnosis, depth: RefusalDepth, page: Page) -> String {
    let dot = page.dot();
    let name = node.name.as_deref().unwrap_or("a node without a name");
    let release = format!("kubelet {}, {}", node.kubelet.rules_of, node.kubelet.named_by);
    let policies = node.node.as_ref().map(|line| {
        format!(" {dot} {} {dot} CPUs {}, memory {}", line.topology(), line.cpu_policy, line.memory_policy)
    });
    let mut text = page.wrapped(&format!("{name} {dot} {release}{}", policies.unwrap_or_default()), 2);
    text.push_str(&parts(&node.found, &node.missing, page));
    text.extend(
        node.contradictions
            .iter()
            .map(|what| page.wrapped(&format!("{} contradiction   {what}", page.no()), 4)),
    );
    text.extend(node.notes.iter().map(|note| page.wrapped(&format!("! {note}"), 4)));
    text.extend(node.configuration.as_ref().map(|checked| configuration(checked, page)));
    text.extend(node.state.as_ref().map(|state| self::state(state, page)));
    text.extend(node.failed_starts.iter().map(|failed| failed_start(failed, page)));
    for refused in node.refused.iter().take(MOST_REFUSED) {
        text.push_str(&self::refused(refused, depth, page));
    }
    if let Some(others) = node.refused.get(MOST_REFUSED..).filter(|others| !others.is_empty()) {
        text.push_str(&page.wrapped(&format!("{} {}", page.no(), more_refused(others)), 4));
    }
    text
}

fn parts(found: &[FoundPart], missing: &[MissingPart], page: Page) -> String {
    let head = |at: usize, head: &str| if at == 0 { head.to_owned() } else { String::new() };
    let found = found.iter().enumerate().map(|(at, part)| {
        let files = match part.files.as_slice() {
            files if files.len() <= MOST_FILES => files.join(", "),
            [first, rest @ ..] => format!("{first} and {} more", rest.len()),
            [] => String::new(),
        };
        let what = if files.is_empty() { part.what.clone() } else { format!("{}: {files}", part.what) };
        vec![head(at, "found"), part.part.clone(), what]
    });
    let missing = missing
        .iter()
        .enumerate()
        .map(|(at, part)| vec![head(at, "missing"), part.part.clone(), part.next.clone()]);
    page.table(found.chain(missing), 2, "  ")
}

fn configuration(checked: &ConfigDiagnosis, page: Page) -> String {
    if checked.findings.is_empty() {
        return page.wrapped(
            &format!("{} configuration   a kubelet starts with {}", page.yes(), checked.configuration),
            4,
        );
    }
    checked.findings.iter().map(|finding| of_finding(finding, page)).collect()
}

fn of_finding(finding: &ConfigFinding, page: Page) -> String {
    let (mark, what) = match finding.severity() {
        Severity::Refused => (page.no(), "the kubelet does not start"),
        Severity::Harmful => (page.no(), "harmful"),
        Severity::NotKnown => ("!", "not known here"),
        Severity::WithoutEffect => ("!", "without effect"),
        Severity::Doubtful => ("!", "probably a mistake"),
    };
    let field = if finding.field().is_empty() { "the file" } else { finding.field() };
    let place = finding.line.map_or_else(String::new, |line| format!(" (line {line})"));
    let text = format!("{mark} configuration   {field}{place}: {what}: {}", finding.text());
    page.wrapped(&text, 4) + &crate::config_check_text::expected(finding.expected.as_ref())
}

fn state(state: &StateDiagnosis, page: Page) -> String {
    let StateDiagnosis { findings, restart } = state;
    let mut text = String::new();
    for finding in findings {
        let mark = if finding.problem == Problem::Odd { "!" } else { page.no() };
        text.push_str(&page.wrapped(&format!("{mark} state   {}: {}", finding.file, finding.what), 4));
        text.push_str(&line(page, "kubelet", &finding.kubelet));
        text.push_str(&line(page, "help", &finding.help));
    }
    let next = |mark: &str, what: &str| page.wrapped(&format!("{mark} next start   {what}"), 4);
    if let Some(why) = &restart.stopped {
        return text
            + &next(page.no(), &format!("the kubelet does not start, whatever the files are: {why}"));
    }
    for again in &restart.refused {
        let what = format!("{} runs and is refused: {}: {}", again.pod, again.reason, again.message);
        text.push_str(&next(page.no(), &what));
        text.push_str(&line(page, "why", &again.cause));
        text.push_str(&line(page, "help", &again.help));
    }
    text.push_str(&match restart.outcome {
        RestartOutcome::DoesNotStart => next(page.no(), "the kubelet does not start from these files"),
        RestartOutcome::RefusesPods => String::new(),
        RestartOutcome::NotKnown => {
            let why = restart.not_known.as_deref().unwrap_or_default();
            next("?", &format!("nothing in the files keeps the kubelet from starting; {why}"))
        }
        RestartOutcome::AdmitsAll => {
            next(page.yes(), "the kubelet starts from these files, and admits every pod that runs again")
        }
    });
    text
}

fn failed_start(failed: &FailedStart, page: Page) -> String {
    let FailedStart { error, seen, help } = failed;
    let mut text =
        page.wrapped(&format!("{} failed start   the kubelet does not start: {error}", page.no()), 4);
    text.push_str(&line(page, "seen", &sighting(seen)));
    text.extend(help.as_ref().map(|help| line(page, "help", help)));
    text
}

fn refused(refused: &RefusedPod, depth: RefusalDepth, page: Page) -> String {
    let seen: Vec<String> = refused.seen.iter().map(sighting).collect();
    let seen = line(page, "seen", &seen.join(", "));
    let RefusedPod { pod, said, decision, not_decided, .. } = refused;
    let more: String = refused.notes.iter().map(|note| line(page, "note", note)).collect();
    let Some(report) = decision else {
        let colon = if said.message.is_empty() { "" } else { ": " };
        let head = format!("{} {pod}   {}{colon}{}", page.no(), said.reason, said.message);
        let why = not_decided.as_deref().unwrap_or_default();
        return page.wrapped(&head, 4) + &seen + &more + &line(page, "why", &format!("not decided: {why}"));
    };
    let group = PodGroup::from(report.clone());
    if depth == RefusalDepth::Full {
        return explanation(&group, None, page) + &seen + &more;
    }
    let mut text = verdict(&group, page) + &seen + &more;
    text.extend(report.refusal().map(|refusal| reasons(refusal, page)));
    text + &ways_out(&group, page) + &kubelet_said(report, page) + &notes(&group, page)
}

/// `status (pods.yaml), log (kubelet.log:12, Nov 26 10:21:03, 3 times)`.
fn sighting(seen: &Sighting) -> String {
    let Sighting { by, file, line, time, count } = seen;
    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
    let time = time.as_ref().map(|time| format!(", {time}")).unwrap_or_default();
    let count = if *count > 1 { format!(", {count} times") } else { String::new() };
    let by = if *by == SightedBy::Status { "status" } else { by.name() };
    format!("{by} ({file}{line}{time}{count})")
}

fn more_refused(others: &[RefusedPod]) -> String {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for other in others {
        *reasons.entry(other.said.reason.as_str()).or_default() += 1;
    }
    let reasons: Vec<String> = reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    let pods = if others.len() == 1 { "pod" } else { "pods" };
    format!("{} more {pods}: {}; --pod NAME or -o json shows them", others.len(), reasons.join(", "))
}
