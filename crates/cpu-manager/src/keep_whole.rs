//! [`Fit::Best`]: which CPUs of its NUMA nodes a container gets so that last-level caches stay whole, and then cores.
//!
//! The kubelet's order says how many CPUs come from each NUMA node, how many whole cores these are at least, and from how
//! many caches they come at most: that is never worse. Of the sets of caches with which that can be had, the one is taken
//! that [`best_fit`] names: it breaks the fewest whole caches, then has the fewest caches, then breaks the fewest whole
//! cores, then leaves the fewest free CPUs in its caches. In these caches whole cores are taken first, then single CPUs of
//! the fullest cores, as ever.
//!
//! So a request goes to the broken cache with the fewest free CPUs that holds it. What is larger than a cache takes whole
//! ones, and its rest goes to the tightest.
//!
//! A cache is whole if each CPU of it on the NUMA node is free. With [`Order::AcrossCores`] the kubelet's choice stays,
//! since CPUs are to be spread there. So it does where cores are not alike and a better choice is not found, and after
//! 10,000 steps of search, far more than the caches of real NUMA nodes take.

use alloc::vec::Vec;

use cpuset::CpuSet;
use node_config::Fit;
use node_cover::{Group, GroupState, Need, Steps, best_fit};

use crate::take::Allocator;
use crate::{Order, TakeError};

/// So many states a search visits at most.
const MOST_STEPS: u64 = 10_000;

/// The CPUs of a NUMA node, cache by cache.
struct Caches {
    /// The free CPUs of each cache that has a CPU on the node.
    free: Vec<CpuSet>,
    groups: Vec<Group>,
}

impl Allocator {
    /// The same, which chooses by `fit`.
    #[must_use]
    pub fn with_fit(self, fit: Fit) -> Self {
        Self { fit, ..self }
    }

    /// `taken` of `free`, or what fits better in its place.
    pub(crate) fn fitted(&self, taken: CpuSet, free: &CpuSet) -> Result<CpuSet, TakeError> {
        let is_spread = self.order == Order::AcrossCores;
        if is_spread || !self.units.nodes_have_several_caches() || !taken.is_subset(free) {
            return Ok(taken);
        }
        let mut fitted = taken.clone();
        for (at, node) in self.units.nodes.iter().enumerate() {
            let (theirs, here) = (&node.cpus & &taken, &node.cpus & free);
            if theirs.is_empty() || theirs == here {
                continue;
            }
            if let Some(ours) = self.fitted_on(at, &theirs, &here)? {
                fitted -= &theirs;
                fitted |= &ours;
            }
        }
        Ok(fitted)
    }

    /// What is taken of `here`, the free CPUs of a node, in place of `theirs`; `None`: nothing better is found.
    fn fitted_on(&self, node: usize, theirs: &CpuSet, here: &CpuSet) -> Result<Option<CpuSet>, TakeError> {
        let caches = Caches::new(self, node, here);
        let need = Need {
            count: theirs.len(),
            block: self.units.cpus_per_core.max(1),
            blocks: self.whole_cores_in(node, theirs),
            groups: caches.touched_by(theirs),
        };
        let best = best_fit(&caches.groups, need, &mut Steps::new(MOST_STEPS)).into_inner();
        let Some(best) = best else { return Ok(None) };
        let mut chosen = CpuSet::new();
        for at in best {
            chosen |= &caches.free[at];
        }
        let ours = self.in_order(Order::Packed, &chosen, need.count)?;
        // Where cores are not alike, they cannot be counted in blocks.
        let is_as_good = ours.len() == need.count
            && ours.is_subset(here)
            && self.whole_cores_in(node, &ours) >= need.blocks
            && caches.touched_by(&ours) <= need.groups;
        Ok(is_as_good.then_some(ours))
    }

    fn whole_cores_in(&self, node: usize, cpus: &CpuSet) -> usize {
        self.units.cores_of_node(node).filter(|core| core.free(cpus) == core.size).count()
    }
}

impl Caches {
    fn new(allocator: &Allocator, node: usize, here: &CpuSet) -> Self {
        let units = &allocator.units;
        let cpus_of_node = &units.nodes[node].cpus;
        let (mut free, mut groups) = (Vec::new(), Vec::new());
        for cache in units.caches_of_node(node) {
            let own = &units.caches[cache].cpus & cpus_of_node;
            let own_free = &own & here;
            let state = if own_free == own { GroupState::Whole } else { GroupState::Broken };
            let cores = units.cores_of_cache(cache);
            let blocks = cores.filter(|core| core.free(&own_free) == core.size).count();
            groups.push(Group { state, free: own_free.len(), blocks });
            free.push(own_free);
        }
        Self { free, groups }
    }

    fn touched_by(&self, cpus: &CpuSet) -> usize {
        self.free.iter().filter(|free| !free.is_disjoint(cpus)).count()
    }
}
