//! What a container was given that lies elsewhere than its owner may think.

use alloc::vec::Vec;
use core::fmt;

use cpuset::CpuSet;
use k8s_quantity::Amount;
use pod_spec::ResourceName;
use topology_model::NodeIds;

use crate::words::joined;

/// Why CPUs lie on other NUMA nodes than those of the merged hint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BesideHint {
    /// `align-by-socket`.
    Socket,
    /// `align-by-socket` and `distribute-cpus-across-numa`.
    SocketDistributed,
    /// The nodes of the hint have too few free CPUs.
    TooFew,
}

impl fmt::Display for BesideHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Socket => {
                "cpuManagerPolicyOptions align-by-socket takes CPUs of every NUMA node of the sockets of the hint"
            }
            Self::SocketDistributed => {
                "cpuManagerPolicyOptions align-by-socket takes CPUs of every NUMA node of the sockets of the hint, and \
                 distribute-cpus-across-numa spreads them over as few of these as have enough"
            }
            Self::TooFew => "those of the hint have too few free CPUs, so the others are taken from elsewhere",
        })
    }
}

/// Huge pages that are bound to no NUMA node, of which the nodes of a container's CPUs have too few.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FewPages {
    /// `hugepages-2Mi`.
    pub resource: ResourceName,
    /// How many bytes are asked for.
    pub asked: u64,
    /// How many bytes other containers ask for that have their CPUs on these nodes alone.
    pub others: u64,
    /// How many bytes the nodes have in all.
    pub there: u64,
    /// The nodes of its CPUs.
    pub nodes: NodeIds,
}

impl fmt::Display for FewPages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, asked, others, there, nodes } = self;
        let (asked, there) = (Amount::Bytes(*asked), Amount::Bytes(*there));
        write!(f, "NUMA {nodes} of its CPUs has {there} of {resource} in all, and it asks for {asked}")?;
        if *others > 0 {
            write!(f, " beside {} of other containers with CPUs there", Amount::Bytes(*others))?;
        }
        Ok(())
    }
}

/// The sentence about [`FewPages`].
pub(crate) fn few_pages(f: &mut fmt::Formatter<'_>, few: &[FewPages]) -> fmt::Result {
    let few: Vec<&FewPages> = few.iter().collect();
    write!(
        f,
        "memoryManagerPolicy is None, so huge pages are bound to no NUMA node: {}; those that are missing come from elsewhere, or there \
         are none where it may allocate them",
        joined(&few, "; ")
    )
}

/// The sentence about parts of cores.
pub(crate) fn part_of_core(f: &mut fmt::Formatter<'_>, part: &CpuSet, rest: &CpuSet) -> fmt::Result {
    let noun = |cpus: &CpuSet| if cpus.len() == 1 { "CPU" } else { "CPUs" };
    let what = if (part.len(), rest.len()) == (1, 1) { "half a core" } else { "parts of cores" };
    let (own, others) = (noun(part), noun(rest));
    write!(f, "it holds {what}: {own} {part} without {others} {rest}, on which others may run")
}
