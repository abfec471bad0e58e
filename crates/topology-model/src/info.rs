//! Facts about a machine as they were read: cAdvisor's `MachineInfo`, the fields that matter to the kubelet.
//! Nothing is checked here, and absent lists stay absent: `None` and an empty list mean different things to the
//! kubelet.

use alloc::string::String;
use alloc::vec::Vec;

/// What cAdvisor reports of a machine.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MachineInfo {
    /// Logical CPUs (`num_cores` in the JSON).
    pub num_cpus: i64,
    /// Distinct core ids; no manager uses it.
    pub num_physical_cores: i64,
    /// Distinct package ids as `/proc/cpuinfo` prints them.
    pub num_sockets: i64,
    /// s390x only, else 0.
    pub num_books: i64,
    /// s390x only, else 0.
    pub num_drawers: i64,
    /// Clock in kHz.
    pub cpu_frequency_khz: u64,
    /// `MemTotal` of the machine in bytes.
    pub memory_capacity: u64,
    /// `SwapTotal` of the machine in bytes.
    pub swap_capacity: u64,
    /// Huge pages of the whole machine, in lexical order of their folders.
    pub hugepages: Option<Vec<HugePages>>,
    /// The NUMA nodes in lexical order of their folders (node0, node1, node10, node2).
    pub topology: Option<Vec<MachineNode>>,
}

/// Pages of one size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HugePages {
    /// Size of a page in KiB.
    pub page_size_kib: u64,
    /// How many there are.
    pub num_pages: u64,
}

/// One NUMA node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MachineNode {
    /// Node id.
    pub id: i64,
    /// `MemTotal` of the node in bytes.
    pub memory: u64,
    /// Huge pages of the node.
    pub hugepages: Option<Vec<HugePages>>,
    /// Cores with a CPU in this node.
    pub cores: Option<Vec<MachineCore>>,
    /// Caches that cover exactly the node.
    pub caches: Option<Vec<Cache>>,
    /// One distance for each online node in ascending id order. `None`: not known.
    pub distances: Option<Vec<u64>>,
}

/// CPUs of one node with equal core and package id.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MachineCore {
    /// The firmware's core id.
    pub core_id: i64,
    /// CPU ids in lexical order of their folders (`10` before `2`).
    pub thread_ids: Option<Vec<i64>>,
    /// Caches of the core alone.
    pub caches: Option<Vec<Cache>>,
    /// Caches above level 2 that do not cover exactly the node.
    pub uncore_caches: Option<Vec<Cache>>,
    /// Package id; -1 where the firmware has none.
    pub socket_id: i64,
    /// s390x only.
    pub book_id: Option<String>,
    /// s390x only.
    pub drawer_id: Option<String>,
}

/// One cache.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cache {
    /// The kernel's id of the cache.
    pub id: i64,
    /// Size in bytes.
    pub size: u64,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Level, 1 is nearest to the core.
    pub level: i64,
}
