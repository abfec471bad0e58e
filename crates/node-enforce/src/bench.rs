//! A kernel in memory for tests of rounds. Tests write to it beside the code under test and choose files that cannot be
//! written; after each write it checks whether two containers have a CPU that only one of them should have.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use cgroup_cpuset::{CgroupPath, Cgroups, Files, MemoryHierarchy, Partition};
use cpu_manager::CpuQuota;
use cpuset::CpuSet;
use node_agent::{Enforcement, Pinning};
use node_config::CpuInterrupts;
use node_view::clock::{Clock, SystemClock};
use parking_lot::Mutex;
use pod_spec::{ContainerKey, ContainerName, PodUid};
use tempfile::TempDir;

use super::isolation::{Isolation, PartitionProblemKind, Wanted};
use super::keeper::{Keeper, Outcome};
use super::quiet::Quiet;

pub(super) const ROOT: &str = "/sys/fs/cgroup";
const EBUSY: i32 = 16;
const EIO: i32 = 5;

#[derive(Clone)]
pub(super) struct Kernel(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) hierarchy: MemoryHierarchy,
    /// Files below the root that cannot be written.
    pub(super) refused: Mutex<BTreeSet<String>>,
    watched: Mutex<Watched>,
    /// Writes after which two containers had a CPU that they do not share, and had not both before.
    pub(super) twice: Mutex<Vec<String>>,
}

/// The containers of a round.
#[derive(Default)]
struct Watched {
    names: Vec<String>,
    /// What is shared after it.
    pool: CpuSet,
    /// What two of them shared before.
    both: BTreeMap<(String, String), CpuSet>,
}

impl Files for Kernel {
    fn read(&self, path: &Path) -> io::Result<String> {
        if path.starts_with(ROOT) { self.0.hierarchy.read(path) } else { fs::read_to_string(path) }
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        let Ok(below) = path.strip_prefix(ROOT) else {
            // Of the folder that is `/proc`.
            let is_managed = path.with_file_name("managed").exists();
            return if is_managed { Err(io::Error::from_raw_os_error(EIO)) } else { fs::write(path, text) };
        };
        let below = below.to_str().unwrap();
        if self.0.refused.lock().contains(below) {
            return Err(io::Error::from_raw_os_error(EBUSY));
        }
        self.0.hierarchy.write(path, text)?;
        let mut watched = self.0.watched.lock();
        let both = self.both(&watched.names);
        for (pair, cpus) in &both {
            let before = watched.both.get(pair).cloned().unwrap_or_default();
            let new = &(cpus - &watched.pool) - &before;
            if !new.is_empty() {
                self.0.twice.lock().push(format!("{below}={text}: {pair:?} have {new}"));
            }
        }
        watched.both = both;
        Ok(())
    }
}

impl Kernel {
    /// What each two of these containers both have.
    fn both(&self, names: &[String]) -> BTreeMap<(String, String), CpuSet> {
        let cgroups = Cgroups::on(&self.0.hierarchy, ROOT).unwrap();
        let mut both = BTreeMap::new();
        let mut seen: BTreeMap<&String, CpuSet> = BTreeMap::new();
        for name in names {
            // A cgroup without CPUs set runs anywhere.
            let Ok(Some(cpus)) = cgroups.placed_on(&path(name)) else { continue };
            both.extend(seen.iter().map(|(other, had)| (((*other).clone(), name.clone()), &cpus & had)));
            seen.insert(name, cpus);
        }
        both
    }
}

fn path(name: &str) -> CgroupPath {
    CgroupPath::new(format!("pods/{name}/c")).unwrap()
}

pub(super) struct Bench {
    pub(super) kernel: Kernel,
    pub(super) folder: TempDir,
    /// `/proc`.
    pub(super) proc: TempDir,
    pub(super) rule: CpuInterrupts,
    pub(super) keeper: Keeper<Kernel>,
    from: usize,
}

fn keeper(
    kernel: &Kernel,
    kind: Option<Partition>,
    (rule, proc): (CpuInterrupts, &Path),
    folder: &Path,
) -> Keeper<Kernel> {
    let cgroups = Cgroups::on(kernel.clone(), ROOT).unwrap();
    let quiet = Quiet::load(kernel.clone(), proc, rule, folder).unwrap();
    let isolation = Isolation::load(kind, folder, Path::new(ROOT), clock()).unwrap();
    Keeper::new(cgroups, isolation, quiet, clock())
}

pub(super) fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

impl Bench {
    pub(super) fn new() -> Self {
        let hierarchy = MemoryHierarchy::new("0-7".parse().unwrap(), [0, 1]);
        let kernel = Kernel(Arc::new(Inner {
            hierarchy,
            refused: Mutex::default(),
            watched: Mutex::default(),
            twice: Mutex::default(),
        }));
        for name in ["a", "b", "shared"] {
            kernel.0.hierarchy.create(&format!("pods/{name}/c"));
        }
        let (folder, proc) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let rule = CpuInterrupts::Leave;
        let keeper = keeper(&kernel, Some(Partition::Isolated), (rule, proc.path()), folder.path());
        Self { kernel, folder, proc, rule, keeper, from: 0 }
    }

    pub(super) fn restart(&mut self, kind: Option<Partition>) {
        self.keeper = keeper(&self.kernel, kind, (self.rule, self.proc.path()), self.folder.path());
    }

    /// A round with these containers; the one called `shared` has no exclusive CPUs.
    pub(super) fn round(&mut self, containers: &[(&str, &str)]) -> Outcome {
        let places: Vec<Enforcement> = containers.iter().map(|(name, cpus)| here(name, cpus)).collect();
        let wanted = Wanted::split(places.iter().map(|one| {
            let cgroup = CgroupPath::new(one.cgroup.as_ref().unwrap()).unwrap();
            let is_own = one.id.as_str() != "shared";
            (is_own.then_some(cgroup), one.pinning.cpus.as_ref().unwrap())
        }));
        let pool = pool(containers);
        let names: Vec<String> = containers.iter().map(|(name, _)| (*name).to_owned()).collect();
        let both = self.kernel.both(&names);
        *self.kernel.0.watched.lock() = Watched { names, pool: pool.clone(), both };
        let places: Vec<_> = places.iter().map(|one| (one, CpuQuota::Unlimited)).collect();
        self.keeper.ordered_round(&places, &wanted, &pool)
    }

    /// What was written to cpusets since the last time, by container and without what all names begin with.
    pub(super) fn written(&mut self) -> Vec<String> {
        let all = self.kernel.0.hierarchy.writes();
        let new = all[self.from..].iter().map(|(file, text)| format!("{}={text}", file.display()));
        self.from = all.len();
        new.filter(|line| line.contains("cpuset.cpus"))
            .map(|line| line.replace("cpuset.", "").replace("pods/", ""))
            .collect()
    }

    /// Of these writes, the CPUs of containers.
    pub(super) fn placed(&mut self) -> Vec<String> {
        self.written().into_iter().filter(|line| line.contains("/cpus=")).collect()
    }

    pub(super) fn read(&self, file: &str) -> String {
        self.kernel.read(&Path::new(ROOT).join(file)).unwrap().trim().to_owned()
    }

    pub(super) fn write(&self, file: &str, text: &str) {
        self.kernel.write(&Path::new(ROOT).join(file), text).unwrap();
    }

    /// This file cannot be written until it can be again.
    pub(super) fn refuse(&self, file: &str) {
        self.kernel.0.refused.lock().insert(file.to_owned());
    }

    pub(super) fn refuse_nothing(&self) {
        self.kernel.0.refused.lock().clear();
    }

    /// No write has given a CPU to two.
    pub(super) fn nothing_twice(&self) {
        assert_eq!(*self.kernel.0.twice.lock(), [""; 0]);
    }
}

/// What is shared: the CPUs of the container that is called so, or else CPU 0.
fn pool(containers: &[(&str, &str)]) -> CpuSet {
    let shared = containers.iter().find(|(name, _)| *name == "shared");
    shared.map_or("0", |(_, cpus)| cpus).parse().unwrap()
}

fn here(name: &str, cpus: &str) -> Enforcement {
    let container = ContainerKey { pod: PodUid::new(name), container: ContainerName::new("c") };
    let pinning = Pinning { cpus: Some(cpus.parse().unwrap()), ..Pinning::default() };
    Enforcement { container, id: name.into(), cgroup: Some(format!("pods/{name}/c").into()), pinning }
}

/// The problems of partitions in a round without problems of containers.
pub(super) fn problems_of(outcome: &Outcome) -> Vec<PartitionProblemKind> {
    assert!(outcome.problems.is_empty(), "{:?}", outcome.problems);
    outcome.partition_problems.iter().map(|problem| problem.kind.clone()).collect()
}
