//! Remarks on a proposal.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use k8s_quantity::Quantity;

use crate::hazard::Hazard;

/// What a reboot does under policy Static of the memory manager, and what helps (kubernetes#131253, KEP-6232): a kernel that
/// is loaded elsewhere leaves other amounts to the NUMA nodes.
pub const ANOTHER_BOOT: &str = "policy Static: a reboot can change a NUMA node's memory by some MiB, and the kubelet then refuses \
    its memory_manager_state (kubernetes#131253). What helps is to delete the file once after each boot, before the \
    kubelet's first start; at a later restart it is needed, since it has the memory of the pods that run";

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
        /// What each asks for beside CPUs.
        memory: Quantity,
    },
    /// An option that is set is not in the proposal.
    OptionLeftOut {
        /// The field that has it.
        field: &'static str,
        /// Its name.
        option: String,
        /// A sentence.
        why: String,
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
        /// What each asks for beside CPUs.
        memory: Quantity,
    },
    /// A kubelet that restarts on a full node refuses pods that run; what was asked for is kept nevertheless.
    AtRestart(Hazard),
    /// Memory is pinned, and NUMA nodes have other totals after a reboot.
    AnotherBoot,
    /// Cores of the machine have different numbers of threads, and the kubelet can give a CPU to two pods.
    CoresDiffer,
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
            Self::MemoryNotProposed { reason, cpus, memory } => write!(
                f,
                "memoryManagerPolicy Static is not proposed: Guaranteed pods of {} CPUs and {memory} would be refused on an empty node ({reason})",
                list(cpus)
            ),
            Self::OptionLeftOut { field, option, why } => {
                write!(f, "{option} is left out of {field}: {why}")
            }
            Self::NoStart { problem, fault } => {
                let why = match problem {
                    StartProblem::MemoryNotKnown => {
                        "how much memory this machine has is not known, and counts as none"
                    }
                    StartProblem::NothingFound => "no configuration was found with which it does",
                };
                write!(f, "a kubelet does not start with this proposal, {why}: {fault}")
            }
            Self::AtRestart(hazard) => hazard.fmt(f),
            Self::AnotherBoot => f.write_str(ANOTHER_BOOT),
            Self::CoresDiffer => f.write_str(
                "cores of this machine differ in their number of threads: the kubelet's static CPU manager can give a CPU that a pod holds to a second one",
            ),
            Self::NeverAdmitted { reason, cpus, memory } => write!(
                f,
                "Guaranteed pods of {} CPUs and {memory} never run here, even on an empty node: {reason}",
                list(cpus)
            ),
        }
    }
}

fn list(cpus: &[u8]) -> String {
    cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
