//! A local control plane: its programs, and the definitions and rights that nodes and schedulers need.

use std::path::PathBuf;

use local_cluster::{
    Cluster, EXTENDER_RIGHTS, Kind, NODE_RIGHTS, PUBLISHER_RIGHTS, Program, READER_RIGHTS, package,
};

use crate::kubernetes::Release;
use crate::workspace::{self, target};

/// Two NUMA nodes of 48 CPUs.
pub const MACHINE: &str = "xeon-2s-96cpu-sriov";

/// Builds the programs of a release that are not built yet.
pub fn build(release: &str) -> anyhow::Result<()> {
    let programs = Release(release);
    Program::ALL.into_iter().try_for_each(|program| programs.build(program.name(), &package(program)))
}

/// Builds topolet.
pub fn topolet() -> anyhow::Result<PathBuf> {
    workspace::build(&["topolet"])?;
    Ok(target().join("debug/topolet"))
}

/// Installs the resource definitions and the rights of nodes that publish and of schedulers that read.
pub fn prepare(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.define(&[Kind::NodeResourceTopology, Kind::NodeState])?;
    for rights in [NODE_RIGHTS, PUBLISHER_RIGHTS, READER_RIGHTS, EXTENDER_RIGHTS] {
        cluster.apply(rights)?;
    }
    Ok(())
}
