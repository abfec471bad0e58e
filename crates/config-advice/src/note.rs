//! Remarks on a proposal.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::hazard::Hazard;

/// What the user of a proposal has to know beside its changes.
#[derive(Clone, PartialEq, Debug)]
pub enum Note {
    /// A policy that pins more is not proposed, because a kubelet could not work with it.
    NotProposed {
        /// The field.
        field: &'static str,
        /// Its value that pins more.
        value: String,
        /// What would happen.
        hazard: Hazard,
    },
    /// Static memory is not proposed, because it would refuse ordinary pods.
    MemoryNotProposed {
        /// The kubelet's reason, such as `TopologyAffinityError`.
        reason: String,
        /// How many CPUs the refused pods ask for.
        cpus: Vec<u8>,
    },
    /// A kubelet does not start with the proposal.
    NoStart {
        /// Why there is no better proposal.
        problem: StartProblem,
        /// The kubelet's message.
        fault: String,
    },
    /// Ordinary pods that the proposal never admits.
    NeverAdmitted {
        /// The kubelet's reason.
        reason: String,
        /// How many CPUs they ask for.
        cpus: Vec<u8>,
    },
}

/// Why there is no proposal that a kubelet starts with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StartProblem {
    /// How much memory the machine has is not known.
    MemoryNotKnown,
    /// All configurations that were tried fail.
    NothingFound,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotProposed { field, value, hazard } => {
                write!(f, "{field} {value} is not proposed: {hazard}")
            }
            Self::MemoryNotProposed { reason, cpus } => write!(
                f,
                "memoryManagerPolicy Static is not proposed: Guaranteed pods of {} CPUs and 1Gi would be refused on an empty node ({reason})",
                list(cpus)
            ),
            Self::NoStart { problem, fault } => {
                let why = match problem {
                    StartProblem::MemoryNotKnown => {
                        "how much memory this machine has is not known, and counts as none"
                    }
                    StartProblem::NothingFound => "no configuration was found with which it does",
                };
                write!(f, "a kubelet does not start with this proposal, {why}: {fault}")
            }
            Self::NeverAdmitted { reason, cpus } => write!(
                f,
                "Guaranteed pods of {} CPUs and 1Gi never run here, even on an empty node: {reason}",
                list(cpus)
            ),
        }
    }
}

fn list(cpus: &[u8]) -> String {
    cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
