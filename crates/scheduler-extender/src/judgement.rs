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
    /// It fits, but not in every case: pods that have been offered the node may come or not, and pods that are ending there
    /// may have gone or not.
    ComeAndGo,
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
            Self::ComeAndGo => f.write_str("it may not fit beside pods that come or go right now"),
        }
    }
}
