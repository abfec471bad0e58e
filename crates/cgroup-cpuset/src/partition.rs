//! CPUs that no other cgroup runs on: a partition for a cgroup, wherever in the hierarchy it is.
//!
//! The kernel makes a *remote* partition of a cgroup when its CPUs stand in `cpuset.cpus.exclusive` of the cgroup and of
//! every cgroup above it but the root, and its `cpuset.cpus.partition` says so. The cgroups above have the CPUs of all
//! partitions below them there, and what others wrote beside them. What is asked for is a wish once more: a partition may
//! be invalid from the start, or become so, and its file then says why.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use cpuset::CpuSet;
use thiserror::Error;

use crate::cgroups::Cgroups;
use crate::files::{Files, is_gone};
use crate::path::CgroupPath;
use crate::place::{PlaceError, Written};

const EXCLUSIVE: &str = "cpuset.cpus.exclusive";
const PARTITION: &str = "cpuset.cpus.partition";
/// The root has it since Linux 6.8, where partitions can be anywhere in the hierarchy.
const ISOLATED: &str = "cpuset.cpus.isolated";
const MEMBER: &str = "member";

/// What a partition is for its CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Partition {
    /// A separate scheduling domain: `root`.
    Root,
    /// None: tasks stay on the CPU where they are put, and the kernel's unbound work stays away: `isolated`.
    Isolated,
}

/// Why no cgroup of a hierarchy can be a partition.
#[derive(Debug, Error)]
#[error(
    "{} has no {ISOLATED}: partitions below other cgroups need the hierarchy's own root and Linux 6.8", .0.display()
)]
pub struct NoPartitions(PathBuf);

/// Why a cgroup is no partition, or still is one.
#[derive(Debug, Error)]
pub enum PartitionError {
    /// There is no such cgroup (any more).
    #[error("cgroup {0} is gone")]
    Gone(CgroupPath),
    /// The kernel made something else of what was asked for.
    #[error("{} is {says:?} instead of \"{wanted}\"", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What was written.
        wanted: Partition,
        /// What the kernel says of it.
        says: String,
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
    /// A file cannot be read.
    #[error(transparent)]
    Read(Box<PlaceError>),
}

impl From<PlaceError> for PartitionError {
    fn from(error: PlaceError) -> Self {
        match error {
            PlaceError::Gone(cgroup) => Self::Gone(cgroup),
            error => Self::Read(Box::new(error)),
        }
    }
}

impl Partition {
    /// The kernel's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Isolated => "isolated",
        }
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl<F: Files> Cgroups<F> {
    /// Whether cgroups anywhere in the hierarchy can be partitions.
    ///
    /// # Errors
    /// The kernel is too old, or this is only a part of its hierarchy.
    pub fn can_partition(&self) -> Result<(), NoPartitions> {
        match self.files.read(&self.root.join(ISOLATED)) {
            Ok(_) => Ok(()),
            Err(_) => Err(NoPartitions(self.root.clone())),
        }
    }

    /// The CPUs that are online and in no partition.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn in_no_partition(&self) -> Result<CpuSet, PlaceError> {
        Ok(self.read_list(&self.root.join("cpuset.cpus.effective"))?.unwrap_or_default())
    }

    /// Makes a cgroup that has been [placed](Cgroups::place) on these CPUs a partition with them, unless it is one.
    ///
    /// # Errors
    /// The cgroup is gone, the kernel refuses, or the partition is invalid. What was written before the error stays.
    pub fn partition(
        &self,
        cgroup: &CgroupPath,
        cpus: &CpuSet,
        wanted: Partition,
    ) -> Result<Written, PartitionError> {
        let path = self.root.join(cgroup.as_path()).join(PARTITION);
        let own = self.read_set(cgroup, EXCLUSIVE)?;
        let is_partition = self.says(&path)?.ok_or_else(|| PartitionError::Gone(cgroup.clone()))?;
        let mut written = Written::Nothing;
        // From the root down: a cgroup has none that the one above does not have.
        for above in between(cgroup) {
            let file = self.root.join(above).join(EXCLUSIVE);
            let has = self.read_list(&file)?.unwrap_or_default();
            if !cpus.is_subset(&has) {
                self.put(cgroup, file, &(&has | cpus).to_string())?;
                written = Written::Changed;
            }
        }
        let is_other = own.as_ref() != Some(cpus);
        if is_other {
            if is_partition != MEMBER {
                self.put(cgroup, path.clone(), MEMBER)?;
            }
            self.put(cgroup, self.root.join(cgroup.as_path()).join(EXCLUSIVE), &cpus.to_string())?;
        }
        if is_other || is_partition != wanted.word() {
            self.put(cgroup, path.clone(), wanted.word())?;
            written = Written::Changed;
        }
        match self.says(&path)? {
            None => Err(PartitionError::Gone(cgroup.clone())),
            Some(says) if says == wanted.word() => Ok(written),
            Some(says) => Err(PartitionError::Invalid { path, wanted, says }),
        }
    }

    /// Makes a cgroup with these CPUs a member again, and takes the CPUs from the cgroups above it, but for those that
    /// partitions `beside` it have. The cgroup may be gone: the kernel ends its partition then, and leaves what stands
    /// above.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn release(
        &self,
        cgroup: &CgroupPath,
        cpus: &CpuSet,
        beside: &BTreeMap<CgroupPath, CpuSet>,
    ) -> Result<Written, PartitionError> {
        let folder = self.root.join(cgroup.as_path());
        let mut written = Written::Nothing;
        if self.says(&folder.join(PARTITION))?.is_some_and(|says| says != MEMBER) {
            self.put_unless_gone(cgroup, folder.join(PARTITION), MEMBER)?;
            written = Written::Changed;
        }
        if self.read_list(&folder.join(EXCLUSIVE))?.is_some_and(|own| !own.is_empty()) {
            self.put_unless_gone(cgroup, folder.join(EXCLUSIVE), "")?;
            written = Written::Changed;
        }
        // From below up: a cgroup keeps what one below it has.
        for above in between(cgroup).into_iter().rev() {
            let needed = beside
                .iter()
                .filter(|(other, _)| *other != cgroup && other.as_path().starts_with(above))
                .fold(CpuSet::new(), |sum, (_, cpus)| &sum | cpus);
            let file = self.root.join(above).join(EXCLUSIVE);
            let has = self.read_list(&file)?.unwrap_or_default();
            let left = &has - &(cpus - &needed);
            if left != has {
                self.put_unless_gone(cgroup, file, &left.to_string())?;
                written = Written::Changed;
            }
        }
        Ok(written)
    }

    /// What the kernel says of a partition; `None`: the cgroup is gone, or has no such file.
    fn says(&self, path: &Path) -> Result<Option<String>, PartitionError> {
        Ok(self.read_if_there(path)?.map(|text| text.trim().to_owned()))
    }

    fn put(&self, cgroup: &CgroupPath, path: PathBuf, text: &str) -> Result<(), PartitionError> {
        // Nothing at all would not be written.
        let line = if text.is_empty() { "\n" } else { text };
        self.files.write(&path, line).map_err(|source| {
            if is_gone(&source) {
                PartitionError::Gone(cgroup.clone())
            } else {
                PartitionError::Write { path, text: text.to_owned(), source }
            }
        })
    }

    fn put_unless_gone(&self, cgroup: &CgroupPath, path: PathBuf, text: &str) -> Result<(), PartitionError> {
        match self.put(cgroup, path, text) {
            Err(PartitionError::Gone(_)) => Ok(()),
            put => put,
        }
    }
}

/// The cgroups above one, from the top down, without the root, which has all CPUs.
fn between(cgroup: &CgroupPath) -> Vec<&Path> {
    cgroup.ancestors().into_iter().filter(|above| !above.as_os_str().is_empty()).collect()
}
