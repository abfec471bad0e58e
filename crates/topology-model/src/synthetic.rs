//! Machines made up in one line, for tests and examples.
//!
//! The notation is hwloc's for synthetic topologies: levels from the outside in, each with how many of it are in one
//! of the level before. `[numa]` attaches a NUMA node to the level before it. Levels are `pack`, `numa`, `l3`, `l2`,
//! `l1`, `core` and, last and always there, `pu`: a thread. What hwloc and this have as attributes, in parentheses:
//! `memory=64GiB` of a node (1 GiB if not given) and `size=32MiB` of a cache. Ours alone is `hugepages-1Gi=16` of a
//! node.
//!
//! ```
//! use topology_model::{KubeletView, Machine, MachineInfo};
//!
//! // Two packages, a node for each half of a package, four cores of two threads in a node.
//! let server = "pack:2 numa:2(memory=64GiB hugepages-1Gi=16) l3:1 core:4 pu:2";
//! let machine: Machine = server.parse()?;
//! assert_eq!(machine.nodes()[3].cpus.to_string(), "24-31");
//! assert_eq!(machine.nodes()[3].distances.as_deref(), Some([20, 20, 12, 10].as_slice()));
//!
//! // The same machine as cAdvisor would report it, and what the kubelet makes of that.
//! let view = KubeletView::new(&server.parse::<MachineInfo>()?)?;
//! assert_eq!(view.cpus().num_cores(), 16);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! CPUs and nodes are numbered from 0 in the order in which they are nested, cores anew in each package. A distance
//! is 10 to the node itself, 12 inside a package and 20 to another. Without `numa` there is one node, without `pack`
//! one package, without `core` each thread is a core.

mod build;
mod error;
mod notation;

pub use error::SyntheticError;

use core::str::FromStr;

use crate::{Machine, MachineInfo};
use notation::Shape;

impl FromStr for Machine {
    type Err = SyntheticError;

    /// The machine that a text in hwloc's synthetic notation describes: `pack:2 [numa(memory=64GiB)] core:8 pu:2`.
    fn from_str(text: &str) -> Result<Self, SyntheticError> {
        Ok(Self::new(build::parts(&Shape::parse(text)?))?)
    }
}

impl FromStr for MachineInfo {
    type Err = SyntheticError;

    /// What cAdvisor would report of the machine that a text in hwloc's synthetic notation describes.
    fn from_str(text: &str) -> Result<Self, SyntheticError> {
        let shape = Shape::parse(text)?;
        Machine::new(build::parts(&shape))?;
        Ok(build::info(&shape))
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec::Vec;

    use super::*;
    use crate::{KubeletView, NodeId};

    fn machine(text: &str) -> Machine {
        text.parse().unwrap()
    }

    #[test]
    fn levels_nest_from_the_outside_in() {
        for (text, packages, nodes, caches, cores, cpus) in [
            ("pu:4", 1, 1, 0, 4, 4),
            ("core:4 pu:2", 1, 1, 0, 4, 8),
            ("pack:2 core:4 pu:2", 2, 1, 0, 8, 16),
            ("pack:2 [numa] core:4 pu:1", 2, 2, 0, 8, 8),
            ("Package:2 NUMANode:2 L3:2 L2:1 Core:4 PU:2", 2, 4, 8, 32, 64),
            ("numa:2 pack:2 core:1 pu:1", 4, 2, 0, 4, 4),
            ("pack:2 l3:3 [numa(memory=1GB)] core:2 l1:1 pu:2", 2, 6, 6, 12, 24),
        ] {
            let machine = machine(text);
            let got = (
                machine.packages().len(),
                machine.nodes().len(),
                machine.caches_at(3).count(),
                machine.cores().len(),
                machine.online().len(),
            );
            assert_eq!(got, (packages, nodes, caches, cores, cpus), "{text}");
        }
    }

    #[test]
    fn attributes_are_those_of_their_level() {
        let machine = machine("numa:2(memory=3GiB hugepages-2Mi=5 hugepages-1Gi=1) l3:1(size=512KiB) pu:1");
        assert_eq!(machine.node(NodeId(1)).unwrap().memory, Some(3 << 30));
        assert_eq!(machine.memory(), Some(6 << 30));
        let pages: Vec<_> =
            machine.hugepages().iter().map(|pages| (pages.page_size_kib, pages.num_pages)).collect();
        assert_eq!(pages, [(2048, 10), (1 << 20, 2)]);
        assert_eq!(machine.caches()[0].size_kib, Some(512));
    }

    #[test]
    fn cadvisor_sees_nodes_and_threads_in_lexical_order() {
        let info: MachineInfo = "numa:12 core:1 pu:2".parse().unwrap();
        let ids: Vec<_> = info.topology.iter().flatten().map(|node| node.id).collect();
        assert_eq!(ids, [0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9]);
        let info: MachineInfo = "numa:1 core:4 pu:3".parse().unwrap();
        let cores = info.topology.unwrap().remove(0).cores.unwrap();
        let threads: Vec<_> = cores.into_iter().filter_map(|core| core.thread_ids).collect();
        assert_eq!(
            threads,
            [[0, 1, 2].to_vec(), [10, 11, 9].to_vec(), [3, 4, 5].to_vec(), [6, 7, 8].to_vec()]
        );
    }

    #[test]
    fn a_cache_that_covers_a_node_is_no_uncore_cache() {
        let caches = |text: &str| {
            let info: MachineInfo = text.parse().unwrap();
            KubeletView::new(&info).unwrap().cpus().caches().len()
        };
        assert_eq!(caches("pack:2 [numa] l3:1 core:4 pu:2"), 2, "the package stands in for the cache");
        assert_eq!(caches("pack:2 [numa] l3:4 core:2 pu:2"), 8);
        assert_eq!(caches("pack:2 l3:1 numa:2 core:4 pu:2"), 2);
    }

    #[test]
    fn a_machine_may_have_more_nodes_than_a_kubelet_decides_on() {
        let text = "numa:128 core:2 pu:1";
        let machine = machine(text);
        let (last, cpu) = (NodeId(127), cpuset::CpuId::new(255).unwrap());
        assert_eq!((machine.nodes().len(), machine.node_of(cpu)), (128, Some(last)));
        assert_eq!(machine.distance(NodeId(0), last), Some(12));
        assert_eq!(machine.nodes_of(machine.online()).len(), 128);
        let error = KubeletView::new(&text.parse().unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "machine has 128 NUMA nodes, more than the 64 that a node mask holds");
    }

    #[test]
    fn what_is_no_machine_says_why() {
        for (text, message) in [
            ("", "the last level is not pu"),
            ("pack:2 core:4", "the last level is not pu"),
            ("pu:2 core:2", "\"core\" cannot be inside of a core or thread"),
            ("core:2 numa:2 pu:1", "\"numa\" cannot be inside of a core or thread"),
            ("pack:2 pack:2 pu:1", "\"pack\" is a level that is already there"),
            ("numa:2 [numa] pu:1", "\"numa\" is a level that is already there"),
            ("numa:2(memory=1GiB pu:1", "\"memory=1GiB pu:1\" is not closed"),
            ("[numa pu:1", "\"numa pu:1\" is not closed"),
            ("pack:2 core:90 pu:90", "more than 8192 CPUs"),
            ("core:18446744073709551615 pu:18446744073709551615", "more than 8192 CPUs"),
            ("numa:1025 pu:1", "more than 1024 NUMA nodes"),
        ] {
            assert_eq!(text.parse::<Machine>().unwrap_err().to_string(), message, "{text}");
            assert_eq!(text.parse::<MachineInfo>().unwrap_err().to_string(), message, "{text}");
        }
        for text in ["pack", "pack:0 pu:1", "pack:-1 pu:1", "die:2 pu:1", "pack:2pu:2", "2 4", "]", ")"] {
            assert!(matches!(text.parse::<Machine>(), Err(SyntheticError::Level(_))), "{text}");
        }
        for text in
            ["numa:1(size=1KiB) pu:1", "l3:1(memory=1) pu:1", "numa:1(memory=x) pu:1", "pu:1(memory=1)"]
        {
            assert!(matches!(text.parse::<Machine>(), Err(SyntheticError::Attribute(_))), "{text}");
        }
    }
}
