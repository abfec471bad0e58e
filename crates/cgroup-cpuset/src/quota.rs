//! How much CPU time a cgroup gets: `cpu.max`. Containers with exclusive CPUs have no quota, since one would
//! stop them on CPUs that no other container may use (the kubelet's `DisableCPUQuotaWithExclusiveCPUs`).

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::cgroups::Cgroups;
use crate::files::{Files, is_gone};
use crate::path::CgroupPath;
use crate::place::Written;

/// How much CPU time in how long, both in microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quota {
    /// At most so much; `None`: any.
    pub at_most: Option<u64>,
    /// In each such time.
    pub period: u64,
}

impl Quota {
    /// Any, in the kernel's own period.
    pub const NONE: Self = Self { at_most: None, period: 100_000 };
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at_most {
            None => write!(f, "max {}", self.period),
            Some(at_most) => write!(f, "{at_most} {}", self.period),
        }
    }
}

/// Why a quota is not in effect.
#[derive(Debug, Error)]
pub enum QuotaError {
    /// There is no such cgroup (any more).
    #[error("cgroup {0} is gone")]
    Gone(CgroupPath),
    /// The kernel says no.
    #[error("failed to write {text:?} to {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What was written.
        text: String,
        /// The kernel's error.
        #[source]
        source: io::Error,
    },
}

impl<F: Files> Cgroups<F> {
    /// Sets the quota of a cgroup where it is another; the `cpu` controller is enabled on the way there.
    ///
    /// # Errors
    /// The cgroup is gone, or the kernel refuses.
    pub fn limit(&self, cgroup: &CgroupPath, quota: Quota) -> Result<Written, QuotaError> {
        let path = self.root.join(cgroup.as_path()).join("cpu.max");
        let text = quota.to_string();
        if self.files.read(&path).is_ok_and(|before| before.trim() == text) {
            return Ok(Written::Nothing);
        }
        let gone_or = |path: PathBuf, text: String, source: io::Error| {
            if is_gone(&source) {
                QuotaError::Gone(cgroup.clone())
            } else {
                QuotaError::Write { path, text, source }
            }
        };
        self.enable("cpu", &cgroup.ancestors())
            .map_err(|(path, source)| gone_or(path, "+cpu".to_owned(), source))?;
        self.files.write(&path, &text).map_err(|source| gone_or(path, text, source))?;
        Ok(Written::Changed)
    }
}
