//! The parts of a machine.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use cpuset::CpuSet;

use crate::{HugePages, NodeId, PciDevice};

/// Everything that [`Machine::new`](crate::Machine::new) checks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MachineParts {
    /// Which CPUs there are.
    pub cpus: CpuLists,
    /// Packages; each online CPU is in one.
    pub packages: Vec<Package>,
    /// Cores; each online CPU is in one.
    pub cores: Vec<Core>,
    /// Caches, once each.
    pub caches: Vec<CpuCache>,
    /// Nodes; each online CPU is in one.
    pub nodes: Vec<Node>,
    /// What the kernel lists nodes under.
    pub node_lists: NodeLists,
    /// PCI devices.
    pub devices: Vec<PciDevice>,
    /// Whether cores run several threads.
    pub smt: Smt,
    /// Memory of the whole machine in bytes; `None`: not known.
    pub memory: Option<u64>,
    /// Huge pages of the whole machine.
    pub hugepages: Vec<HugePages>,
    /// Size in KiB of huge pages for which no size is named.
    pub default_hugepage_kib: Option<u64>,
}

impl MachineParts {
    /// Gives online CPUs that are in no package one together, and those that are in no core one each, with the number -1: some
    /// sources leave out levels of which they know nothing.
    pub fn add_missing_levels(&mut self) {
        let packaged = self.packages.iter().fold(CpuSet::new(), |all, package| &all | &package.cpus);
        let cpus = &self.cpus.online - &packaged;
        if !cpus.is_empty() {
            self.packages.push(Package { id: PackageId(-1), cpus });
        }
        let cored = self.cores.iter().fold(CpuSet::new(), |all, core| &all | &core.cpus);
        self.cores.extend((&self.cpus.online - &cored).iter().map(|cpu| Core {
            id: -1,
            die: None,
            cluster: None,
            kind: CoreKind::Plain,
            cpus: cpu.into(),
        }));
    }

    /// The huge pages of all nodes together, each size once.
    #[must_use]
    pub fn hugepages_of_nodes(&self) -> Vec<HugePages> {
        let mut all: Vec<HugePages> = Vec::new();
        for pages in self.nodes.iter().flat_map(|node| &node.hugepages) {
            match all.iter_mut().find(|sum| sum.page_size_kib == pages.page_size_kib) {
                Some(sum) => sum.num_pages = sum.num_pages.saturating_add(pages.num_pages),
                None => all.push(*pages),
            }
        }
        all
    }
}

/// CPUs by state. A list is `None` if the kernel does not report it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CpuLists {
    /// They run.
    pub online: CpuSet,
    /// They are there, and do not run.
    pub offline: CpuSet,
    /// They could be plugged in; often far more than there are.
    pub possible: Option<CpuSet>,
    /// They are plugged in.
    pub present: Option<CpuSet>,
    /// The scheduler leaves them alone.
    pub isolated: Option<CpuSet>,
}

/// The number of a package: the firmware's, which can be -1 (not known; several packages may have it) or huge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PackageId(pub i64);

impl fmt::Display for PackageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A processor package (socket).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Package {
    /// Its number.
    pub id: PackageId,
    /// Its online CPUs.
    pub cpus: CpuSet,
}

/// A core: the CPUs that are threads of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Core {
    /// The firmware's number, of the lowest thread; it need not be unique, not even in a package.
    pub id: i64,
    /// The die, where the kernel knows of dies.
    pub die: Option<i64>,
    /// The cluster of cores, where the kernel knows of clusters.
    pub cluster: Option<i64>,
    /// Which kind of core it is on a machine that has several.
    pub kind: CoreKind,
    /// Its online threads.
    pub cpus: CpuSet,
}

/// The kind of a core.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum CoreKind {
    /// All cores are alike, or the kernel does not say.
    #[default]
    Plain,
    /// A fast core of a hybrid processor.
    Performance,
    /// A small core of a hybrid processor.
    Efficiency,
}

/// A cache.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CpuCache {
    /// Level, 1 is nearest to the core.
    pub level: u8,
    /// What it holds.
    pub kind: CacheKind,
    /// The kernel's id, unique among caches of its level and kind; many kernels give none.
    pub id: Option<i64>,
    /// Size in KiB; `None`: not known.
    pub size_kib: Option<u64>,
    /// The online CPUs that share it.
    pub cpus: CpuSet,
}

/// What a cache holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CacheKind {
    /// Data alone.
    Data,
    /// Instructions alone.
    Instruction,
    /// Both.
    Unified,
}

/// A NUMA node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// Its id.
    pub id: NodeId,
    /// Its online CPUs; none where it is only memory.
    pub cpus: CpuSet,
    /// Its memory in bytes, huge pages included; `None`: not known.
    pub memory: Option<u64>,
    /// Its huge pages; a size that is not listed does not exist here.
    pub hugepages: Vec<HugePages>,
    /// Distances to all nodes of the machine in ascending order of id; `None`: not known.
    pub distances: Option<Vec<u32>>,
}

/// Node ids as the kernel lists them. `None`: the kernel has no such list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeLists {
    /// They are there.
    pub online: Option<Vec<NodeId>>,
    /// They could be plugged in.
    pub possible: Option<Vec<NodeId>>,
    /// They have CPUs.
    pub has_cpu: Option<Vec<NodeId>>,
    /// They have memory.
    pub has_memory: Option<Vec<NodeId>>,
    /// They have memory that the kernel itself may use.
    pub has_normal_memory: Option<Vec<NodeId>>,
    /// They have devices that start memory traffic.
    pub has_generic_initiator: Option<Vec<NodeId>>,
}

/// Simultaneous multithreading, in the kernel's words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Smt {
    /// Whether a core runs several threads now; `None`: not reported.
    pub active: Option<bool>,
    /// `on`, `off`, `forceoff`, `notsupported`, `notimplemented`, or a number of threads; `None`: not reported.
    pub control: Option<String>,
}
