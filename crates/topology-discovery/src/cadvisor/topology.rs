//! Nodes, their CPUs and cores as cAdvisor sees them.
//!
//! Folders are visited in lexical order of their names, so node10 comes before node2 and CPU 10 before CPU 2. A core
//! is what has one core id and package id inside a node; sibling masks are not looked at. Without a node folder,
//! each package becomes a node without memory, by its package id.

use std::collections::BTreeMap;

use cpuset::{CpuSet, go_atoi};
use topology_model::{MachineCore, MachineNode};

use super::online::Online;
use super::{CpuArchitecture, Holes, Reader, TopologyError, scan};
use crate::kernel::{CPUS, NODES, below};
use crate::machine::NODE_CPUS;
use crate::problem::Substitute;

/// A CPU's number, and the folder that it is read from.
struct CpuFolder {
    number: i64,
    digits: String,
    path: String,
}

impl Reader<'_, '_> {
    /// The nodes, and how many CPUs there are.
    pub(super) fn topology(&self) -> Result<(Option<Vec<MachineNode>>, i64), TopologyError> {
        let names = self.kernel.tree.list(NODES).unwrap_or_default();
        let online = self.online();
        let mut nodes = Vec::new();
        for name in numbered_names(&names, "node") {
            let path = format!("{NODES}/{name}");
            let node = self.node(name, &path, &online).map(Some);
            nodes.extend(self.mend(node, &path, Substitute::LeftOut, || None)?);
        }
        if nodes.is_empty() {
            return self.packages(&online);
        }
        let threads = |core: &MachineCore| core.thread_ids.as_ref().map_or(0, Vec::len);
        let cpus: usize =
            nodes.iter().flat_map(|node: &MachineNode| node.cores.iter().flatten()).map(threads).sum();
        Ok((Some(nodes), i64::try_from(cpus).unwrap_or(i64::MAX)))
    }

    fn node(&self, name: &str, path: &str, online: &Online) -> Result<MachineNode, TopologyError> {
        let id = go_atoi(scan::leading_digits(name.strip_prefix("node").unwrap_or(name)))?;
        let cores = self.node_cores(path, online)?;
        let mut node = MachineNode { id, cores, ..MachineNode::default() };
        self.add_caches(&mut node);
        let meminfo = format!("{path}/meminfo");
        node.memory = match self.node_memory(&meminfo) {
            // The machine lacks it too, where it is reported.
            Err(_) if self.holes == Holes::Mend => 0,
            memory => memory?,
        };
        node.hugepages = self.hugepages(&format!("{path}/hugepages"))?;
        node.distances = self.distances(&format!("{path}/distance"))?;
        Ok(node)
    }

    /// The cores of a node; `None` if its folder names no CPU.
    fn node_cores(&self, path: &str, online: &Online) -> Result<Option<Vec<MachineCore>>, TopologyError> {
        let names = self.kernel.tree.list(path).unwrap_or_default();
        let mut folders = self.cpu_folders(path, numbered_names(&names, "cpu"))?;
        if self.holes == Holes::Mend {
            // Captures lack the links, or have some that lead nowhere; the CPUs' own folders are as good.
            if folders.is_empty() {
                let cpus = self.kernel.cpus(path, &NODE_CPUS).unwrap_or_default();
                folders = folders_of(&cpus);
                if !folders.is_empty() {
                    self.kernel.missing(&format!("{path}/cpu*"), Substitute::CpusOfMask);
                }
            }
            for folder in &mut folders {
                folder.path = format!("{CPUS}/cpu{}", folder.digits);
            }
        }
        if folders.is_empty() {
            return Ok(None);
        }
        self.cores(&folders, online).map(Some)
    }

    fn cpu_folders<'a>(
        &self,
        path: &str,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<CpuFolder>, TopologyError> {
        let mut folders = Vec::new();
        for name in names {
            let own = format!("{path}/{name}");
            let digits = scan::digits_after(name, "cpu");
            let folder = match digits {
                Some(digits) => go_atoi(digits)
                    .map(|number| CpuFolder { number, digits: digits.to_owned(), path: own.clone() })
                    .map_err(TopologyError::from),
                None => Err(TopologyError::CpuFolder(own.clone())),
            };
            folders.extend(self.mend(folder.map(Some), &own, Substitute::LeftOut, || None)?);
        }
        Ok(folders)
    }

    fn cores(&self, folders: &[CpuFolder], online: &Online) -> Result<Vec<MachineCore>, TopologyError> {
        let mut cores: Vec<MachineCore> = Vec::new();
        for folder in folders {
            if !online.has(&folder.digits) {
                continue;
            }
            let core = self.core_of(folder);
            let Some(own) = self.mend(core, &folder.path, Substitute::LeftOut, || None)? else { continue };
            let same = |core: &&mut MachineCore| {
                (core.core_id, core.socket_id, &core.book_id, &core.drawer_id)
                    == (own.core_id, own.socket_id, &own.book_id, &own.drawer_id)
            };
            match cores.iter_mut().rfind(same) {
                Some(core) => core.thread_ids.get_or_insert_default().push(folder.number),
                None => cores.push(MachineCore { thread_ids: Some(vec![folder.number]), ..own }),
            }
        }
        Ok(cores)
    }

    /// The ids of a CPU's core; `None` if a file is missing, as where the CPU is offline.
    fn core_of(&self, folder: &CpuFolder) -> Result<Option<MachineCore>, TopologyError> {
        let topology = below(&folder.path, "topology");
        let file = |name: &str| {
            let text = self.text(&below(&topology, name));
            text.map(|text| text.map(|text| text.trim().to_owned())).map_err(TopologyError::Unreadable)
        };
        let Some(core_id) = file("core_id")? else { return Ok(None) };
        let core_id = go_atoi(&core_id)?;
        let Some(package) = file("physical_package_id")? else { return Ok(None) };
        let mut core = MachineCore { core_id, socket_id: go_atoi(&package)?, ..MachineCore::default() };
        if self.architecture == CpuArchitecture::S390x {
            let (Some(book), Some(drawer)) = (file("book_id")?, file("drawer_id")?) else { return Ok(None) };
            (core.book_id, core.drawer_id) = (Some(book), Some(drawer));
        }
        Ok(Some(core))
    }

    fn node_memory(&self, path: &str) -> Result<u64, TopologyError> {
        let Some(text) = self.text(path).ok().flatten() else { return Ok(0) };
        let text = text.trim();
        let digits =
            scan::kilobytes(text, "MemTotal:").ok_or_else(|| TopologyError::NoMatch(text.to_owned()))?;
        Ok(scan::parse_uint(digits)?.wrapping_mul(1024))
    }

    /// The distances of a node in the order of its file; `None` if there is none.
    fn distances(&self, path: &str) -> Result<Option<Vec<u64>>, TopologyError> {
        let Some(text) = self.text(path).ok().flatten() else { return Ok(None) };
        let number =
            |part: &str| scan::parse_uint(part).map_err(|_| TopologyError::Distance(part.to_owned()));
        let strict: Result<Vec<_>, _> = text.trim().split(' ').map(number).collect();
        let lenient =
            || text.split([' ', '\t', ',', '\n']).filter(|part| !part.is_empty()).map(number).collect();
        match strict {
            Err(error) if self.holes == Holes::Mend => {
                let row: Result<Vec<_>, _> = lenient();
                if row.is_err() {
                    self.kernel.unusable(path, &error, Substitute::Unknown);
                }
                Ok(row.ok())
            }
            row => row.map(Some),
        }
    }

    /// Packages in place of nodes, ascending by id: cAdvisor's own order differs from run to run.
    fn packages(&self, online: &Online) -> Result<(Option<Vec<MachineNode>>, i64), TopologyError> {
        let names = self.kernel.tree.list(CPUS).unwrap_or_default();
        let names: Vec<_> = numbered_names(&names, "cpu").collect();
        if names.is_empty() {
            return Err(TopologyError::NoCpus);
        }
        let mut packages: BTreeMap<i64, Vec<CpuFolder>> = BTreeMap::new();
        for name in &names {
            let path = format!("{CPUS}/{name}/topology/physical_package_id");
            let Some(text) = self.text(&path).map_err(TopologyError::Unreadable)? else { continue };
            let id = self.mend(go_atoi(text.trim()).map(Some), &path, Substitute::LeftOut, || None)?;
            if let Some(id) = id {
                packages.entry(id).or_default().extend(self.cpu_folders(CPUS, std::iter::once(*name))?);
            }
        }
        let mut nodes = Vec::new();
        for (id, folders) in packages {
            let cores = Some(self.cores(&folders, online)?);
            let mut node = MachineNode { id, cores, ..MachineNode::default() };
            self.add_caches(&mut node);
            nodes.push(node);
        }
        let count = i64::try_from(names.len()).unwrap_or(i64::MAX);
        Ok((Some(nodes).filter(|nodes| !nodes.is_empty()), count))
    }

    /// The CPUs that are online; all if there is no list of them.
    pub(super) fn online(&self) -> Online {
        match self.text(&format!("{CPUS}/online")) {
            Ok(Some(text)) => Online::read(text.trim()),
            Ok(None) => Online::All,
            Err(_) => Online::read(""),
        }
    }
}

/// The CPUs of a mask, in the order in which their folders would be visited.
fn folders_of(cpus: &CpuSet) -> Vec<CpuFolder> {
    let mut folders: Vec<_> = cpus
        .iter()
        .filter_map(|cpu| i64::try_from(cpu.get()).ok())
        .map(|number| CpuFolder { number, digits: number.to_string(), path: String::new() })
        .collect();
    folders.sort_by(|a, b| a.digits.cmp(&b.digits));
    folders
}

/// The names that the pattern `PREFIX*[0-9]` matches.
pub(super) fn numbered_names<'a>(names: &'a [String], prefix: &'a str) -> impl Iterator<Item = &'a str> {
    names.iter().map(String::as_str).filter(move |name| {
        let rest = name.strip_prefix(prefix);
        rest.is_some_and(|rest| rest.ends_with(|last: char| last.is_ascii_digit()))
    })
}
