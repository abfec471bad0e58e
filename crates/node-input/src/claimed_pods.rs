//! Pods whose claims are decided before their other resources, as kube-scheduler does, and what that adds to the reports on them.

use std::borrow::Cow;

use admission_report::{Note, Remark, Report};
use dra_model::Features;
use pod_claims::ClusterObjects;
use pod_spec::Pod;
use topology_admission::Ledger;

use crate::allocated_claims::with_places;
use crate::claim_remedies::{PodOnNode, TriedChanges};
use crate::claims::{NodeClaims, PodClaims};
use crate::node::LoadedNode;

/// Decides on the claims of pods that come to a node one after the other.
pub struct ClaimedPods<'n> {
    node: &'n LoadedNode,
    claims: NodeClaims,
    tried: TriedChanges<'n>,
}

/// A pod whose claims are decided.
#[expect(clippy::large_enum_variant, reason = "one at a time is there, and is taken apart at once")]
pub enum ClaimedPod<'p> {
    /// They keep kube-scheduler from placing it on the node.
    NotScheduled(Box<Report>),
    /// Its other resources are to be decided on.
    Scheduled(ScheduledPod<'p>),
}

/// A pod whose other resources are to be decided on.
pub struct ScheduledPod<'p> {
    /// As it came.
    whole: &'p Pod,
    /// As the managers see it: without extended resources that its claims serve.
    pub rest: Cow<'p, Pod>,
    claims: PodClaims,
}

/// Whether changes are tried that would align claims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimChanges {
    /// They are.
    Tried,
    /// They are not, since the pod is not shown.
    NotTried,
}

impl<'p> ScheduledPod<'p> {
    /// A pod of whose claims nothing is to be decided.
    pub(crate) fn without_claims(pod: &'p Pod) -> Self {
        Self { whole: pod, rest: Cow::Borrowed(pod), claims: PodClaims::None }
    }
}

impl<'n> ClaimedPods<'n> {
    /// By what `claims` knows, for pods that come to `node`.
    #[must_use]
    pub fn new(node: &'n LoadedNode, claims: NodeClaims) -> Self {
        Self { node, claims, tried: TriedChanges::on(node) }
    }

    /// By these objects beside those of the node's file, with kube-scheduler's default gates, for `pods`. `None`: there are no slices or
    /// no device classes among them, so that no claim is decided.
    #[must_use]
    pub fn by_defaults(node: &'n LoadedNode, objects: ClusterObjects, pods: &[Pod]) -> Option<Self> {
        let packed = node.packed.as_ref().map(|packed| &packed.objects);
        let has_slices = !objects.slices.is_empty() || packed.is_some_and(|own| !own.slices.is_empty());
        let has_classes = !objects.classes.is_empty() || packed.is_some_and(|own| !own.classes.is_empty());
        (has_slices && has_classes)
            .then(|| Self::new(node, NodeClaims::on(node, objects, Features::DEFAULT).beside(pods)))
    }

    /// What is to be known before the first decision on `pods`, as text to be shown.
    #[must_use]
    pub fn notes(&self, pods: &[Pod]) -> Vec<String> {
        self.claims.notes(self.node, pods)
    }

    /// Decides on the claims of the next pod.
    pub fn decide<'p>(&mut self, pod: &'p Pod) -> ClaimedPod<'p> {
        let claims = self.claims.decide(pod);
        let rest = claims.rest_of(pod);
        if let PodClaims::Unschedulable(claims, why) = claims {
            let report = Report::of_unschedulable(&rest, self.node.node.pod_rules(), claims, why);
            return ClaimedPod::NotScheduled(Box::new(report));
        }
        let rest = match &claims {
            PodClaims::Decided(_, decided) if self.node.node.has_claim_hints() => {
                Cow::Owned(with_places(&rest, decided.places()))
            }
            _ => rest,
        };
        ClaimedPod::Scheduled(ScheduledPod { whole: pod, rest, claims })
    }

    /// The report on its other resources with its claims and where their devices are; `before` is what the node held before. Also the
    /// note that no changes are tried from this pod on, which belongs behind those on its claims.
    pub fn add_to(
        &mut self,
        pod: &ScheduledPod<'_>,
        before: &Ledger,
        report: Report,
        changes: ClaimChanges,
    ) -> (Report, Option<Note>) {
        let mut report = pod.claims.add_to(report);
        if self.claims.excludes_cpu_driver() {
            // The notes on the node have it.
            let decided = report.claims.as_ref();
            let is_noted = |note: &Note| match &note.remark {
                Remark::ClaimOfCpus { claim, .. } => decided.is_some_and(|own| own.has_cpus(claim)),
                _ => false,
            };
            report.notes.retain(|note| !is_noted(note));
        }
        if changes == ClaimChanges::NotTried {
            return (report, None);
        }
        let on_node = PodOnNode { whole: pod.whole, rest: &pod.rest, before };
        let not_tried = self.tried.add_to(on_node, &mut self.claims, &mut report);
        (report, not_tried)
    }

    /// The pod runs: its claims keep their devices.
    pub fn hold(&mut self, pod: &ScheduledPod<'_>) {
        self.claims.hold(&pod.rest, &pod.claims);
    }
}
