//! Which cgroup a process is in.

use std::path::Path;

use procfs::ProcError;
use procfs::process::Process;
use thiserror::Error;

use crate::path::{CgroupPath, NotAPath};

/// Why the cgroup of a process is not known.
#[derive(Debug, Error)]
pub enum ProcessError {
    /// There is no such process, or it may not be looked at.
    #[error("failed to read the cgroup of process {pid}")]
    Unreadable {
        /// Which.
        pid: i32,
        /// Why.
        #[source]
        source: ProcError,
    },
    /// Cgroup v1 alone.
    #[error("process {0} is in no cgroup v2")]
    NotVersion2(i32),
    /// In the root cgroup, or outside the root that `/proc` shows.
    #[error("process {pid} is in no cgroup whose cpuset can be written")]
    Root {
        /// Which.
        pid: i32,
        /// Why that is no cgroup to write to.
        #[source]
        source: NotAPath,
    },
}

/// The cgroup of a process, as `/proc/PID/cgroup` below `proc` has it.
///
/// # Errors
/// The process is gone, or in the root.
pub fn cgroup_of(proc: &Path, pid: i32) -> Result<CgroupPath, ProcessError> {
    let unreadable = |source| ProcessError::Unreadable { pid, source };
    let process = Process::new_with_root(proc.join(pid.to_string())).map_err(unreadable)?;
    let all = process.cgroups().map_err(unreadable)?;
    // The one of version 2 has number 0 and no controllers.
    let found = all.0.into_iter().find(|one| one.hierarchy == 0).ok_or(ProcessError::NotVersion2(pid))?;
    CgroupPath::new(found.pathname).map_err(|source| ProcessError::Root { pid, source })
}
