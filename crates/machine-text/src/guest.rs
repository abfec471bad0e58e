//! A virtual machine as its definition gives it: what a Linux kernel in it finds.
//!
//! CPUs are numbered by package, die, cluster, core and thread, the thread last, as QEMU numbers them.

use std::collections::BTreeMap;

use cpuset::{CpuId, CpuSet};
use topology_model::{
    Core, CoreKind, CpuLists, Machine, MachineParts, Node, NodeId, Package, PackageId, Smt,
};

use crate::error::MachineTextError;
use crate::form::Form;
use crate::lack::Lack;
use crate::machine_text::{MAX_NODES, MachineText};

/// What a definition says of a virtual machine.
#[derive(Debug)]
pub(crate) struct Guest {
    pub(crate) form: Form,
    /// CPUs that run when it starts.
    pub(crate) online: CpuSet,
    pub(crate) levels: Levels,
    /// NUMA nodes by id; none: one that has everything.
    pub(crate) cells: BTreeMap<i64, Cell>,
    /// Memory of all in bytes.
    pub(crate) memory: Option<u64>,
    pub(crate) assumed: Vec<String>,
}

/// How many of a level there are in one of the level above; all are at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Levels {
    pub(crate) packages: usize,
    pub(crate) dies: usize,
    pub(crate) clusters: usize,
    pub(crate) cores: usize,
    pub(crate) threads: usize,
}

/// A NUMA node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Cell {
    pub(crate) cpus: CpuSet,
    /// In bytes.
    pub(crate) memory: Option<u64>,
    /// Distances by the id of the other node.
    pub(crate) distances: BTreeMap<i64, u32>,
}

/// Distances that the kernel takes where firmware names none.
const NEAR: u32 = 10;
const FAR: u32 = 20;

impl Levels {
    /// The CPUs that there can be; `None`: more than a number holds.
    pub(crate) fn cpus(self) -> Option<usize> {
        let cores =
            self.packages.checked_mul(self.dies)?.checked_mul(self.clusters)?.checked_mul(self.cores)?;
        cores.checked_mul(self.threads)
    }

    /// The package of a CPU.
    pub(crate) const fn package(self, cpu: CpuId) -> usize {
        cpu.get() / (self.threads * self.cores * self.clusters * self.dies)
    }
}

impl Guest {
    /// The machine that it is.
    pub(crate) fn machine(mut self) -> Result<MachineText, MachineTextError> {
        if self.cells.len() > MAX_NODES {
            return Err(MachineTextError::TooManyNodes);
        }
        let all = self.all_cpus()?;
        self.place_left(&all);
        let mut parts = MachineParts {
            cpus: CpuLists {
                offline: &all - &self.online,
                online: self.online.clone(),
                ..CpuLists::default()
            },
            packages: self.packages(),
            cores: self.cores(),
            nodes: self.nodes(),
            ..MachineParts::default()
        };
        parts.memory = parts.nodes.iter().map(|node| node.memory).sum();
        parts.smt = Smt { active: Some(parts.cores.iter().any(|core| core.cpus.len() > 1)), control: None };
        let mut lacks = Vec::from([Lack::Caches, Lack::HugePages, Lack::Devices]);
        if parts.memory.is_some() {
            self.assumed.push("memory is all that it is given, of which its kernel keeps a part".to_owned());
        } else {
            lacks.push(Lack::Memory);
        }
        lacks.sort_unstable();
        let machine = Machine::new(parts)?;
        Ok(MachineText {
            machine,
            forms: Vec::from([self.form]),
            assumed: self.assumed,
            lacks,
            unread: Vec::new(),
        })
    }

    /// All CPUs, those included that do not run.
    fn all_cpus(&self) -> Result<CpuSet, MachineTextError> {
        let count = self.levels.cpus();
        let some = count.filter(|count| *count <= CpuId::LIMIT).unwrap_or(0);
        let all: CpuSet = (0..some).map_while(|cpu| CpuId::new(cpu).ok()).collect();
        let named = self.cells.values().fold(self.online.clone(), |all, cell| &all | &cell.cpus);
        if self.online.is_empty() || !named.is_subset(&all) {
            return Err(MachineTextError::Contradiction {
                one: self.form,
                what: format!("CPUs {named}"),
                other: self.form,
                other_what: count
                    .map_or("more CPUs than there can be".to_owned(), |count| format!("{count} CPUs")),
            });
        }
        Ok(all)
    }

    /// Gives CPUs to NUMA nodes that no node lists: to the first, or by package where none lists any.
    fn place_left(&mut self, all: &CpuSet) {
        let listed = self.cells.values().fold(CpuSet::new(), |sum, cell| &sum | &cell.cpus);
        let left = all - &listed;
        if left.is_empty() || self.cells.is_empty() {
            return;
        }
        let ids: Vec<i64> = self.cells.keys().copied().collect();
        let by_package = self.form == Form::Qemu && listed.is_empty();
        for cpu in &left {
            let at = if by_package { self.levels.package(cpu) % ids.len() } else { 0 };
            if let Some(cell) = ids.get(at).and_then(|id| self.cells.get_mut(id)) {
                cell.cpus.insert(cpu);
            }
        }
        self.assumed.push(if by_package {
            "packages are taken as placed on NUMA nodes in turn, as QEMU does where no CPUs are listed"
                .to_owned()
        } else {
            format!("CPUs {left}, which no NUMA node lists, are taken as the first one's")
        });
    }

    fn packages(&self) -> Vec<Package> {
        let mut packages: BTreeMap<usize, CpuSet> = BTreeMap::new();
        for cpu in &self.online {
            packages.entry(self.levels.package(cpu)).or_default().insert(cpu);
        }
        let package = |(id, cpus): (usize, CpuSet)| Package { id: PackageId(number(id)), cpus };
        packages.into_iter().map(package).collect()
    }

    fn cores(&self) -> Vec<Core> {
        let levels = self.levels;
        let mut cores: BTreeMap<usize, CpuSet> = BTreeMap::new();
        for cpu in &self.online {
            cores.entry(cpu.get() / levels.threads).or_default().insert(cpu);
        }
        let core = |(at, cpus): (usize, CpuSet)| {
            let cluster = at / levels.cores;
            let die = cluster / levels.clusters;
            Core {
                id: number(at % (levels.cores * levels.clusters * levels.dies)),
                die: (levels.dies > 1).then(|| number(die % levels.dies)),
                cluster: (levels.clusters > 1).then(|| number(cluster % levels.clusters)),
                kind: CoreKind::Plain,
                cpus,
            }
        };
        cores.into_iter().map(core).collect()
    }

    fn nodes(&mut self) -> Vec<Node> {
        if self.cells.is_empty() {
            self.cells.insert(0, Cell { cpus: self.online.clone(), memory: self.memory, ..Cell::default() });
        }
        let is_only = self.cells.len() == 1;
        let has_distances = self.cells.values().any(|cell| !cell.distances.is_empty());
        if !is_only && !has_distances {
            self.assumed.push(format!(
                "distances are {NEAR} and {FAR}, as the kernel takes them where none are given"
            ));
        }
        let node = |(id, cell): (&i64, &Cell)| {
            let distance = |other: &i64| {
                let back = || self.cells.get(other).and_then(|other| other.distances.get(id));
                let default = if id == other { NEAR } else { FAR };
                cell.distances.get(other).or_else(back).copied().unwrap_or(default)
            };
            Node {
                id: NodeId(*id),
                cpus: &cell.cpus & &self.online,
                memory: cell.memory.or(self.memory.filter(|_| is_only)),
                hugepages: Vec::new(),
                distances: Some(self.cells.keys().map(distance).collect()),
            }
        };
        self.cells.iter().map(node).collect()
    }
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
