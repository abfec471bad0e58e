//! Which CPUs are where.

use std::collections::BTreeMap;

use cpuset::CpuSet;
use topology_model::{Core, Package};

/// Which CPUs are where, with what was taken for granted.
pub(super) struct Places {
    /// Online CPUs of each NUMA node.
    pub(super) nodes: BTreeMap<i64, CpuSet>,
    pub(super) cores: Vec<Core>,
    pub(super) packages: Vec<Package>,
    pub(super) assumed: Vec<String>,
    /// Nothing tells the cores.
    pub(super) lacks_cores: bool,
}
