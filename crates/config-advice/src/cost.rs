//! How long a kubelet takes to admit one container of a Guaranteed pod, estimated from its configuration.
//!
//! The kubelet's managers answer with hints, and each walks *every* set of NUMA nodes to find them:
//!
//! - the CPU manager the sets of nodes that have CPUs, and in each it looks at every free CPU;
//! - the memory manager the sets of *all* nodes, under every Topology Manager policy: under `none` the walk happens when
//!   memory is allocated;
//! - the device manager the sets of nodes that have a device of the resource, which are few.
//!
//! `best-effort` and `restricted` then try every combination of one hint from each list: with CPUs and memory on *n* nodes
//! that are 4^n, and huge pages make it 8^n. `single-numa-node` keeps the hints of single nodes only, `none` merges
//! nothing. The times below are what `cargo xtask hint-costs` measured of the kubelet's own code with little else running, rounded
//! up; beside other work it took up to 1.7 times as long.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use node_config::KubeletConfiguration;
use topology_model::KubeletView;

/// Nanoseconds for each CPU in each set of nodes.
const CPU_IN_SET: f64 = 190.0;
/// Nanoseconds for each set of nodes whose memory is summed up.
const MEMORY_SET: f64 = 1000.0;
/// Additional nanoseconds for each such set and each node of the machine.
const MEMORY_SET_PER_NODE: f64 = 75.0;
/// Nanoseconds for each combination of hints.
const COMBINATION: f64 = 220.0;

/// The steps of an admission, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Cost {
    /// Hints of the CPU manager.
    pub(crate) cpus: f64,
    /// Hints of the memory manager.
    pub(crate) memory: f64,
    /// Merging the hints of CPUs and memory.
    pub(crate) merge: f64,
    /// Merging them with those of huge pages; 0 on a machine without huge pages.
    pub(crate) merge_with_huge_pages: f64,
}

/// How many NUMA nodes the managers walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Walked {
    /// Nodes with CPUs.
    pub(crate) with_cpus: i32,
    /// All nodes.
    pub(crate) all: i32,
}

impl Walked {
    pub(crate) fn of(view: &KubeletView) -> Self {
        let count = |nodes: usize| i32::try_from(nodes).unwrap_or(i32::MAX);
        let with_cpus = view.cpus().nodes().filter(|(_, cpus)| !cpus.is_empty()).count();
        Self { with_cpus: count(with_cpus), all: count(view.nodes().len()) }
    }
}

/// What one container of a Guaranteed pod costs on an empty node.
pub(crate) fn cost(config: &KubeletConfiguration, view: &KubeletView) -> Cost {
    let Walked { with_cpus, all } = Walked::of(view);
    let policy = config.topology_policy();
    let cpus = f64::from(u32::try_from(view.cpus().num_cpus()).unwrap_or(u32::MAX));
    let has_cpu_hints = config.cpu_policy() == "static" && policy != "none";
    let has_memory_hints = config.memory_policy() == "Static";
    let cpu_sets = if has_cpu_hints { sets(with_cpus) } else { 1.0 };
    let memory_sets = if has_memory_hints { sets(all) } else { 1.0 };
    let merges = matches!(policy, "best-effort" | "restricted");
    let has_pages = view.node_memory().iter().flat_map(|node| &node.hugepages).any(|size| size.num_pages > 0);
    let merge = |lists: f64| if merges { lists * COMBINATION / 1e9 } else { 0.0 };
    Cost {
        cpus: if has_cpu_hints { cpu_sets * cpus * CPU_IN_SET / 1e9 } else { 0.0 },
        memory: if has_memory_hints {
            memory_sets * (MEMORY_SET + MEMORY_SET_PER_NODE * f64::from(all)) / 1e9
        } else {
            0.0
        },
        merge: merge(cpu_sets * memory_sets),
        merge_with_huge_pages: if has_pages && has_memory_hints {
            merge(cpu_sets * memory_sets * memory_sets)
        } else {
            0.0
        },
    }
}

/// The number of sets of so many nodes, without the empty one.
fn sets(nodes: i32) -> f64 {
    libm::exp2(f64::from(nodes.clamp(0, 1000))) - 1.0
}

/// A span of time in words; beyond a year it never ends.
pub(crate) fn in_words(seconds: f64) -> String {
    const MINUTE: f64 = 60.0;
    const HOUR: f64 = 60.0 * MINUTE;
    const DAY: f64 = 24.0 * HOUR;
    const YEAR: f64 = 365.0 * DAY;
    match seconds {
        s if s < 2.0 * MINUTE => format!("takes about {s:.0} s"),
        s if s < 2.0 * HOUR => format!("takes about {:.0} minutes", s / MINUTE),
        s if s < 3.0 * DAY => format!("takes about {:.0} hours", s / HOUR),
        s if s < YEAR => format!("takes about {:.0} days", s / DAY),
        _ => "never ends".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn times_are_words_that_a_person_believes() {
        for (seconds, words) in [
            (3.4, "takes about 3 s"),
            (300.0, "takes about 5 minutes"),
            (4000.0, "takes about 67 minutes"),
            (58_000.0, "takes about 16 hours"),
            (1e6, "takes about 12 days"),
            (3e7, "takes about 347 days"),
            (4e7, "never ends"),
            (1e12, "never ends"),
        ] {
            assert_eq!(in_words(seconds), words);
        }
    }
}
