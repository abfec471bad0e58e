//! Decisions on pods that are asked about, one after the other, as reports.

use std::collections::HashSet;

use admission_report::{AdmissionQueue, Facts, Report, WhyElsewhere};
use anyhow::bail;
use device_manager::Replies;
use pod_spec::{Pod, PodUid};
use topology_admission::{Decided, Ledger, Outcome, Series};

use crate::asked::Asked;
use crate::claimed_pods::{ClaimChanges, ClaimedPod, ClaimedPods, ScheduledPod};
use crate::claims::NodeClaims;
use crate::fates::FateOfPod;
use crate::node::LoadedNode;
use crate::sources::ADVICE;

/// Pods that come to a node one after the other.
pub struct Sequence<'n> {
    node: &'n LoadedNode,
    asked: &'n Asked,
    series: Series<'n>,
    queue: AdmissionQueue,
    claims: Option<ClaimedPods<'n>>,
    /// The pods that are shown; `None`: all.
    shown: Option<HashSet<PodUid>>,
}

impl<'n> Sequence<'n> {
    /// Of pods of `asked` on `node`; `series` decides on them.
    #[must_use]
    pub fn new(node: &'n LoadedNode, asked: &'n Asked, series: Series<'n>) -> Self {
        let queue = AdmissionQueue::default();
        Self { node, asked, series, queue, claims: None, shown: None }
    }

    /// The same, where claims are decided before other resources.
    #[must_use]
    pub fn with_claims(self, claims: NodeClaims) -> Self {
        let claims = ClaimedPods::new(self.node, claims.beside(&self.asked.pods));
        Self { claims: Some(claims), ..self }
    }

    /// The same, where these pods alone are shown: for others no changes are tried.
    #[must_use]
    pub fn showing(self, pods: impl IntoIterator<Item = PodUid>) -> Self {
        Self { shown: Some(pods.into_iter().collect()), ..self }
    }

    /// Why and where, of the next pod.
    ///
    /// # Errors
    /// A device plugin would have to be asked.
    pub fn decide(&mut self, pod: &Pod) -> anyhow::Result<Report> {
        self.decide_beside(pod).map(|(report, _)| report)
    }

    /// The same, with what the node held before.
    ///
    /// # Errors
    /// A device plugin would have to be asked.
    pub fn decide_beside(&mut self, pod: &Pod) -> anyhow::Result<(Report, Ledger)> {
        let claimed = match &mut self.claims {
            Some(claims) => claims.decide(pod),
            None => ClaimedPod::Scheduled(ScheduledPod::without_claims(pod)),
        };
        let scheduled = match claimed {
            ClaimedPod::Scheduled(scheduled) => scheduled,
            ClaimedPod::NotScheduled(report) => {
                let owner = self.asked.owners.get(&pod.uid).map(ToString::to_string);
                return Ok((Report { owner, ..*report }, self.series.ledger().clone()));
            }
        };
        let decided = self.series.decide(&scheduled.rest, &Replies::default());
        let mut report = self.asked.report(self.node, &scheduled.rest, &decided, self.series.ledger())?;
        let mut not_tried = None;
        if let Some(claims) = &mut self.claims {
            let is_shown = self.shown.as_ref().is_none_or(|shown| shown.contains(&pod.uid));
            let changes = if is_shown { ClaimChanges::Tried } else { ClaimChanges::NotTried };
            (report, not_tried) = claims.add_to(&scheduled, &decided.before, report, changes);
        }
        report.note_claims(WhyElsewhere::of(&self.node.node, &scheduled.rest));
        report.notes.extend(not_tried);
        let report = self.queue.next(&scheduled.rest, report);
        // A step or an alternative is over when another pod of its owner runs.
        if self.queue.is_blocked() || self.asked.apart.contains(&pod.uid) {
            self.series.take_back(&decided);
        } else if let Some(own) = self.claims.as_mut().filter(|_| report.is_placed()) {
            own.hold(&scheduled);
        }
        Ok((report, decided.before))
    }
}

impl Asked {
    /// Why and where, of one of these pods, after whose decision the node holds `after`.
    ///
    /// # Errors
    /// A device plugin would have to be asked.
    pub fn report(
        &self,
        node: &LoadedNode,
        pod: &Pod,
        decided: &Decided,
        after: &Ledger,
    ) -> anyhow::Result<Report> {
        let Decided { before, trace, moved, outcome } = decided;
        let facts = Facts { node: &node.node, before, after, pod, trace, moved, advice: ADVICE };
        let mut report = match outcome {
            Outcome::Admitted(placement) => Report::admitted(&facts, placement),
            Outcome::Refused(refused, explanation) => Report::refused(&facts, refused, explanation),
            Outcome::NeedsPlugin(question) => {
                bail!(
                    "the device plugin of {} would have to be asked, and there is none",
                    question.resource()
                )
            }
        };
        node.remark(before, pod, &mut report);
        let owner = self.owners.get(&pod.uid).map(ToString::to_string);
        let mut report = Report { owner, ..report };
        if let Some(said) = self.refused.get(&pod.uid) {
            report = report.refused_by_kubelet(said.clone(), node.node.kubelet_rules().version.release());
        }
        Ok(match node.fate(before, pod, &Replies::default()) {
            Some(FateOfPod { fate, avoided_by }) => report.with_fate(fate, avoided_by),
            None => report,
        })
    }
}
