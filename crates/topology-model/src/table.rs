//! The kubelet's CPU table: which core, socket, node and cache each CPU belongs to, as the kubelet believes.
//!
//! It differs from the true machine where cAdvisor's reading does. Cores are known by their lowest CPU; the cache of
//! a core is the first that cAdvisor lists outside the node, or the socket's number where there is none; and the
//! averages are whole divisions that are wrong on machines whose cores are not alike.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use cpuset::{CpuId, CpuSet};
use thiserror::Error;

use crate::{MachineCore, MachineInfo, NodeId};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub i64);
    };
}

id! {
    /// A core, by its lowest CPU.
    CoreId
}
id! {
    /// A socket, by its package id; -1 where the firmware has none.
    SocketId
}
id! {
    /// A last-level cache that is not the node's own, or the socket in its place.
    CacheId
}

/// What the table knows of one CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuRow {
    /// The CPU.
    pub cpu: CpuId,
    /// Its core.
    pub core: CoreId,
    /// Its socket.
    pub socket: SocketId,
    /// Its NUMA node.
    pub node: NodeId,
    /// Its cache group.
    pub cache: CacheId,
}

/// Figures that the kubelet takes on trust; they may disagree with the rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CpuCounts {
    /// Logical CPUs.
    pub cpus: usize,
    /// Entries of cores; a CPU that two cores list counts both.
    pub cores: usize,
    /// Sockets.
    pub sockets: usize,
}

/// The table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CpuTable {
    counts: CpuCounts,
    rows: BTreeMap<CpuId, CpuRow>,
    all: CpuSet,
    nodes: BTreeMap<NodeId, CpuSet>,
    sockets: BTreeMap<SocketId, CpuSet>,
    cores: BTreeMap<CoreId, CpuSet>,
    caches: BTreeMap<CacheId, CpuSet>,
}

/// Why there is no table. The texts of the first three are the kubelet's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum CpuTableError {
    /// The machine reports no CPUs.
    #[error("could not detect number of cpus")]
    NoCpus,
    /// A core without a CPU.
    #[error("no cpus provided")]
    EmptyCore,
    /// A core that lists a CPU twice.
    #[error("cpus provided are not unique")]
    RepeatedCpu,
    /// A CPU id that no kernel gives.
    #[error("CPU {0} is outside the kernel's range of 0 to 8191")]
    CpuOutOfRange(i64),
    /// A count that is negative.
    #[error("machine information counts {0}, which is no number of things")]
    NegativeCount(i64),
}

impl CpuTable {
    /// The table that the kubelet builds from what cAdvisor reports.
    pub fn new(info: &MachineInfo) -> Result<Self, CpuTableError> {
        let count = |number: i64| usize::try_from(number).map_err(|_| CpuTableError::NegativeCount(number));
        let mut counts =
            CpuCounts { cpus: count(info.num_cpus)?, cores: 0, sockets: count(info.num_sockets)? };
        if counts.cpus == 0 {
            return Err(CpuTableError::NoCpus);
        }
        let mut rows = Vec::new();
        for node in info.topology.iter().flatten() {
            for core in node.cores.iter().flatten() {
                counts.cores += 1;
                rows.extend(rows_of(core, NodeId(node.id))?);
            }
        }
        Ok(Self::from_rows(counts, rows))
    }

    /// A table of these rows; a CPU that comes twice keeps the last.
    #[must_use]
    pub fn from_rows(counts: CpuCounts, rows: impl IntoIterator<Item = CpuRow>) -> Self {
        let mut table = Self { counts, ..Self::default() };
        table.rows = rows.into_iter().map(|row| (row.cpu, row)).collect();
        for (cpu, row) in &table.rows {
            table.all.insert(*cpu);
            table.nodes.entry(row.node).or_default().insert(*cpu);
            table.sockets.entry(row.socket).or_default().insert(*cpu);
            table.cores.entry(row.core).or_default().insert(*cpu);
            table.caches.entry(row.cache).or_default().insert(*cpu);
        }
        table
    }

    /// The table with only these CPUs. Counts and the names of cores stay, so a core may be named by a CPU that is
    /// no longer in it.
    #[must_use]
    pub fn keep(&self, cpus: &CpuSet) -> Self {
        Self::from_rows(self.counts, self.rows.values().copied().filter(|row| cpus.contains(row.cpu)))
    }

    /// All CPUs of the table.
    #[must_use]
    pub const fn all(&self) -> &CpuSet {
        &self.all
    }

    /// The row of a CPU; `None` if the table lacks it.
    #[must_use]
    pub fn get(&self, cpu: CpuId) -> Option<&CpuRow> {
        self.rows.get(&cpu)
    }

    /// The rows in ascending CPU order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &CpuRow> {
        self.rows.values()
    }

    /// NUMA nodes with their CPUs, ascending. Nodes without CPUs do not exist here.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (NodeId, &CpuSet)> {
        self.nodes.iter().map(|(id, cpus)| (*id, cpus))
    }

    /// Sockets with their CPUs, ascending.
    pub fn sockets(&self) -> impl ExactSizeIterator<Item = (SocketId, &CpuSet)> {
        self.sockets.iter().map(|(id, cpus)| (*id, cpus))
    }

    /// Cores with their CPUs, ascending.
    pub fn cores(&self) -> impl ExactSizeIterator<Item = (CoreId, &CpuSet)> {
        self.cores.iter().map(|(id, cpus)| (*id, cpus))
    }

    /// Cache groups with their CPUs, ascending.
    pub fn caches(&self) -> impl ExactSizeIterator<Item = (CacheId, &CpuSet)> {
        self.caches.iter().map(|(id, cpus)| (*id, cpus))
    }

    /// The CPUs of one node; `None` if it has none.
    #[must_use]
    pub fn cpus_in_node(&self, node: NodeId) -> Option<&CpuSet> {
        self.nodes.get(&node)
    }

    /// Logical CPUs, as the machine information counts them.
    #[must_use]
    pub const fn num_cpus(&self) -> usize {
        self.counts.cpus
    }

    /// Entries of cores.
    #[must_use]
    pub const fn num_cores(&self) -> usize {
        self.counts.cores
    }

    /// Sockets, as the machine information counts them.
    #[must_use]
    pub const fn num_sockets(&self) -> usize {
        self.counts.sockets
    }

    /// NUMA nodes that have CPUs.
    #[must_use]
    pub fn num_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Cache groups.
    #[must_use]
    pub fn num_caches(&self) -> usize {
        self.caches.len()
    }

    /// CPUs for each core on average, rounded down; 0 without cores.
    #[must_use]
    pub fn cpus_per_core(&self) -> usize {
        self.counts.cpus.checked_div(self.counts.cores).unwrap_or(0)
    }

    /// CPUs for each socket on average, rounded down; 0 without sockets.
    #[must_use]
    pub fn cpus_per_socket(&self) -> usize {
        self.counts.cpus.checked_div(self.counts.sockets).unwrap_or(0)
    }

    /// CPUs for each cache group on average, rounded down; 0 without one.
    #[must_use]
    pub fn cpus_per_cache(&self) -> usize {
        self.counts.cpus.checked_div(self.caches.len()).unwrap_or(0)
    }

    /// Whether the CPUs are all in one cache group. Sets of no or one CPU are, also of one that the table lacks; a
    /// larger set with such a CPU is not.
    #[must_use]
    pub fn is_in_one_cache(&self, cpus: &CpuSet) -> bool {
        cpus.len() <= 1
            || cpus.is_subset(&self.all) && self.caches.values().any(|cache| cpus.is_subset(cache))
    }
}

fn rows_of(core: &MachineCore, node: NodeId) -> Result<Vec<CpuRow>, CpuTableError> {
    let threads = core.thread_ids.as_deref().unwrap_or_default();
    let lowest = *threads.iter().min().ok_or(CpuTableError::EmptyCore)?;
    let socket = SocketId(core.socket_id);
    let cache = core.uncore_caches.as_deref().and_then(<[_]>::first).map_or(core.socket_id, |cache| cache.id);
    let mut seen = CpuSet::new();
    let mut rows = Vec::with_capacity(threads.len());
    for thread in threads {
        let cpu = CpuId::try_from(*thread).map_err(|_| CpuTableError::CpuOutOfRange(*thread))?;
        if !seen.insert(cpu) {
            return Err(CpuTableError::RepeatedCpu);
        }
        rows.push(CpuRow { cpu, core: CoreId(lowest), socket, node, cache: CacheId(cache) });
    }
    Ok(rows)
}
