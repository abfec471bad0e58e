//! How reserved CPUs came to be where they should not be.

use std::fmt;

use cpuset::CpuSet;

use crate::words;

/// What is wrong with a node of which pods hold every CPU.
pub(super) const FULL_NODE: &str =
    "pods hold every CPU that is not reserved for the system alone, so the shared pool is empty";

/// How a pod got CPUs that are reserved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReservedGiven {
    /// Before the reservation was what it is.
    Before,
    /// A kubelet with this reservation gives these cores whole, since only a part of each is reserved and cores of the
    /// machine differ in their number of CPUs.
    WithCores(CpuSet),
}

/// Which of the reserved CPUs are meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReservedPart {
    /// All: whether they are for the system alone was changed.
    All,
    /// Some: other CPUs are reserved than before.
    Some,
}

impl fmt::Display for ReservedGiven {
    /// The end of a sentence about the CPUs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Before => Ok(()),
            Self::WithCores(cores) => write!(
                f,
                " and the kubelet gave out all the same: of {} only a part is reserved, and it gives such a core whole on a \
                 machine whose cores differ in their number of CPUs",
                words::cpus(cores)
            ),
        }
    }
}
