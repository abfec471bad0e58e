//! A container's CPUs and NUMA nodes: written, and what came of it.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use cpuset::{CpuId, CpuSet};
use thiserror::Error;
use topology_model::NodeId;

use crate::cgroups::Cgroups;
use crate::files::{Files, is_gone};
use crate::path::CgroupPath;

/// Where a container may run and have its memory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// Its CPUs; `None`: left as they are. An empty set is refused, since the kernel would take it for all.
    pub cpus: Option<CpuSet>,
    /// The ids of its NUMA nodes; `None`: left as they are.
    pub mems: Option<BTreeSet<NodeId>>,
}

/// What a write changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    /// It was so before.
    Nothing,
    /// It was not, and is now.
    Changed,
}

/// One of the two sets of a cgroup.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Set {
    /// `cpuset.cpus`.
    Cpus,
    /// `cpuset.mems`.
    Mems,
}

/// A set of which something else is in effect than belongs there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Which.
    pub set: Set,
    /// The CPUs, or the ids of NUMA nodes, that belong there.
    pub wanted: CpuSet,
    /// Those that are in effect.
    pub effective: CpuSet,
}

/// Why a container is not where it belongs.
#[derive(Debug, Error)]
pub enum PlaceError {
    /// There is no such cgroup (any more).
    #[error("cgroup {0} is gone")]
    Gone(CgroupPath),
    /// Nothing was asked for.
    #[error("{set} of cgroup {cgroup} is to be empty, which the kernel takes for everything")]
    Empty {
        /// Which.
        cgroup: CgroupPath,
        /// Which of its sets.
        set: Set,
    },
    /// Processes are in a cgroup that has others below it.
    #[error("{} cannot hand the {controller} controller down, since processes are in that cgroup itself", path.display())]
    Busy {
        /// The file that was written.
        path: PathBuf,
        /// Which controller.
        controller: &'static str,
    },
    /// A node id that is none.
    #[error("NUMA node {0} is no node of a kernel")]
    Node(NodeId),
    /// What stands in its file is not what is in effect.
    #[error("{set} of cgroup {cgroup} is {wanted}, but {effective} is in effect, since {above} has no more")]
    NotEffective {
        /// Which.
        cgroup: CgroupPath,
        /// Which of its sets.
        set: Set,
        /// What was written.
        wanted: CpuSet,
        /// What the kernel made of it.
        effective: CpuSet,
        /// The highest cgroup that does not have all of it, `/` for the root.
        above: Box<str>,
    },
    /// Other CPUs stand in its file than those that were written a moment before.
    #[error(
        "CPUs {wanted} were written to cgroup {cgroup}, and {found} stand there: another program has written it"
    )]
    Overwritten {
        /// Which.
        cgroup: CgroupPath,
        /// What was written.
        wanted: CpuSet,
        /// What stands there.
        found: CpuSet,
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
    #[error("failed to read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// A file holds no list of CPUs or nodes.
    #[error("{} holds {text:?}, which is no list", path.display())]
    NoList {
        /// The file.
        path: PathBuf,
        /// What is in it.
        text: String,
    },
}

impl Set {
    pub(crate) const fn file(self) -> &'static str {
        match self {
            Self::Cpus => "cpuset.cpus",
            Self::Mems => "cpuset.mems",
        }
    }

    pub(crate) const fn effective(self) -> &'static str {
        match self {
            Self::Cpus => "cpuset.cpus.effective",
            Self::Mems => "cpuset.mems.effective",
        }
    }
}

/// The set in a file's text.
pub(crate) fn list(path: &Path, text: &str) -> Result<CpuSet, PlaceError> {
    CpuSet::from_kernel_list(text).map_err(|_| PlaceError::NoList {
        path: path.to_owned(),
        text: text.trim().chars().take(80).collect(),
    })
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file())
    }
}

impl<F: Files> Cgroups<F> {
    /// Writes a container's sets where they are others, and looks at what is in effect afterwards. The controller is
    /// enabled on the way there.
    ///
    /// # Errors
    /// The cgroup is gone, the kernel refuses, or something else than what was written is in effect. What was written
    /// before the error stays.
    pub fn place(&self, cgroup: &CgroupPath, place: &Place) -> Result<Written, PlaceError> {
        let mut written = Written::Nothing;
        for (set, wanted) in wanted(cgroup, place)? {
            if self.read_set(cgroup, set.file())?.as_ref() != Some(&wanted) {
                self.enable_cpuset(cgroup)?;
                self.write(cgroup, set, &wanted)?;
                written = Written::Changed;
            }
        }
        for (set, wanted) in wanted(cgroup, place)? {
            self.check(cgroup, set, wanted)?;
        }
        Ok(written)
    }

    /// What is in effect in a cgroup; of one without the controller, what is in effect above.
    ///
    /// # Errors
    /// The cgroup is gone or cannot be read.
    pub fn effective(&self, cgroup: &CgroupPath, set: Set) -> Result<CpuSet, PlaceError> {
        if let Some(own) = self.read_set(cgroup, set.effective())? {
            return Ok(own);
        }
        for above in cgroup.ancestors().into_iter().rev() {
            if let Some(found) = self.read_list(&self.root.join(above).join(set.effective()))? {
                return Ok(found);
            }
        }
        Err(PlaceError::Gone(cgroup.clone()))
    }

    /// The CPUs in effect of a cgroup that was placed on some; `None`: it has all that the cgroup above has.
    ///
    /// # Errors
    /// The cgroup is gone or cannot be read.
    pub fn placed_on(&self, cgroup: &CgroupPath) -> Result<Option<CpuSet>, PlaceError> {
        match self.read_set(cgroup, Set::Cpus.file())? {
            Some(own) if !own.is_empty() => {
                let now = self.effective(cgroup, Set::Cpus)?;
                // The kernel takes a set of which nothing can be had for none.
                Ok((!now.is_disjoint(&own)).then_some(now))
            }
            _ => Ok(None),
        }
    }

    /// The sets of which something else is in effect than belongs there, CPUs first.
    ///
    /// # Errors
    /// The cgroup is gone or cannot be read, or nothing belongs there.
    pub fn differing(&self, cgroup: &CgroupPath, place: &Place) -> Result<Vec<Difference>, PlaceError> {
        let mut differing = Vec::new();
        for (set, wanted) in wanted(cgroup, place)? {
            let effective = self.effective(cgroup, set)?;
            if effective != wanted {
                differing.push(Difference { set, wanted, effective });
            }
        }
        differing.sort_by_key(|difference| difference.set);
        Ok(differing)
    }

    fn enable_cpuset(&self, cgroup: &CgroupPath) -> Result<(), PlaceError> {
        self.enable("cpuset", &cgroup.ancestors())
            .map_err(|(path, source)| refused(cgroup, path, "cpuset", source))
    }

    pub(crate) fn write(&self, cgroup: &CgroupPath, set: Set, wanted: &CpuSet) -> Result<(), PlaceError> {
        let path = self.root.join(cgroup.as_path()).join(set.file());
        let text = wanted.to_string();
        self.files.write(&path, &text).map_err(|source| {
            if is_gone(&source) {
                PlaceError::Gone(cgroup.clone())
            } else {
                PlaceError::Write { path, text, source }
            }
        })
    }

    /// What stands in a file of the cgroup; `None`: the cgroup has no such file.
    pub(crate) fn read_set(&self, cgroup: &CgroupPath, file: &str) -> Result<Option<CpuSet>, PlaceError> {
        let folder = self.root.join(cgroup.as_path());
        match self.read_list(&folder.join(file))? {
            Some(set) => Ok(Some(set)),
            // Every cgroup has this one.
            None if self.files.read(&folder.join("cgroup.controllers")).is_ok() => Ok(None),
            None => Err(PlaceError::Gone(cgroup.clone())),
        }
    }

    pub(crate) fn read_list(&self, path: &Path) -> Result<Option<CpuSet>, PlaceError> {
        self.read_if_there(path)?.map(|text| list(path, &text)).transpose()
    }

    pub(crate) fn read_if_there(&self, path: &Path) -> Result<Option<String>, PlaceError> {
        match self.files.read(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if is_gone(&error) => Ok(None),
            Err(source) => Err(PlaceError::Read { path: path.to_owned(), source }),
        }
    }

    fn check(&self, cgroup: &CgroupPath, set: Set, wanted: CpuSet) -> Result<(), PlaceError> {
        let effective = self.effective(cgroup, set)?;
        if effective == wanted {
            return Ok(());
        }
        let mut above = "the machine".to_owned();
        for ancestor in cgroup.ancestors() {
            let path = self.root.join(ancestor).join(set.effective());
            if self.read_list(&path)?.is_some_and(|has| !wanted.is_subset(&has)) {
                above = format!("cgroup /{}", ancestor.display());
                break;
            }
        }
        Err(PlaceError::NotEffective { cgroup: cgroup.clone(), set, wanted, effective, above: above.into() })
    }
}

/// What a refused write to `cgroup.subtree_control` means.
pub(crate) fn refused(
    cgroup: &CgroupPath,
    path: PathBuf,
    controller: &'static str,
    source: io::Error,
) -> PlaceError {
    match source.kind() {
        io::ErrorKind::ResourceBusy => PlaceError::Busy { path, controller },
        _ if is_gone(&source) => PlaceError::Gone(cgroup.clone()),
        _ => PlaceError::Write { path, text: format!("+{controller}"), source },
    }
}

/// The sets that are asked for. The nodes come first: a container is started on its CPUs with its memory at hand.
fn wanted(cgroup: &CgroupPath, place: &Place) -> Result<Vec<(Set, CpuSet)>, PlaceError> {
    let mut wanted = Vec::new();
    if let Some(nodes) = &place.mems {
        let ids = nodes.iter().map(|node| {
            let id = usize::try_from(node.0).ok().and_then(|id| CpuId::new(id).ok());
            id.ok_or(PlaceError::Node(*node))
        });
        wanted.push((Set::Mems, ids.collect::<Result<CpuSet, _>>()?));
    }
    if let Some(cpus) = &place.cpus {
        wanted.push((Set::Cpus, cpus.clone()));
    }
    match wanted.iter().find(|(_, ids)| ids.is_empty()) {
        Some((set, _)) => Err(PlaceError::Empty { cgroup: cgroup.clone(), set: *set }),
        None => Ok(wanted),
    }
}
