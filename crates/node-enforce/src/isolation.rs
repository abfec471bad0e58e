//! Partitions of containers with exclusive CPUs: released before another container gets the CPUs, and made once no other
//! container uses them.
//!
//! A file of the root folder lists them, and is written before each is made. So the next daemon can release those that are no
//! longer wanted, also of containers that ended meanwhile: the kernel ends their partitions, and leaves their CPUs to the
//! cgroups above.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cgroup_cpuset::{CgroupPath, Cgroups, Files, Partition, PartitionError, Written};
use conditions::{Condition, Conditions, State};
use cpuset::CpuSet;
use node_agent::{Enforcement, Snapshot};
use node_config::CpuPartition;
use node_input::LoadedNode;
use node_view::clock::Clock;
use node_view::{Lasting, OwnFile};
use serde::{Deserialize, Serialize};

use super::cause::with_cause;

/// The file in the root folder.
const FILE: &str = "cgroup_partitions.json";

/// The reason of a partition that is not made or not valid.
const NOT_MADE: &str = "NotMade";
/// The reason of a partition that is not released.
pub(super) const NOT_RELEASED: &str = "NotReleased";

/// CPUs by cgroup.
pub(super) type CgroupCpus = BTreeMap<CgroupPath, CpuSet>;

/// Makes and releases partitions, and records them.
pub(super) struct Isolation {
    /// The kind of partition; `None`: partitions are off.
    kind: Option<Partition>,
    /// Partitions that were made, or may have been.
    held: CgroupCpus,
    /// Those of them that were valid at the last check.
    valid: BTreeSet<CgroupPath>,
    /// Whether the partition of each cgroup is valid, or released.
    conditions: Conditions<(), CgroupPath>,
    /// Cgroups that share CPUs which should be exclusive, and for how many rounds.
    sharing: BTreeMap<CgroupPath, u8>,
    /// The root of the cgroups.
    root: PathBuf,
    file: OwnFile,
    clock: Arc<dyn Clock>,
}

/// The file.
#[derive(Serialize, Deserialize)]
struct PartitionsFile {
    /// The root of the cgroups.
    root: PathBuf,
    /// CPUs by cgroup.
    partitions: BTreeMap<String, String>,
}

/// Something about a partition that the log reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PartitionProblem {
    pub(super) cgroup: CgroupPath,
    pub(super) kind: PartitionProblemKind,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum PartitionProblemKind {
    /// Another program had changed it; it is valid again.
    Repaired,
    /// The CPUs of a container are not isolated.
    NotMade(String),
    /// A partition cannot be released.
    NotReleased(String),
}

impl PartitionProblem {
    pub(super) fn log(&self) {
        let cgroup = &self.cgroup;
        match &self.kind {
            PartitionProblemKind::Repaired => {
                tracing::warn!(%cgroup, "partition was changed by others, and is back");
            }
            PartitionProblemKind::NotMade(why) => {
                tracing::error!(%cgroup, "container's CPUs are no partition: {why}");
            }
            PartitionProblemKind::NotReleased(why) => {
                tracing::error!(%cgroup, "partition is not released: {why}");
            }
        }
    }
}

/// The kernel's kind of partition for an option; `None`: partitions are off.
pub(super) const fn kind_of(option: CpuPartition) -> Option<Partition> {
    match option {
        CpuPartition::None => None,
        CpuPartition::Root => Some(Partition::Root),
        CpuPartition::Isolated => Some(Partition::Isolated),
    }
}

/// Which cgroups are to be partitions, and which share CPUs that should be exclusive.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// Running containers with exclusive CPUs that no other running container uses.
    pub(super) alone: CgroupCpus,
    /// Running containers with exclusive CPUs of which another container uses some, such as an init container and those after
    /// it.
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

    /// Of running containers, each with its CPUs, and with its cgroup if the CPUs are exclusive.
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
    /// With the partitions that the daemon before this one made; `root` is the root of the cgroups. Where the file names
    /// another root, that may be the same hierarchy mounted elsewhere.
    ///
    /// # Errors
    /// The file in `folder` is there and cannot be read.
    pub(super) fn load(
        kind: Option<Partition>,
        folder: &Path,
        root: &Path,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Self> {
        let file = OwnFile::new(folder, FILE);
        let held = read(&file)?.map(|(_, held)| held).unwrap_or_default();
        let (conditions, sharing, root) = (Conditions::new(), BTreeMap::new(), root.to_owned());
        Ok(Self { kind, held, valid: BTreeSet::new(), conditions, sharing, root, file, clock })
    }

    /// The root of the cgroups below which the daemon before this one made partitions.
    ///
    /// # Errors
    /// The file in `folder` is there and cannot be read.
    pub(super) fn made_below(folder: &Path) -> io::Result<Option<PathBuf>> {
        let kept = read(&OwnFile::new(folder, FILE))?;
        Ok(kept.filter(|(_, held)| !held.is_empty()).map(|(root, _)| root))
    }

    /// Writes the file of partitions.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn keep(&self) -> io::Result<()> {
        self.write(&self.held)
    }

    /// Whether partitions are off, and none is left from an earlier start.
    pub(super) fn is_off(&self) -> bool {
        self.kind.is_none() && self.held.is_empty()
    }

    /// Releases partitions that are not wanted with their CPUs; returns those that could not be released.
    pub(super) fn release<F: Files>(
        &mut self,
        cgroups: &Cgroups<F>,
        wanted: &CgroupCpus,
    ) -> (Vec<PartitionProblem>, CgroupCpus) {
        let mut problems = Vec::new();
        self.conditions.retain(|(), cgroup| wanted.contains_key(cgroup) || self.held.contains_key(cgroup));
        let over: Vec<(CgroupPath, CpuSet)> = self
            .held
            .iter()
            .filter(|(cgroup, cpus)| self.kind.is_none() || wanted.get(*cgroup) != Some(*cpus))
            .map(|(cgroup, cpus)| (cgroup.clone(), cpus.clone()))
            .collect();
        let mut is_changed = false;
        let mut kept = CgroupCpus::new();
        for (cgroup, cpus) in over {
            match cgroups.release(&cgroup, &cpus, &self.held) {
                Ok(_) => {
                    self.held.remove(&cgroup);
                    self.valid.remove(&cgroup);
                    self.set_valid(&cgroup);
                    is_changed = true;
                }
                Err(error) => {
                    problems.extend(
                        self.report_once(&cgroup, PartitionProblemKind::NotReleased(with_cause(&error))),
                    );
                    kept.insert(cgroup, cpus);
                }
            }
        }
        if is_changed && let Err(error) = self.write(&self.held) {
            // The next start releases those once more that the file still lists.
            tracing::warn!("failed to write {}: {error}", self.file);
        }
        (problems, kept)
    }

    /// Makes the partitions that are wanted, and checks those that are there.
    pub(super) fn make<F: Files>(
        &mut self,
        cgroups: &Cgroups<F>,
        wanted: &CgroupCpus,
    ) -> Vec<PartitionProblem> {
        let Some(kind) = self.kind else { return Vec::new() };
        let mut problems = Vec::new();
        let mut all = self.held.clone();
        // A partition that could not be released is listed with its earlier CPUs.
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
                    problems.extend(self.report_once(&cgroup, PartitionProblemKind::NotMade(why.clone())));
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
                    self.set_valid(cgroup);
                    if written == Written::Changed && !is_new {
                        problems.push(PartitionProblem {
                            cgroup: cgroup.clone(),
                            kind: PartitionProblemKind::Repaired,
                        });
                    }
                }
                // The container has ended; its exit is reported later.
                Err(PartitionError::Gone(_)) => {}
                Err(error) => {
                    self.valid.remove(cgroup);
                    problems
                        .extend(self.report_once(cgroup, PartitionProblemKind::NotMade(with_cause(&error))));
                }
            }
        }
        problems
    }

    /// Partitions that were made, or may have been.
    pub(super) const fn held(&self) -> &CgroupCpus {
        &self.held
    }

    /// Reports containers that have no partition yet, since some of its CPUs are in use.
    pub(super) fn report_waiting(&mut self, waiting: &CgroupCpus) -> Vec<PartitionProblem> {
        let mut problems = Vec::new();
        if self.kind.is_none() {
            return problems;
        }
        for (cgroup, cpus) in waiting {
            // A partition that cannot be released has been reported as that.
            let condition = self.conditions.get((), cgroup);
            if condition.is_none_or(|condition| condition.reason() != NOT_RELEASED) {
                let kind = PartitionProblemKind::NotMade(format!("not all of CPUs {cpus} are free yet"));
                problems.extend(self.report_once(cgroup, kind));
            }
        }
        problems
    }

    /// Reports containers whose CPUs another container uses too, in the second round in which it does: a container that has
    /// ended is listed until its exit is reported.
    pub(super) fn report_sharing(&mut self, sharing: &[CgroupPath]) -> Vec<PartitionProblem> {
        let rounds =
            |cgroup: &CgroupPath| self.sharing.get(cgroup).map_or(1, |rounds| rounds.saturating_add(1));
        self.sharing = sharing.iter().map(|cgroup| (cgroup.clone(), rounds(cgroup))).collect();
        let problems = self.sharing.iter().filter(|(_, rounds)| self.kind.is_some() && **rounds == 2);
        let kind = || PartitionProblemKind::NotMade("another container has some of them too".to_owned());
        problems.map(|(cgroup, _)| PartitionProblem { cgroup: cgroup.clone(), kind: kind() }).collect()
    }

    /// The partitions that are not valid, or not released, now.
    pub(super) fn faults(&self) -> impl Iterator<Item = (&CgroupPath, &Condition)> {
        self.conditions.failing().map(|((), cgroup, condition)| (cgroup, condition))
    }

    /// The CPUs of partitions that are valid.
    pub(super) fn cpus(&self) -> CpuSet {
        let valid = self.held.iter().filter(|(cgroup, _)| self.valid.contains(*cgroup));
        valid.fold(CpuSet::new(), |sum, (_, cpus)| &sum | cpus)
    }

    fn report_once(&mut self, cgroup: &CgroupPath, kind: PartitionProblemKind) -> Option<PartitionProblem> {
        let state = match &kind {
            PartitionProblemKind::Repaired => State::Works,
            PartitionProblemKind::NotMade(why) => State::failed(NOT_MADE, why),
            PartitionProblemKind::NotReleased(why) => State::failed(NOT_RELEASED, why),
        };
        let change = self.conditions.set((), cgroup.clone(), state, self.clock.since_1970());
        change.is_some().then(|| PartitionProblem { cgroup: cgroup.clone(), kind })
    }

    fn set_valid(&mut self, cgroup: &CgroupPath) {
        // Only failures are logged.
        let _ = self.conditions.set((), cgroup.clone(), State::Works, self.clock.since_1970());
    }

    fn write(&self, held: &CgroupCpus) -> io::Result<()> {
        let partitions = held.iter().map(|(cgroup, cpus)| (cgroup.to_string(), cpus.to_string())).collect();
        let kept = PartitionsFile { root: self.root.clone(), partitions };
        self.file.write(&(serde_json::to_string_pretty(&kept)? + "\n"), Lasting::UntilBoot)
    }
}

/// The root and the partitions in the file.
fn read(file: &OwnFile) -> io::Result<Option<(PathBuf, CgroupCpus)>> {
    file.read(|text| {
        let PartitionsFile { root, partitions } = serde_json::from_str(text)?;
        let owner = |(cgroup, cpus): (String, String)| {
            let cgroup = CgroupPath::new(cgroup).map_err(io::Error::other)?;
            Ok((cgroup, cpus.parse().map_err(io::Error::other)?))
        };
        Ok((root, partitions.into_iter().map(owner).collect::<io::Result<CgroupCpus>>()?))
    })
}

#[cfg(test)]
#[path = "isolation_tests.rs"]
mod tests;
