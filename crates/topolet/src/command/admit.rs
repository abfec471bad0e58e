//! `topolet admit`: pods from manifests, one after the other, each beside those admitted before it.

use std::io::IsTerminal as _;
use std::time::Instant;

use admission_report::{Notice, Report};
use anyhow::bail;
use clap::Args;
use kubelet_release::Fault;
use node_config::DecidedBy;
use node_input::{DeviceText, LoadedMachine, LoadedNode, Residents, Wholeness};
use node_output::{Document, Format, JsonList, NodeLine, Tally};
use serde::Serialize;
use topology_admission::{Detail, Reason, Series, Tries};

use crate::arguments::{DecisionOutputArguments, PodsArguments};
use crate::decided::Sequence;
use crate::drawn;
use crate::outcome::Outcome;
use crate::patience;
use crate::pods::{self, Asked, Reading};
use crate::render::Screen;
use crate::told::ToldArguments;

#[derive(Args, Debug)]
pub(crate) struct AdmitArguments {
    #[command(flatten)]
    pub(crate) pods: PodsArguments,
    #[command(flatten)]
    pub(crate) told: ToldArguments,
    #[command(flatten)]
    pub(crate) output: DecisionOutputArguments,
}

pub(super) fn run(arguments: &AdmitArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let (node, residents, asked) = read(&arguments.pods, screen)?;
    let told = &arguments.told;
    match arguments.output.output.text() {
        Some(format) => decide(&node, residents, &asked, Way { depth: Depth::Short, told, format, screen }),
        None => drawn::draw(&node, residents, &asked, told, Tries::default(), screen),
    }
}

/// Everything that the arguments name: the node, what runs on it, and the pods in question.
pub(super) fn read(
    arguments: &PodsArguments,
    screen: Screen,
) -> anyhow::Result<(LoadedNode, Residents, Asked)> {
    let (identity, residents) = (arguments.identity.source(), arguments.residents.source());
    let source = arguments.machine.source();
    let machine = LoadedMachine::load_node(&source)?;
    let rules = arguments.rules.source().of_node(&identity, &residents, machine.packed.as_deref())?;
    let devices = DeviceText::on(&rules, &source, &residents)?;
    let node = LoadedNode::on(&machine, &rules, devices)?.with_identity(&identity)?;
    let reading = Reading { arguments: arguments.reading, static_pods: node.static_pods.as_deref() };
    let mut asked = pods::from_files(&arguments.files, reading, node.node.pod_rules(), screen)?;
    asked.keep_those_of(node.node.identity().map(|identity| identity.name.as_str()), screen)?;
    check_count(asked.pods.len())?;
    let residents = node.residents(&residents)?;
    Ok((node, residents, asked))
}

/// The most pods of one run: those of the largest cluster that Kubernetes says it supports ("no more than 150,000 total
/// pods"), so that what `kubectl get pods -A` lists is decided on, whichever cluster it is.
const MAX_PODS: usize = 150_000;

fn check_count(pods: usize) -> anyhow::Result<()> {
    if pods > MAX_PODS {
        bail!(
            "{pods} pods are to be decided on, more than {MAX_PODS}: split the list, or let 'topolet simulate' place \
             them on a fleet of nodes"
        );
    }
    Ok(())
}

/// How much is told of each decision.
#[derive(Clone, Copy)]
pub(super) enum Depth {
    /// The decision.
    Short,
    /// Everything that led to it, and what would fit, with so many tries.
    Whole(Tries),
}

/// All decisions, as they are written.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
#[expect(clippy::struct_field_names, reason = "the names are those of the document")]
pub(super) struct Decisions<'a> {
    node: &'a NodeLine,
    /// What was not looked at, since it is not known; what a kubelet suffers here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    decisions: Vec<Report>,
}

/// All explanations, as they are written.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub(super) struct Explanations<'a> {
    node: &'a NodeLine,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    pods: Vec<Report>,
}

/// How many pods came out how, as it is written.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "serve", derive(schemars::JsonSchema))]
pub(super) struct Summary<'a> {
    node: &'a NodeLine,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    #[serde(flatten)]
    tally: &'a Tally,
}

/// How decisions are told.
#[derive(Clone, Copy)]
pub(super) struct Way<'a> {
    pub(super) depth: Depth,
    pub(super) told: &'a ToldArguments,
    pub(super) format: Format,
    pub(super) screen: Screen,
}

/// Decides on the pods in order and shows each decision.
pub(super) fn decide(
    node: &LoadedNode,
    residents: Residents,
    asked: &Asked,
    way: Way<'_>,
) -> anyhow::Result<Outcome> {
    let Way { depth, told, format, screen } = way;
    told.check(asked)?;
    for warning in &node.warnings {
        screen.warn(warning);
    }
    let mut notes: Vec<String> = node.first_notes().chain(residents.not_looked_at()).collect();
    notes.extend(node.not_looked_at(&asked.pods));
    notes.extend(node.hazards.iter().cloned());
    let Residents { ledger, line, quarantined, .. } = residents;
    let (detail, tries) = match depth {
        Depth::Short => (Detail::Short, Tries::default()),
        Depth::Whole(tries) => (Detail::Merges, tries),
    };
    let series = Series::new(&node.node, ledger, detail, tries).keeping(quarantined);
    let mut sequence = Sequence::new(node, asked, series);
    let document = |decisions: Vec<Report>, format| {
        let (node, notes) = (&node.line, notes.clone());
        match depth {
            Depth::Short => {
                let decisions = Decisions { node, notes, decisions };
                Document::new("Decisions", decisions).of(&node.rules_of).text(format)
            }
            Depth::Whole(_) => {
                let explanations = Explanations { node, notes, pods: decisions };
                Document::new("Explanation", explanations).of(&node.rules_of).text(format)
            }
        }
    };
    let mut list = None;
    match format {
        Format::Table => {
            // What is assumed is the first thing that is said.
            let (first, notes) = notes.split_at(node.first_notes().count());
            let note = |note: &String| screen.page.wrapped(&format!("! {note}"), 2);
            let mut head = first.iter().map(note).collect::<String>() + &node.line.headline(screen.page);
            head.extend(line.map(|line| screen.page.wrapped(&line, 2)));
            head.extend(notes.iter().map(note));
            screen.show(&head)?;
        }
        Format::Json if !told.summary => list = document(Vec::new(), format)?.map(JsonList::new),
        Format::Json | Format::Yaml => {}
    }
    let draw = match depth {
        Depth::Short => node_output::decision,
        Depth::Whole(_) => node_output::explanation,
    };
    // Of a document whose parts depend on each other all have to be there first.
    let mut kept = Vec::new();
    let mut tally = Tally::default();
    // Whether the kubelet has refused a pod for another reason.
    let mut otherwise = false;
    let mut groups = told.groups(asked);
    let mut kept_hints = KeptHints::default();
    let mut progress = Progress::new(asked.pods.len());
    for pod in &asked.pods {
        let report = sequence.decide(pod)?;
        otherwise |= report.is_decided_otherwise();
        tally.add(&report);
        kept_hints.add(&report);
        let is_shown = told.shows(pod, &report);
        // A person reads the first while the next is worked out, and so does a program.
        match (format, &mut list) {
            (Format::Table, _) => {
                let complete = if is_shown { groups.add(report) } else { groups.leave_out(&report) };
                for group in complete {
                    let text = draw(&group, None, screen.page);
                    screen.show(&format!("\n{text}"))?;
                }
            }
            (_, Some(list)) if is_shown => screen.print(&list.item(&report)?)?,
            (_, None) if is_shown => kept.push(report),
            _ => {}
        }
        progress.decided(format, screen);
    }
    if let Some(notice) = kept_hints.notice(node) {
        screen.warn(notice);
    }
    if told.legend && format == Format::Table {
        screen.show(&format!("\n{}", node_output::legend(screen.page)))?;
    }
    match (format, list) {
        (_, Some(list)) => screen.print(&list.end())?,
        (Format::Table, None) if told.summary || tally.pods() > 1 => {
            screen.show(&format!("\n{}", screen.page.wrapped(&tally.to_string(), 2)))?;
        }
        (Format::Table, None) => {}
        (_, None) if told.summary => {
            let summary = Summary { node: &node.line, notes, tally: &tally };
            let summary = Document::new("DecisionSummary", summary).of(&node.line.rules_of).text(format)?;
            screen.print(&summary.unwrap_or_default())?;
        }
        (_, None) => screen.print(&document(kept, format)?.unwrap_or_default())?,
    }
    Ok(match asked.wholeness {
        Wholeness::Partial => Outcome::Partial,
        Wholeness::Whole if !tally.is_all_admitted() => Outcome::SomeRefused,
        Wholeness::Whole if otherwise => Outcome::SomethingWrong,
        Wholeness::Whole => Outcome::Done,
    })
}

/// Refused pods of which the kubelet keeps topology hints.
#[derive(Clone, Copy, Default)]
struct KeptHints(usize);

impl KeptHints {
    /// So many are worth a word.
    const MANY: usize = 1000;

    /// A pod leaves the hints of the containers that were merged before it was refused, and of one whose allocation failed.
    fn add(&mut self, report: &Report) {
        let Some(refusal) = report.refusal() else { return };
        let is_kept = match refusal.reason {
            Reason::UnexpectedAdmission | Reason::SmtAlignment => !report.units.is_empty(),
            _ => report.units.len() > 1,
        };
        self.0 += usize::from(is_kept);
    }

    fn notice(self, node: &LoadedNode) -> Option<Notice> {
        let (Self(refused), fault) = (self, Fault::RefusedHints);
        let release = node.node.kubelet_rules().version.release();
        let is_told =
            refused >= Self::MANY && node.decided_by() == DecidedBy::Kubelet && fault.is_in(release);
        is_told.then(|| {
            Notice::warning(format!(
                "the kubelet keeps the hints of {refused} refused pods: {} ({}); {}",
                fault.consequence(),
                fault.page(),
                fault.cure()
            ))
        })
    }
}

/// Says on standard error how many pods are decided on, where that takes long.
struct Progress {
    all: usize,
    decided: usize,
    told: Instant,
}

impl Progress {
    fn new(all: usize) -> Self {
        Self { all, decided: 0, told: Instant::now() }
    }

    /// One more. Tables on a terminal are a sign of life themselves.
    fn decided(&mut self, format: Format, screen: Screen) {
        self.decided += 1;
        let is_seen = format == Format::Table && std::io::stdout().is_terminal();
        if !is_seen && self.told.elapsed() >= patience::EVERY && std::io::stderr().is_terminal() {
            self.told = Instant::now();
            screen.warn(format_args!("decided {} of {} pods", self.decided, self.all));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_a_largest_number_of_pods() {
        assert!(check_count(MAX_PODS).is_ok());
        let said = check_count(150_001).map_err(|error| error.to_string());
        assert!(
            said.is_err_and(|said| said.starts_with("150001 pods are to be decided on, more than 150000"))
        );
    }
}
