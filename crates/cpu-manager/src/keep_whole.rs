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
//! A cache is whole if each CPU of it on the NUMA node is free. With [`Order::AcrossCores`] the kubelet's
//! choice stays, since CPUs are to be spread there. So it does where cores are not alike and a better choice is
//! not found, and where the search is cut after 10,000 steps ([`Steps::of_groups`]). It stays for all
//! containers of a pod with an init container that has exclusive CPUs too: what the kubelet takes for few CPUs
//! is a part of what it takes for more, so that app containers get again what the init container had.

use alloc::vec::Vec;

use cpuset::CpuSet;
use node_config::Fit;
use node_cover::{Group, GroupState, Need, Solution, Steps, best_fit};

use crate::Order;
use crate::take::Allocator;
use crate::units::{Unit, Units};

/// The caches of a NUMA node that have free CPUs there.
#[derive(Default)]
struct Caches {
    /// Their positions among all caches.
    at: Vec<usize>,
    groups: Vec<Group>,
}

impl Allocator {
    /// The same, which chooses by `fit`.
    #[must_use]
    pub fn with_fit(self, fit: Fit) -> Self {
        Self { fit, ..self }
    }

    /// `taken` of `free`, or what fits better in its place.
    pub(crate) fn fitted(&self, taken: CpuSet, free: &CpuSet) -> CpuSet {
        let is_spread = self.order == Order::AcrossCores;
        if is_spread || !self.units.nodes_have_several_caches() || !taken.is_subset(free) {
            return taken;
        }
        let mut fitted = taken.clone();
        for (at, node) in self.units.nodes.iter().enumerate() {
            if node.cpus.is_disjoint(&taken) {
                continue;
            }
            let (theirs, here) = (&node.cpus & &taken, &node.cpus & free);
            if theirs.len() < here.len()
                && let Some(ours) = self.units.fitted_on(at, &theirs, &here)
            {
                fitted -= &theirs;
                fitted |= &ours;
            }
        }
        fitted
    }
}

impl Units {
    /// What is taken of `here`, the free CPUs of a node, in place of `theirs`; `None`: nothing better is found.
    fn fitted_on(&self, node: usize, theirs: &CpuSet, here: &CpuSet) -> Option<CpuSet> {
        let mut caches = Caches::default();
        let mut need = Need { count: theirs.len(), block: self.cpus_per_core.max(1), blocks: 0, groups: 0 };
        for cache in self.caches_of_node(node) {
            let unit = &self.caches[cache];
            let count = unit.cpus.intersection_len(here);
            if count == 0 {
                continue;
            }
            let is_whole = count == unit.cpus.intersection_len(&self.nodes[node].cpus);
            let state = if is_whole { GroupState::Whole } else { GroupState::Broken };
            let blocks = if count == unit.size {
                self.cores_of_cache(cache).count()
            } else {
                self.whole_cores_of_cache(cache, here).count()
            };
            if !unit.cpus.is_disjoint(theirs) {
                need.groups += 1;
                need.blocks += self.whole_cores_of_cache(cache, theirs).count();
            }
            caches.groups.push(Group { state, free: count, blocks });
            caches.at.push(cache);
        }
        if caches.groups.len() < 2 {
            return None;
        }
        match best_fit(&caches.groups, need, &mut Steps::of_groups()) {
            Solution::Exact(Some(best)) => self.taken_of(&caches, &best, need, here),
            _ => None,
        }
    }

    /// What is taken of these caches: whole cores, then single CPUs of the fullest cores. `None` if it is less than is
    /// needed, or has fewer whole cores: cores that are not alike cannot be counted in blocks.
    fn taken_of(&self, caches: &Caches, best: &[usize], need: Need, here: &CpuSet) -> Option<CpuSet> {
        let (mut taken, mut left, mut whole) = (CpuSet::new(), need.count, 0);
        for &at in best {
            for core in self.whole_cores_of_cache(caches.at[at], here) {
                if core.size <= left {
                    taken |= &core.cpus;
                    left -= core.size;
                    whole += 1;
                }
            }
        }
        if left > 0 {
            let free = here - &taken;
            let rest = |at: &usize| {
                let cores = self.cores_of_cache(caches.at[*at]).map(|core| &core.cpus & &free);
                cores.filter(|free| !free.is_empty())
            };
            let mut rest: Vec<CpuSet> = best.iter().flat_map(rest).collect();
            // Stable: those with as many stay in the order of their numbers.
            rest.sort_by_key(CpuSet::len);
            for cpu in rest.iter().flat_map(CpuSet::iter).take(left).collect::<Vec<_>>() {
                left -= usize::from(taken.insert(cpu));
            }
        }
        (left == 0 && whole >= need.blocks).then_some(taken)
    }

    /// The cores of a cache of which every CPU is among `cpus`.
    fn whole_cores_of_cache(&self, cache: usize, cpus: &CpuSet) -> impl Iterator<Item = &Unit> {
        self.cores_of_cache(cache).filter(move |core| core.free(cpus) == core.size)
    }
}
