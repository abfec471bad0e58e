//! Decides on pods one after the other, and writes each decision as soon as it is made where the format allows that.

mod options;

use admission_report::Report;
use dra_model::Features;
use node_input::{KeptHints, NodeClaims, Residents, Sequence, Wholeness};
use node_output::{DecisionParts, DecisionWriter, Format, Preamble, Tally};
use topology_admission::Series;

pub(crate) use self::options::{Depth, OutputOptions};
use crate::outcome::Outcome;
use crate::patience::Progress;
use crate::question::Question;
use crate::screen::Screen;

/// Decides on the pods in order, each beside those that were admitted before it, and writes the decisions that are asked for.
pub(crate) fn decide(
    question: Question,
    features: Features,
    options: OutputOptions<'_>,
) -> anyhow::Result<Outcome> {
    let Question { node, residents, asked } = question;
    let OutputOptions { depth, shown, format, screen } = options;
    shown.check(&asked)?;
    for warning in &node.warnings {
        screen.warn(warning);
    }
    // What is wrong with the files is reported, and a table of nothing adds no answer.
    if format == Format::Table && asked.pods.is_empty() && asked.wholeness == Wholeness::Partial {
        return Ok(Outcome::Partial);
    }
    let claims = NodeClaims::on(&node, asked.objects.clone(), features);
    let mut assumed = claims.notes(&node, &asked.pods);
    assumed.extend(node.first_notes());
    let unchecked = residents.not_looked_at().into_iter().chain(node.not_looked_at(&asked.pods));
    let unchecked: Vec<String> = unchecked.chain(node.hazards.iter().cloned()).collect();
    let preamble = Preamble::new(node.line.clone(), residents.line.clone(), assumed, unchecked);
    let Residents { ledger, quarantined, .. } = residents;
    let series = Series::new(&node.node, ledger, depth.detail(), depth.tries()).keeping(quarantined);
    let named = asked.pods.iter().filter(|pod| shown.can_show(pod)).map(|pod| pod.uid.clone());
    let mut sequence = Sequence::new(&node, &asked, series).with_claims(claims).showing(named);
    let parts = DecisionParts { depth: depth.written(), summary: shown.summary, legend: shown.legend };
    let mut writer = DecisionWriter::new(preamble, parts, shown.groups(&asked), format, screen.page)?;
    // A table is for a person.
    let write = if format == Format::Table { Screen::show } else { Screen::print };
    write(screen, &writer.head())?;
    let mut totals = Totals::default();
    let mut progress = Progress::new(asked.pods.len());
    for pod in &asked.pods {
        let report = sequence.decide(pod)?;
        totals.add(&report);
        // Written at once: readers, people and programs, have the first while the next is decided.
        let piece = if shown.shows(pod, &report) { writer.show(report)? } else { writer.leave_out(&report) };
        write(screen, &piece)?;
        progress.decided(format, screen);
    }
    if let Some(notice) = totals.kept_hints.notice(&node) {
        screen.warn(notice);
    }
    write(screen, &writer.end(&totals.tally)?)?;
    Ok(totals.outcome(asked.wholeness))
}

/// Sums over all decisions, shown or not.
#[derive(Default)]
struct Totals {
    tally: Tally,
    kept_hints: KeptHints,
    /// Whether a kubelet refused a pod and the decision here is another one.
    is_decided_otherwise: bool,
}

impl Totals {
    fn add(&mut self, report: &Report) {
        self.tally.add(report);
        self.kept_hints.add(report);
        self.is_decided_otherwise |= report.is_decided_otherwise();
    }

    /// The outcome of the command; `wholeness` says whether all of the given files became pods.
    fn outcome(&self, wholeness: Wholeness) -> Outcome {
        match wholeness {
            Wholeness::Partial => Outcome::Partial,
            Wholeness::Whole if !self.tally.is_all_admitted() => Outcome::SomeRefused,
            Wholeness::Whole if self.is_decided_otherwise => Outcome::SomethingWrong,
            Wholeness::Whole => Outcome::Done,
        }
    }
}
