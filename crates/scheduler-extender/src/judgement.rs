//! What a filter says of one node.

use alloc::string::String;
use core::fmt;

use admission_report::BriefReason;
use topology_model::NodeIds;

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
    /// It fits, devices of a claim will be elsewhere than the container's CPUs and memory, and these have to be together.
    ClaimElsewhere(ClaimElsewhere),
}

/// Devices of a claim that will lie on other NUMA nodes than a container's CPUs and memory. Displays as a sentence without a full
/// stop.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ClaimElsewhere {
    /// What the pod calls the claim.
    pub claim: String,
    /// The NUMA nodes of the devices that are elsewhere.
    pub devices: NodeIds,
    /// Those of the container's CPUs and memory.
    pub container: NodeIds,
}

impl fmt::Display for ClaimElsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { claim, devices, container } = self;
        write!(
            f,
            "claim {claim} would get devices on NUMA {devices}, and its container CPUs and memory on NUMA {container}"
        )
    }
}

/// What becomes of a node where devices of claims will be elsewhere than CPUs and memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ClaimRule {
    /// It scores less.
    #[default]
    Prefer,
    /// The pod does not fit it.
    Require,
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
            Self::ClaimElsewhere(elsewhere) => elsewhere.fmt(f),
            Self::ComeAndGo => f.write_str("it may not fit beside pods that come or go right now"),
        }
    }
}
