//! One cgroup of the hierarchy in memory: what its files hold.

use std::fmt;

use cpuset::CpuSet;

use crate::partition::Partition;

#[derive(Clone, Debug, Default)]
pub(super) struct Cgroup {
    /// Controllers that its children have.
    pub(super) subtree: Vec<String>,
    pub(super) cpus: CpuSet,
    pub(super) mems: CpuSet,
    /// `cpuset.cpus.exclusive`.
    pub(super) exclusive: CpuSet,
    /// `cpuset.cpus.partition`; `None`: a member.
    pub(super) partition: Option<PartitionState>,
    pub(super) max: Option<String>,
    /// `memory.max` and `memory.current`; `None`: no memory is counted.
    pub(super) memory: Option<(String, u64)>,
    /// Whether processes are in it, not in one below.
    pub(super) has_processes: bool,
}

/// What a cgroup that is no member is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PartitionState {
    pub(super) kind: Partition,
    /// Why it is no partition although it should be.
    pub(super) invalid: Option<&'static str>,
}

impl fmt::Display for PartitionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.invalid {
            None => self.kind.fmt(f),
            Some(why) => write!(f, "{} invalid ({why})", self.kind),
        }
    }
}
