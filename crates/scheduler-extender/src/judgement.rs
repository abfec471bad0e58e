//! What a filter says of one node.

use core::fmt;

use admission_report::BriefReason;

/// Whether a pod fits one node, and how that is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judgement {
    /// Whether it fits.
    pub verdict: Verdict,
    /// How that is known.
    pub basis: Knowledge,
}

/// Whether a pod fits a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It does.
    Fits,
    /// It does not now; it could when pods have left.
    DoesNotFit(Reason),
    /// It would not fit the node if nothing ran there: kube-scheduler's *unresolvable*, which preemption cannot help.
    NeverFits(Reason),
}

/// How a verdict is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Knowledge {
    /// By the kubelet's rules, from the node's own state.
    Exact,
    /// By the amounts that another producer has published: the kubelet may decide otherwise.
    Approximate,
    /// Nothing is known of the node, so that every pod passes.
    Unknown,
}

/// Why a pod does not fit, in one line. Equal for equal causes on different nodes: kube-scheduler counts equal lines.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// The node, as it is.
    Node(BriefReason),
    /// It fits, but not beside pods that have been offered the node and are not bound yet.
    InFlight,
}

impl Verdict {
    /// Whether the pod fits.
    #[must_use]
    pub const fn fits(&self) -> bool {
        matches!(self, Self::Fits)
    }

    /// Why it does not.
    #[must_use]
    pub const fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Fits => None,
            Self::DoesNotFit(reason) | Self::NeverFits(reason) => Some(reason),
        }
    }
}

impl Judgement {
    pub(crate) const UNKNOWN: Self = Self { verdict: Verdict::Fits, basis: Knowledge::Unknown };
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(reason) => reason.fmt(f),
            Self::InFlight => f.write_str("it may not fit beside a pod that is being scheduled right now"),
        }
    }
}
