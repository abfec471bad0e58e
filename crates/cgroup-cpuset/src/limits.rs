//! How much a container may use, where that changes while it runs: `memory.max` and `cpu.max`.
//!
//! Who made a cgroup has limited it. Only what is limited there gets another limit, and a quota keeps its period.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::cgroups::Cgroups;
use crate::files::{Files, is_gone};
use crate::path::CgroupPath;
use crate::place::Written;

const MEMORY: &str = "memory.max";
const CPU: &str = "cpu.max";
/// The kernel keeps whole pages of the limit that is written.
const LARGEST_PAGE: u64 = 64 << 10;
/// The kernel takes no shorter quota, in microseconds.
const SHORTEST_QUOTA: u64 = 1000;

/// What a container may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    /// Thousandths of a CPU; `None`: left as it is.
    pub cpu: Option<u64>,
    /// Bytes of memory; `None`: left as it is.
    pub memory: Option<u64>,
}

/// Why a limit is not in effect.
#[derive(Debug, Error)]
pub enum LimitError {
    /// There is no such cgroup (any more).
    #[error("cgroup {0} is gone")]
    Gone(CgroupPath),
    /// It uses as much memory as it may use from now on, or more: the kernel would kill processes for that.
    #[error("cgroup {cgroup} uses {limit} bytes of memory or more, so that this limit is not written")]
    InUse {
        /// Which.
        cgroup: CgroupPath,
        /// Bytes in use.
        used: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The limit is written, and a cgroup above has a lower one.
    #[error("{file} of cgroup {cgroup} is {limit}, and cgroup /{} has only {has}", above.display())]
    Above {
        /// Which.
        cgroup: CgroupPath,
        /// `memory.max` or `cpu.max`.
        file: &'static str,
        /// What was written.
        limit: String,
        /// The highest cgroup that has less.
        above: PathBuf,
        /// What it has.
        has: String,
    },
    /// A file holds something else than a limit.
    #[error("{} holds {text:?}, which is no limit", path.display())]
    NoLimit {
        /// The file.
        path: PathBuf,
        /// What is in it.
        text: String,
    },
    /// A file cannot be read.
    #[error("failed to read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
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

/// A quota: microseconds of CPU time in each period.
#[derive(Clone, Copy)]
struct Share {
    quota: u64,
    period: u64,
}

impl<F: Files> Cgroups<F> {
    /// Bytes of memory that a cgroup uses, with what the kernel has cached for it; `None`: they are not counted.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn memory_in_use(&self, cgroup: &CgroupPath) -> Result<Option<u64>, LimitError> {
        let path = self.root.join(cgroup.as_path()).join("memory.current");
        let Some(text) = self.read_limit(&path)? else { return Ok(None) };
        text.parse().map(Some).map_err(|_| LimitError::NoLimit { path, text })
    }

    /// Gives a cgroup other limits than it has. A cgroup without a limit gets none. Each is tried, whatever the other comes
    /// to.
    ///
    /// # Errors
    /// Memory in use is above the limit, which is not written then; the kernel refuses; or a cgroup above has less. Of two
    /// errors the one about memory.
    pub fn change_limits(&self, cgroup: &CgroupPath, limits: &Limits) -> Result<Written, LimitError> {
        let memory = limits.memory.map_or(Ok(Written::Nothing), |bytes| self.change_memory(cgroup, bytes));
        let cpu = limits.cpu.map_or(Ok(Written::Nothing), |milli| self.change_quota(cgroup, milli));
        let (memory, cpu) = (memory?, cpu?);
        Ok(if memory == Written::Changed { memory } else { cpu })
    }

    fn change_memory(&self, cgroup: &CgroupPath, limit: u64) -> Result<Written, LimitError> {
        let path = self.root.join(cgroup.as_path()).join(MEMORY);
        let Some(before) = self.memory_limit(&path)? else { return Ok(Written::Nothing) };
        let is_so = before <= limit && limit - before < LARGEST_PAGE;
        if !is_so {
            if let Some(used) = self.memory_in_use(cgroup)?.filter(|used| *used >= limit) {
                return Err(LimitError::InUse { cgroup: cgroup.clone(), used, limit });
            }
            self.write_limit(cgroup, path, limit.to_string())?;
        }
        for above in cgroup.ancestors() {
            let has = self.memory_limit(&self.root.join(above).join(MEMORY))?;
            if let Some(has) = has.filter(|has| *has < limit && limit - has >= LARGEST_PAGE) {
                return Err(above_has_less(cgroup, MEMORY, limit.to_string(), above, has.to_string()));
            }
        }
        Ok(if is_so { Written::Nothing } else { Written::Changed })
    }

    fn change_quota(&self, cgroup: &CgroupPath, milli: u64) -> Result<Written, LimitError> {
        let path = self.root.join(cgroup.as_path()).join(CPU);
        let Some(Share { quota: before, period }) = self.share(&path)? else { return Ok(Written::Nothing) };
        let quota = (milli.saturating_mul(period) / 1000).max(SHORTEST_QUOTA);
        let text = format!("{quota} {period}");
        if quota != before {
            self.write_limit(cgroup, path, text.clone())?;
        }
        for above in cgroup.ancestors() {
            let has = self.share(&self.root.join(above).join(CPU))?;
            let is_less = |has: &Share| {
                u128::from(has.quota) * u128::from(period) < u128::from(quota) * u128::from(has.period)
            };
            if let Some(Share { quota, period }) = has.filter(is_less) {
                let has = format!("{quota} {period}");
                return Err(above_has_less(cgroup, CPU, text, above, has));
            }
        }
        Ok(if quota == before { Written::Nothing } else { Written::Changed })
    }

    /// Bytes; `None`: no limit.
    fn memory_limit(&self, path: &Path) -> Result<Option<u64>, LimitError> {
        let Some(text) = self.read_limit(path)?.filter(|text| text != "max") else { return Ok(None) };
        text.parse().map(Some).map_err(|_| LimitError::NoLimit { path: path.to_owned(), text })
    }

    /// `None`: no quota.
    fn share(&self, path: &Path) -> Result<Option<Share>, LimitError> {
        let Some(text) = self.read_limit(path)?.filter(|text| !text.starts_with("max")) else {
            return Ok(None);
        };
        let parts = text.split_once(' ').and_then(|(quota, period)| {
            Some(Share {
                quota: quota.parse().ok()?,
                period: period.parse().ok().filter(|period| *period > 0)?,
            })
        });
        parts.map(Some).ok_or_else(|| LimitError::NoLimit { path: path.to_owned(), text })
    }

    /// `None`: the cgroup has no such file, or is gone.
    fn read_limit(&self, path: &Path) -> Result<Option<String>, LimitError> {
        match self.files.read(path) {
            Ok(text) => Ok(Some(text.trim().to_owned())),
            Err(error) if is_gone(&error) => Ok(None),
            Err(source) => Err(LimitError::Read { path: path.to_owned(), source }),
        }
    }

    fn write_limit(&self, cgroup: &CgroupPath, path: PathBuf, text: String) -> Result<(), LimitError> {
        self.files.write(&path, &text).map_err(|source| {
            if is_gone(&source) {
                LimitError::Gone(cgroup.clone())
            } else {
                LimitError::Write { path, text, source }
            }
        })
    }
}

fn above_has_less(
    cgroup: &CgroupPath,
    file: &'static str,
    limit: String,
    above: &Path,
    has: String,
) -> LimitError {
    LimitError::Above { cgroup: cgroup.clone(), file, limit, above: above.to_owned(), has }
}
