//! A hierarchy in memory that follows the kernel's rules: for tests without rights, and for trying things out.

mod partitions;
mod cgroup;
mod errors;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use cpuset::{CpuId, CpuSet};
use parking_lot::{Mutex, MutexGuard};

use self::cgroup::Cgroup;
use self::errors::{EACCES, EBUSY, EINVAL, ENOENT, error};
use crate::files::Files;

const MOUNTED: &str = "/sys/fs/cgroup";

/// A cgroup v2 hierarchy with the `cpuset` and `cpu` controllers, as if mounted at `/sys/fs/cgroup`.
#[derive(Debug)]
pub struct MemoryHierarchy {
    online: CpuSet,
    nodes: CpuSet,
    /// Whether it is a kernel of Linux 6.8 or later.
    has_partitions: bool,
    cgroups: Mutex<BTreeMap<PathBuf, Cgroup>>,
    writes: Mutex<Vec<(PathBuf, String)>>,
}

impl MemoryHierarchy {
    /// A machine with these CPUs and NUMA nodes on which nothing runs.
    #[must_use]
    pub fn new(online: CpuSet, nodes: impl IntoIterator<Item = u32>) -> Self {
        let nodes =
            nodes.into_iter().filter_map(|node| CpuId::new(usize::try_from(node).ok()?).ok()).collect();
        let root = BTreeMap::from([(PathBuf::new(), Cgroup::default())]);
        Self { online, nodes, has_partitions: true, cgroups: Mutex::new(root), writes: Mutex::default() }
    }

    /// The same on a kernel before Linux 6.7, where only a child of a partition can be one.
    #[must_use]
    pub fn without_partitions(mut self) -> Self {
        self.has_partitions = false;
        self
    }

    /// The same with a cgroup at `path` and those above it.
    #[must_use]
    pub fn with(self, path: &str) -> Self {
        self.create(path);
        self
    }

    /// The same with processes in the cgroup at `path` itself.
    #[must_use]
    pub fn with_processes(self, path: &str) -> Self {
        self.create(path);
        if let Some(cgroup) = self.lock().get_mut(Path::new(path)) {
            cgroup.has_processes = true;
        }
        self
    }

    /// The same with a cgroup at `path` whose memory is counted: `memory.max` and the bytes in use.
    #[must_use]
    pub fn with_memory(self, path: &str, max: &str, used: u64) -> Self {
        self.create(path);
        if let Some(cgroup) = self.lock().get_mut(Path::new(path)) {
            cgroup.memory = Some((max.to_owned(), used));
        }
        self
    }

    /// So many bytes of memory are in use in a cgroup that counts them.
    pub fn use_memory(&self, path: &str, bytes: u64) {
        if let Some((_, used)) = self.lock().get_mut(Path::new(path)).and_then(|own| own.memory.as_mut()) {
            *used = bytes;
        }
    }

    /// Creates a cgroup and those above it.
    pub fn create(&self, path: &str) {
        let mut cgroups = self.lock();
        for path in Path::new(path).ancestors() {
            cgroups.entry(path.to_owned()).or_default();
        }
    }

    /// Removes a cgroup.
    pub fn remove(&self, path: &str) {
        self.lock().remove(Path::new(path));
    }

    /// Everything that was written so far: files below the root, and texts.
    #[must_use]
    pub fn writes(&self) -> Vec<(PathBuf, String)> {
        self.writes.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Cgroup>> {
        self.cgroups.lock()
    }

    /// The cgroup and the file of it that a path means.
    fn split(cgroups: &BTreeMap<PathBuf, Cgroup>, path: &Path) -> io::Result<(PathBuf, String)> {
        let below = path.strip_prefix(MOUNTED).map_err(|_| error(ENOENT))?;
        let file = below.file_name().and_then(|name| name.to_str()).ok_or_else(|| error(ENOENT))?;
        let cgroup =
            below.parent().filter(|cgroup| cgroups.contains_key(*cgroup)).ok_or_else(|| error(ENOENT))?;
        Ok((cgroup.to_owned(), file.to_owned()))
    }

    /// Whether the parent of `path` gives it a controller.
    fn has(cgroups: &BTreeMap<PathBuf, Cgroup>, path: &Path, controller: &str) -> bool {
        match path.parent() {
            None => true,
            Some(parent) => {
                cgroups.get(parent).is_some_and(|above| above.subtree.iter().any(|one| one == controller))
            }
        }
    }
}

/// What is in effect: the part of a cgroup's own set that is in effect above, or all of that if it has no such part.
fn effective(
    cgroups: &BTreeMap<PathBuf, Cgroup>,
    path: &Path,
    own: fn(&Cgroup) -> &CpuSet,
    all: &CpuSet,
) -> CpuSet {
    let Some(parent) = path.parent() else { return all.clone() };
    let above = effective(cgroups, parent, own, all);
    let has_sets = MemoryHierarchy::has(cgroups, path, "cpuset");
    let Some(cgroup) = cgroups.get(path).filter(|_| has_sets) else { return above };
    let mut part = own(cgroup).clone();
    part &= &above;
    if part.is_empty() { above } else { part }
}

impl Files for MemoryHierarchy {
    fn read(&self, path: &Path) -> io::Result<String> {
        let cgroups = self.lock();
        let (path, file) = Self::split(&cgroups, path)?;
        let cgroup = cgroups.get(&path).ok_or_else(|| error(ENOENT))?;
        let is_root = path.as_os_str().is_empty();
        let controllers = ["cpuset", "cpu"].into_iter().filter(|one| Self::has(&cgroups, &path, one));
        let text = match file.as_str() {
            "cgroup.controllers" => controllers.collect::<Vec<_>>().join(" "),
            "cgroup.subtree_control" => cgroup.subtree.join(" "),
            "cpu.max" if !is_root && Self::has(&cgroups, &path, "cpu") => {
                cgroup.max.clone().unwrap_or_else(|| "max 100000".to_owned())
            }
            "memory.max" => cgroup.memory.as_ref().ok_or_else(|| error(ENOENT))?.0.clone(),
            "memory.current" => cgroup.memory.as_ref().ok_or_else(|| error(ENOENT))?.1.to_string(),
            name if name.starts_with("cpuset.") && !Self::has(&cgroups, &path, "cpuset") => {
                return Err(error(ENOENT));
            }
            "cpuset.cpus.effective" => {
                let own = partitions::at_or_above(&cgroups, &path);
                let all = own.unwrap_or_else(|| &self.online - &partitions::all(&cgroups));
                effective(&cgroups, &path, |one| &one.cpus, &all).to_string()
            }
            "cpuset.cpus.isolated" if is_root && self.has_partitions => {
                partitions::isolated(&cgroups).to_string()
            }
            "cpuset.cpus.exclusive" if !is_root && self.has_partitions => cgroup.exclusive.to_string(),
            "cpuset.cpus.partition" if !is_root && self.has_partitions => {
                cgroup.partition.map_or_else(|| "member".to_owned(), |state| state.to_string())
            }
            "cpuset.mems.effective" => effective(&cgroups, &path, |one| &one.mems, &self.nodes).to_string(),
            "cpuset.cpus" if !is_root => cgroup.cpus.to_string(),
            "cpuset.mems" if !is_root => cgroup.mems.to_string(),
            _ => return Err(error(ENOENT)),
        };
        Ok(text + "\n")
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        let mut cgroups = self.lock();
        let (path, file) = Self::split(&cgroups, path)?;
        let is_root = path.as_os_str().is_empty();
        let usable = |controller| Self::has(&cgroups, &path, controller);
        let (has_cpuset, has_cpu) = (usable("cpuset"), usable("cpu"));
        let cgroup = cgroups.get_mut(&path).ok_or_else(|| error(ENOENT))?;
        match file.as_str() {
            "cgroup.subtree_control" => {
                for word in text.split_whitespace() {
                    let controller = word.strip_prefix('+').ok_or_else(|| error(EINVAL))?;
                    if !(controller == "cpuset" && has_cpuset || controller == "cpu" && has_cpu) {
                        return Err(error(ENOENT));
                    }
                    if cgroup.has_processes && !is_root {
                        return Err(error(EBUSY));
                    }
                    if !cgroup.subtree.iter().any(|one| one == controller) {
                        cgroup.subtree.push(controller.to_owned());
                    }
                }
            }
            "cpuset.cpus" if !is_root && has_cpuset => {
                let cpus = within(text, &self.online)?;
                partitions::set_cpus(&mut cgroups, &path, cpus)?;
            }
            "cpuset.cpus.exclusive" if !is_root && has_cpuset && self.has_partitions => {
                let cpus = within(text, &self.online)?;
                partitions::set_exclusive(&mut cgroups, &path, cpus)?;
            }
            "cpuset.cpus.partition" if !is_root && has_cpuset && self.has_partitions => {
                partitions::set(&mut cgroups, &path, text.trim(), &self.online)?;
            }
            "cpuset.mems" if !is_root && has_cpuset => cgroup.mems = within(text, &self.nodes)?,
            "memory.max" => {
                let (max, _) = cgroup.memory.as_mut().ok_or_else(|| error(ENOENT))?;
                // Whole pages.
                let bytes = text.trim().parse::<u64>().map_err(|_| error(EINVAL))?;
                *max = (bytes - bytes % 4096).to_string();
            }
            "cpu.max" if !is_root && has_cpu => cgroup.max = Some(text.trim().to_owned()),
            "cpuset.cpus.effective" | "cpuset.mems.effective" | "cpuset.cpus.isolated" => {
                return Err(error(EACCES));
            }
            _ => return Err(error(ENOENT)),
        }
        drop(cgroups);
        self.writes.lock().push((path.join(file), text.trim().to_owned()));
        Ok(())
    }
}

/// A list of which the machine has all.
fn within(text: &str, all: &CpuSet) -> io::Result<CpuSet> {
    let set = CpuSet::from_kernel_list(text).map_err(|_| error(EINVAL))?;
    if set.is_subset(all) { Ok(set) } else { Err(error(EINVAL)) }
}
