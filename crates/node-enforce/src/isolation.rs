//! Partitions of containers with exclusive CPUs: let go before anybody else gets the CPUs, made when nobody else has them
//! any more.
//!
//! What was made is kept in a file of the root folder, which is written first. So the next daemon lets go what is no
//! longer wanted, also of containers that ended meanwhile: the kernel ends their partitions, and leaves their CPUs to the
//! cgroups above.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use cgroup_cpuset::{CgroupPath, Cgroups, Files, Partition, PartitionError, Written};
use conditions::{Condition, Conditions, State};
use cpuset::CpuSet;
use node_agent::{Enforcement, Snapshot};
use node_config::CpuPartition;
use node_input::LoadedNode;
use node_view::{Lasting, OwnFile, now};
use serde::{Deserialize, Serialize};

use super::cause::with_cause;

/// The file in the root folder.
const FILE: &str = "cgroup_partitions.json";

/// The reason of a partition that is not made or not valid.
const NOT_MADE: &str = "NotMade";
/// The reason of a partition that is not released.
pub(super) const KEPT: &str = "NotReleased";

/// The CPUs of cgroups.
pub(super) type Owners = BTreeMap<CgroupPath, CpuSet>;

/// Makes partitions, and remembers them.
pub(super) struct Isolation {
    /// What they are; `None`: there are to be none.
    kind: Option<Partition>,
    /// What was made, or begun.
    held: Owners,
    /// Those of them that were valid when they were last looked at.
    valid: BTreeSet<CgroupPath>,
    /// Whether the partition of each cgroup is as it should be.
    conditions: Conditions<(), CgroupPath>,
    /// Cgroups that share CPUs which should be their own, and for how many rounds they have.
    sharing: BTreeMap<CgroupPath, u8>,
    /// The root of the cgroups.
    root: PathBuf,
    file: OwnFile,
}

/// The file.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// The root of the cgroups.
    root: PathBuf,
    /// CPUs by cgroup.
    partitions: BTreeMap<String, String>,
}

/// Something that is to be said of a partition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Trouble {
    pub(super) cgroup: CgroupPath,
    pub(super) what: What,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// It had been changed, and is as it should be.
    Repaired,
    /// The CPUs of a container are not isolated.
    NotMade(String),
    /// A partition is not let go.
    Kept(String),
}

impl Trouble {
    pub(super) fn log(&self) {
        let cgroup = &self.cgroup;
        match &self.what {
            What::Repaired => tracing::warn!(%cgroup, "partition was changed by others, and is back"),
            What::NotMade(why) => tracing::error!(%cgroup, "container's CPUs are no partition: {why}"),
            What::Kept(why) => tracing::error!(%cgroup, "partition is not released: {why}"),
        }
    }
}

/// The kernel's partition for an option; `None`: there is to be none.
pub(super) const fn kind_of(option: CpuPartition) -> Option<Partition> {
    match option {
        CpuPartition::None => None,
        CpuPartition::Root => Some(Partition::Root),
        CpuPartition::Isolated => Some(Partition::Isolated),
    }
}

/// Which cgroups are to be partitions, and which share CPUs that should be their own.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// Those of running containers with CPUs of their own that no other running container has.
    pub(super) alone: Owners,
    /// Those with CPUs of their own of which another container has some too, as an init container may have of those that
    /// follow it.
    pub(super) sharing: Vec<CgroupPath>,
}

impl Wanted {
    pub(super) fn of(node: &LoadedNode, snapshot: &Snapshot) -> Self {
        let has_own = |one: &Enforcement| {
            let pod = &snapshot.pods.get(&one.container.pod)?.pod;
            let (policy, held) = (node.node.cpus()?, snapshot.ledger.cpus()?);
            Some(policy.has_exclusive_cpus(held, pod, pod.container(&one.container.container)?))
        };
        Self::split(snapshot.places.iter().filter_map(|one| {
            let cgroup = one.cgroup.as_ref().and_then(|cgroup| CgroupPath::new(cgroup).ok());
            let cgroup = cgroup.filter(|_| has_own(one).unwrap_or(false));
            Some((cgroup, one.pinning.cpus.as_ref()?))
        }))
    }

    /// Of containers: the cgroup if the CPUs are its own, and the CPUs.
    pub(super) fn split<'a>(containers: impl Iterator<Item = (Option<CgroupPath>, &'a CpuSet)>) -> Self {
        let (mut all, mut twice) = (CpuSet::new(), CpuSet::new());
        let mut own = Vec::new();
        for (cgroup, cpus) in containers {
            twice = &twice | &(&all & cpus);
            all = &all | cpus;
            own.extend(cgroup.map(|cgroup| (cgroup, cpus)));
        }
        let mut wanted = Self::default();
        for (cgroup, cpus) in own {
            if cpus.is_disjoint(&twice) {
                wanted.alone.insert(cgroup, cpus.clone());
            } else {
                wanted.sharing.push(cgroup);
            }
        }
        wanted
    }
}

impl Isolation {
    /// What the daemon before this one made is held; `root` is the root of the cgroups. If that was another one, it may have
    /// been the same hierarchy at another place.
    ///
    /// # Errors
    /// The file in `folder` is there and cannot be read.
    pub(super) fn load(kind: Option<Partition>, folder: &Path, root: &Path) -> io::Result<Self> {
        let file = OwnFile::new(folder, FILE);
        let held = read(&file)?.map(|(_, held)| held).unwrap_or_default();
        let (conditions, sharing, root) = (Conditions::new(), BTreeMap::new(), root.to_owned());
        Ok(Self { kind, held, valid: BTreeSet::new(), conditions, sharing, root, file })
    }

    /// The root of the cgroups below which the daemon before this one made partitions.
    ///
    /// # Errors
    /// The file in `folder` is there and cannot be read.
    pub(super) fn made_below(folder: &Path) -> io::Result<Option<PathBuf>> {
        let kept = read(&OwnFile::new(folder, FILE))?;
        Ok(kept.filter(|(_, held)| !held.is_empty()).map(|(root, _)| root))
    }

    /// Writes the file with what is held.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn keep(&self) -> io::Result<()> {
        self.write(&self.held)
    }

    /// Whether there is nothing to do, and never will be.
    pub(super) fn is_off(&self) -> bool {
        self.kind.is_none() && self.held.is_empty()
    }

    /// Lets go what is not wanted as it is. What could not be let go is still held.
    pub(super) fn let_go<F: Files>(
        &mut self,
        cgroups: &Cgroups<F>,
        wanted: &Owners,
    ) -> (Vec<Trouble>, Owners) {
        let mut trouble = Vec::new();
        self.conditions.retain(|(), cgroup| wanted.contains_key(cgroup) || self.held.contains_key(cgroup));
        let over: Vec<(CgroupPath, CpuSet)> = self
            .held
            .iter()
            .filter(|(cgroup, cpus)| self.kind.is_none() || wanted.get(*cgroup) != Some(*cpus))
            .map(|(cgroup, cpus)| (cgroup.clone(), cpus.clone()))
            .collect();
        let mut is_changed = false;
        let mut kept = Owners::new();
        for (cgroup, cpus) in over {
            match cgroups.release(&cgroup, &cpus, &self.held) {
                Ok(_) => {
                    self.held.remove(&cgroup);
                    self.valid.remove(&cgroup);
                    self.is_right(&cgroup);
                    is_changed = true;
                }
                Err(error) => {
                    trouble.extend(self.say_once(&cgroup, What::Kept(with_cause(&error))));
                    kept.insert(cgroup, cpus);
                }
            }
        }
        if is_changed && let Err(error) = self.write(&self.held) {
            // What is in it beside is released once more at the next start.
            tracing::warn!("failed to write {}: {error}", self.file);
        }
        (trouble, kept)
    }

    /// Makes what is wanted, unless it is there, and looks at it.
    pub(super) fn take<F: Files>(&mut self, cgroups: &Cgroups<F>, wanted: &Owners) -> Vec<Trouble> {
        let Some(kind) = self.kind else { return Vec::new() };
        let mut trouble = Vec::new();
        let mut all = self.held.clone();
        // What could not be let go is held with the CPUs that it had.
        all.extend(
            wanted
                .iter()
                .filter(|(cgroup, _)| !self.held.contains_key(*cgroup))
                .map(|(cgroup, cpus)| (cgroup.clone(), cpus.clone())),
        );
        if all != self.held {
            if let Err(error) = self.write(&all) {
                let why = format!("failed to write {}: {error}", self.file);
                let new: Vec<CgroupPath> =
                    all.into_keys().filter(|cgroup| !self.held.contains_key(cgroup)).collect();
                for cgroup in new {
                    trouble.extend(self.say_once(&cgroup, What::NotMade(why.clone())));
                }
            } else {
                self.held = all;
            }
        }
        for (cgroup, cpus) in wanted {
            if self.held.get(cgroup) != Some(cpus) {
                continue;
            }
            match cgroups.partition(cgroup, cpus, kind) {
                Ok(written) => {
                    let is_new = self.valid.insert(cgroup.clone());
                    self.is_right(cgroup);
                    if written == Written::Changed && !is_new {
                        trouble.push(Trouble { cgroup: cgroup.clone(), what: What::Repaired });
                    }
                }
                // Somebody will say that it has exited.
                Err(PartitionError::Gone(_)) => {}
                Err(error) => {
                    self.valid.remove(cgroup);
                    trouble.extend(self.say_once(cgroup, What::NotMade(with_cause(&error))));
                }
            }
        }
        trouble
    }

    /// What was made, or begun.
    pub(super) const fn held(&self) -> &Owners {
        &self.held
    }

    /// Tells of containers that cannot have partitions yet, since they wait for CPUs of them.
    pub(super) fn tell_without(&mut self, waiting: &Owners) -> Vec<Trouble> {
        let mut told = Vec::new();
        if self.kind.is_none() {
            return told;
        }
        for (cgroup, cpus) in waiting {
            // What keeps it from that has been told of a partition that is not let go.
            let condition = self.conditions.get((), cgroup);
            if condition.is_none_or(|condition| condition.reason() != KEPT) {
                let what = What::NotMade(format!("not all of CPUs {cpus} are free yet"));
                told.extend(self.say_once(cgroup, what));
            }
        }
        told
    }

    /// Tells of containers whose CPUs another container has too, in the second round in which it has: one that has ended
    /// is there until somebody says so.
    pub(super) fn tell_sharing(&mut self, sharing: &[CgroupPath]) -> Vec<Trouble> {
        let rounds =
            |cgroup: &CgroupPath| self.sharing.get(cgroup).map_or(1, |rounds| rounds.saturating_add(1));
        self.sharing = sharing.iter().map(|cgroup| (cgroup.clone(), rounds(cgroup))).collect();
        let told = self.sharing.iter().filter(|(_, rounds)| self.kind.is_some() && **rounds == 2);
        let what = || What::NotMade("another container has some of them too".to_owned());
        told.map(|(cgroup, _)| Trouble { cgroup: cgroup.clone(), what: what() }).collect()
    }

    /// What is wrong now.
    pub(super) fn faults(&self) -> impl Iterator<Item = (&CgroupPath, &Condition)> {
        self.conditions.failing().map(|((), cgroup, condition)| (cgroup, condition))
    }

    /// The CPUs of partitions that are valid.
    pub(super) fn cpus(&self) -> CpuSet {
        let valid = self.held.iter().filter(|(cgroup, _)| self.valid.contains(*cgroup));
        valid.fold(CpuSet::new(), |sum, (_, cpus)| &sum | cpus)
    }

    fn say_once(&mut self, cgroup: &CgroupPath, what: What) -> Option<Trouble> {
        let state = match &what {
            What::Repaired => State::Works,
            What::NotMade(why) => State::failed(NOT_MADE, why),
            What::Kept(why) => State::failed(KEPT, why),
        };
        let change = self.conditions.set((), cgroup.clone(), state, now());
        change.is_some().then(|| Trouble { cgroup: cgroup.clone(), what })
    }

    fn is_right(&mut self, cgroup: &CgroupPath) {
        // Only what is wrong is logged.
        let _ = self.conditions.set((), cgroup.clone(), State::Works, now());
    }

    fn write(&self, held: &Owners) -> io::Result<()> {
        let partitions = held.iter().map(|(cgroup, cpus)| (cgroup.to_string(), cpus.to_string())).collect();
        let kept = Kept { root: self.root.clone(), partitions };
        self.file.write(&(serde_json::to_string_pretty(&kept)? + "\n"), Lasting::UntilBoot)
    }
}

/// What is in the file.
fn read(file: &OwnFile) -> io::Result<Option<(PathBuf, Owners)>> {
    file.read(|text| {
        let Kept { root, partitions } = serde_json::from_str(text)?;
        let owner = |(cgroup, cpus): (String, String)| {
            let cgroup = CgroupPath::new(cgroup).map_err(io::Error::other)?;
            Ok((cgroup, cpus.parse().map_err(io::Error::other)?))
        };
        Ok((root, partitions.into_iter().map(owner).collect::<io::Result<Owners>>()?))
    })
}

#[cfg(test)]
#[path = "isolation_tests.rs"]
mod tests;
