//! What is known of a node, and whether a pod fits by it.

use alloc::sync::Arc;

use admission_report::{BriefReason, Facts};
use device_manager::{Replies, Reply};
use kubelet_fates::{Fate, Kubelet};
use pod_spec::{Pod, PodUid};
use topology_admission::{Attempt, Detail, Ledger, Node, Verdict};

use crate::judgement::Knowledge;
use crate::rooms::RoomThere;
use crate::score::Fit;
use crate::zones::Zones;

/// What is known of a node, with everything that holds something there.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "it is shared, and most are of the large kind")]
pub(crate) enum Basis {
    Exact(Exact),
    Approximate(Zones),
}

/// A node, and what its pods hold.
#[derive(Clone, Debug)]
pub(crate) struct Exact {
    pub(crate) node: Arc<Node>,
    pub(crate) ledger: Ledger,
}

/// What came out for one pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Fits(Fit),
    Refused(BriefReason),
    /// It does not fit beside other pods that may come.
    RefusedBeside,
}

impl Basis {
    pub(crate) const fn knowledge(&self) -> Knowledge {
        match self {
            Self::Exact(_) => Knowledge::Exact,
            Self::Approximate(_) => Knowledge::Approximate,
        }
    }

    /// Whether `pod`, which holds nothing there, fits.
    pub(crate) fn outcome(&self, pod: &Pod, room: Option<&RoomThere>) -> Outcome {
        match self {
            Self::Exact(exact) => exact.outcome(pod, room),
            Self::Approximate(zones) => match zones.place(pod) {
                Ok(placed) => Outcome::Fits(placed.fit),
                Err(reason) => Outcome::Refused(reason),
            },
        }
    }

    /// The same in short.
    pub(crate) fn fits(&self, pod: &Pod) -> bool {
        match self {
            Self::Exact(exact) => exact.fits(pod),
            Self::Approximate(zones) => zones.place(pod).is_ok(),
        }
    }

    /// The node after `pod` has come; `None` if it is refused, and holds nothing.
    pub(crate) fn with(&self, pod: &Pod) -> Option<Self> {
        match self {
            Self::Exact(exact) => exact.with(pod).map(Self::Exact),
            Self::Approximate(zones) => zones.place(pod).ok().map(|placed| Self::Approximate(placed.after)),
        }
    }

    /// The same node with nothing on it.
    pub(crate) fn empty(&self) -> Self {
        match self {
            Self::Exact(Exact { node, ledger }) => Self::Exact(Exact {
                node: Arc::clone(node),
                ledger: node.empty_ledger().with_inventory(ledger.inventory().clone()),
            }),
            Self::Approximate(zones) => Self::Approximate(zones.empty()),
        }
    }

    /// Whether both give every pod the same verdict.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exact(own), Self::Exact(theirs)) => {
                Arc::ptr_eq(&own.node, &theirs.node) && own.ledger.decides_like(&theirs.ledger, &own.node)
            }
            (Self::Approximate(own), Self::Approximate(theirs)) => own == theirs,
            (Self::Exact(_), Self::Approximate(_)) | (Self::Approximate(_), Self::Exact(_)) => false,
        }
    }
}

impl Exact {
    pub(crate) fn outcome(&self, pod: &Pod, room: Option<&RoomThere>) -> Outcome {
        let (attempt, replies) = self.attempt(pod);
        match &attempt.verdict {
            Verdict::Admitted(_) if let Some(fate) = self.fate(pod, &replies) => {
                Outcome::Refused(BriefReason::from(&fate))
            }
            Verdict::Admitted(placement) => {
                Outcome::Fits(Fit::of(&self.node, pod, placement, &attempt.after, room))
            }
            Verdict::Refused(_) | Verdict::NeedsPlugin(_) => self.refused(pod, &replies),
        }
    }

    fn fits(&self, pod: &Pod) -> bool {
        let (attempt, replies) = self.attempt(pod);
        matches!(attempt.verdict, Verdict::Admitted(_)) && self.fate(pod, &replies).is_none()
    }

    /// What the kubelet does in place of admitting the pod, or with it. An answer that comes within a minute is waited for.
    fn fate(&self, pod: &Pod, replies: &Replies) -> Option<Fate> {
        let fate = Kubelet::of(&self.node)?.fate(&self.ledger, pod, replies)?;
        (!fate.is_waited_for()).then_some(fate)
    }

    /// The same attempt once more, with everything that a reason is read off.
    fn refused(&self, pod: &Pod, replies: &Replies) -> Outcome {
        let (attempt, trace) = self.node.admission(&self.ledger, pod).with(replies).trace(Detail::Amounts);
        let facts = Facts::new(&self.node, &self.ledger, pod, &attempt, &trace);
        Outcome::Refused(match &attempt.verdict {
            Verdict::Refused(refused) => facts.brief(refused),
            Verdict::NeedsPlugin(question) => BriefReason::NoPlugin(question.resource().into()),
            Verdict::Admitted(_) => BriefReason::Cut,
        })
    }

    fn with(&self, pod: &Pod) -> Option<Self> {
        let (attempt, replies) = self.attempt(pod);
        let Verdict::Admitted(_) = &attempt.verdict else { return None };
        if self.fate(pod, &replies).is_some() {
            return None;
        }
        let ledger = self.ledger.commit(attempt).ok()?;
        Some(Self { node: Arc::clone(&self.node), ledger })
    }

    /// Without some pods, all at once.
    pub(crate) fn without<'a>(&self, pods: impl IntoIterator<Item = &'a PodUid>) -> Self {
        let released = pods.into_iter().fold(self.ledger.clone(), |ledger, pod| ledger.release(pod));
        Self { node: Arc::clone(&self.node), ledger: released }
    }

    /// With plugins that prefer no device and refuse none: they run on the node, and cannot be asked from afar.
    fn attempt(&self, pod: &Pod) -> (Attempt, Replies) {
        self.node.admission(&self.ledger, pod).attempt_with(Reply::willing)
    }
}
