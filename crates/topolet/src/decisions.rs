//! Decisions on pods one after the other, each shown as soon as it is made.

mod way;
mod written;

use admission_report::Report;
use node_input::{KeptHints, Residents, Sequence, Wholeness};
use node_output::Tally;
use topology_admission::Series;

pub(crate) use self::way::{Depth, Way};
use self::written::Head;
use crate::outcome::Outcome;
use crate::patience::Progress;
use crate::question::Question;

/// Decides on the pods in order and shows each decision.
pub(crate) fn decide(question: Question, way: Way<'_>) -> anyhow::Result<Outcome> {
    let Question { node, residents, asked } = question;
    let Way { depth, told, format, screen } = way;
    told.check(&asked)?;
    for warning in &node.warnings {
        screen.warn(warning);
    }
    let head = Head::new(&node, &residents, &asked.pods);
    let Residents { ledger, quarantined, .. } = residents;
    let series = Series::new(&node.node, ledger, depth.detail(), depth.tries()).keeping(quarantined);
    let mut sequence = Sequence::new(&node, &asked, series);
    let mut written = written::begin(head, &asked, way)?;
    let mut totals = Totals::default();
    let mut progress = Progress::new(asked.pods.len());
    for pod in &asked.pods {
        let report = sequence.decide(pod)?;
        totals.add(&report);
        // A person reads the first while the next is worked out, and so does a program.
        if told.shows(pod, &report) {
            written.show(report)?;
        } else {
            written.leave_out(&report)?;
        }
        progress.decided(format, screen);
    }
    if let Some(notice) = totals.kept_hints.notice(&node) {
        screen.warn(notice);
    }
    written.end(&totals.tally)?;
    Ok(totals.outcome(asked.wholeness))
}

/// What all decisions come to, whichever of them are shown.
#[derive(Default)]
struct Totals {
    tally: Tally,
    kept_hints: KeptHints,
    /// Whether the kubelet has refused a pod for another reason.
    is_decided_otherwise: bool,
}

impl Totals {
    fn add(&mut self, report: &Report) {
        self.tally.add(report);
        self.kept_hints.add(report);
        self.is_decided_otherwise |= report.is_decided_otherwise();
    }

    /// Of files whose pods are all, or some, of those that were meant.
    fn outcome(&self, wholeness: Wholeness) -> Outcome {
        match wholeness {
            Wholeness::Partial => Outcome::Partial,
            Wholeness::Whole if !self.tally.is_all_admitted() => Outcome::SomeRefused,
            Wholeness::Whole if self.is_decided_otherwise => Outcome::SomethingWrong,
            Wholeness::Whole => Outcome::Done,
        }
    }
}
