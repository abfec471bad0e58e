//! A machine of 16 NUMA nodes with 16 CPUs each, a kubelet's decisions on it, and a folder in the place of cgroups.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cpuset::{CpuId, CpuSet};
use fs_err as fs;
use kubelet_checkpoint::cpu::{CpuFormat, CpuState};
use pod_spec::{ContainerName, PodUid};

/// NUMA nodes, and CPUs of each.
const NODES: usize = 16;
/// Reserved for shared containers: the first CPU of each NUMA node.
const RESERVED: usize = 1;

pub(super) struct Node {
    root: PathBuf,
    /// The CPUs that no pod holds exclusively.
    pub(super) shared: CpuSet,
    /// Exclusive CPUs by pod; of a pod without them none.
    pub(super) pods: BTreeMap<String, Option<CpuSet>>,
}

impl Node {
    pub(super) fn new(root: &Path) -> anyhow::Result<Self> {
        let all = CpuId::new(0)?..=CpuId::new(NODES * NODES - 1)?;
        let node = Self { root: root.to_owned(), shared: CpuSet::range(all), pods: BTreeMap::new() };
        fs::create_dir_all(node.kubelet())?;
        fs::create_dir_all(node.cgroups())?;
        fs::write(node.cgroups().join("cgroup.controllers"), "cpuset\n")?;
        node.write()?;
        Ok(node)
    }

    pub(super) fn kubelet(&self) -> PathBuf {
        self.root.join("kubelet")
    }

    pub(super) fn cgroups(&self) -> PathBuf {
        self.root.join("cgroup")
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.root.join("nri.sock")
    }

    pub(super) fn report(&self) -> PathBuf {
        self.root.join("report.json")
    }

    /// As a kubelet does it: beside the old file, and then in its place.
    fn write(&self) -> anyhow::Result<()> {
        let mut state =
            CpuState { policy: "static".into(), shared: self.shared.clone(), ..CpuState::default() };
        for (name, cpus) in &self.pods {
            if let Some(cpus) = cpus {
                let of = [(ContainerName::new(name), cpus.clone())].into();
                state.containers.insert(PodUid::new(&uid(name)), of);
            }
        }
        let path = self.kubelet().join("cpu_manager_state");
        fs::write(path.with_extension("new"), state.encode(CpuFormat::V4))?;
        fs::rename(path.with_extension("new"), path)?;
        Ok(())
    }

    /// A pod with so many exclusive CPUs of one NUMA node, or with shared ones; gives the CPUs that the kubelet asks for.
    pub(super) fn admit(&mut self, name: &str, count: usize) -> anyhow::Result<String> {
        let held = (count > 0).then(|| {
            (0..NODES).find_map(|node| {
                let free = self
                    .shared
                    .iter()
                    .filter(|cpu| cpu.get() / NODES == node && cpu.get() % NODES >= RESERVED);
                let cpus: CpuSet = free.take(count).collect();
                (cpus.len() == count).then_some(cpus)
            })
        });
        let held = held.flatten();
        if let Some(cpus) = &held {
            self.shared -= cpus;
        }
        self.pods.insert(name.to_owned(), held.clone());
        if held.is_some() {
            self.write()?;
        }
        Ok(held.as_ref().unwrap_or(&self.shared).to_string())
    }

    pub(super) fn leave(&mut self, name: &str) -> anyhow::Result<()> {
        if let Some(cpus) = self.pods.remove(name).flatten() {
            self.shared |= &cpus;
            self.write()?;
        }
        fs::remove_dir_all(self.folder(name))?;
        Ok(())
    }

    /// The pods with shared CPUs whose containers have started.
    pub(super) fn shared_pods(&self) -> Vec<String> {
        let shared = self.pods.iter().filter(|(name, held)| held.is_none() && self.folder(name).is_dir());
        shared.map(|(name, _)| name.clone()).collect()
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.cgroups().join(format!("kubepods/podp{name}/{name}"))
    }

    /// As the runtime makes it, with the CPUs that it has on record.
    pub(super) fn make_cgroup(&self, name: &str, cpus: &str) -> anyhow::Result<()> {
        fs::create_dir_all(self.folder(name))?;
        // In one go, as a kernel does it.
        let path = self.folder(name).join("cpuset.cpus");
        fs::write(path.with_extension("new"), cpus)?;
        fs::rename(path.with_extension("new"), path)?;
        Ok(())
    }

    pub(super) fn cgroup(&self, name: &str) -> anyhow::Result<CpuSet> {
        let text = fs::read_to_string(self.folder(name).join("cpuset.cpus"))?;
        text.trim().parse().with_context(|| format!("{name}: {text:?}"))
    }

    /// Containers on the exclusive CPUs of a pod that is being created.
    pub(super) fn overlaps_with(&self, new: &str) -> anyhow::Result<Vec<String>> {
        let mut found = Vec::new();
        let Some(held) = self.pods.get(new).and_then(Option::as_ref) else { return Ok(found) };
        for name in self.pods.keys().filter(|name| *name != new && self.folder(name).is_dir()) {
            let both = &self.cgroup(name)? & held;
            if !both.is_empty() {
                found.push(format!("{name} is on CPUs {both} of {new}"));
            }
        }
        Ok(found)
    }

    /// Containers on exclusive CPUs of others.
    pub(super) fn overlaps(&self) -> anyhow::Result<Vec<String>> {
        let started = self.pods.iter().filter(|(name, _)| self.folder(name).is_dir());
        let all = started.map(|(name, held)| Ok((name, held.is_some(), self.cgroup(name)?)));
        let all = all.collect::<anyhow::Result<Vec<_>>>()?;
        let mut found = Vec::new();
        for (new, _, held) in all.iter().filter(|(_, is_exclusive, _)| *is_exclusive) {
            for (name, _, has) in all.iter().filter(|(name, ..)| name != new) {
                let both = held & has;
                if !both.is_empty() {
                    found.push(format!("{name} is on CPUs {both} of {new}"));
                }
            }
        }
        Ok(found)
    }
}

/// The UID that the scripted runtime gives a pod.
pub(super) fn uid(name: &str) -> String {
    format!("uid-{name}")
}
