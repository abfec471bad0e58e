//! [`CacheAlignment::Required`]: a container's CPUs lie in as few last-level caches as hold so many, or it is refused.
//!
//! What the options of the kubelet choose stays, if it is so. Else the caches near its nodes are looked at: all but one
//! of the fewest are those with the most free CPUs, the last is the fullest that has the rest. CPUs of other nodes are
//! looked at only where those near do not suffice at all.
//!
//! Example: caches of 8 CPUs with 3, 5 and 8 of them free, 6 wanted: the kubelet's own option takes the third. With 3,
//! 5 and 5 free it would take 3 of the first and 3 of the second; here the container is refused.

use alloc::vec::Vec;
use core::cmp::Reverse;

use cpuset::CpuSet;
use topology_hint::Affinity;

use crate::allocate::CacheSplit;
use crate::{AllocateError, CacheAlignment, Static};

impl Static {
    /// CPUs of `free` near `affinity`, in as few caches as are asked for.
    pub(crate) fn choose(
        &self,
        free: &CpuSet,
        request: usize,
        affinity: Affinity,
        is_cut: &mut bool,
    ) -> Result<CpuSet, AllocateError> {
        let cpus = self.take_near(free, request, affinity, is_cut)?;
        match self.cache_alignment {
            CacheAlignment::BestEffort => Ok(cpus),
            CacheAlignment::Required => self.in_fewest_caches(cpus, free, request, affinity, is_cut),
        }
    }

    /// Whether all of `cpus` share a last-level cache.
    pub(crate) fn is_in_one_cache(&self, cpus: &CpuSet) -> bool {
        self.caches_of(cpus) <= 1
    }

    fn in_fewest_caches(
        &self,
        cpus: CpuSet,
        free: &CpuSet,
        request: usize,
        affinity: Affinity,
        is_cut: &mut bool,
    ) -> Result<CpuSet, AllocateError> {
        let (touched, needed) = (self.caches_of(&cpus), self.fewest_caches(request));
        if touched <= needed {
            return Ok(cpus);
        }
        let near = self.near(free, affinity);
        let free = if near.len() >= request { &near } else { free };
        match self.best_caches(free, request, needed) {
            Some(chosen) => {
                let taken = self.allocator.search(&chosen, request)?;
                *is_cut = taken.is_cut();
                Ok(taken.into_inner())
            }
            None => Err(CacheSplit { requested: request, touched, needed }.into()),
        }
    }

    pub(crate) fn caches_of(&self, cpus: &CpuSet) -> usize {
        self.allocator.units.caches.iter().filter(|cache| !cache.cpus.is_disjoint(cpus)).count()
    }

    /// How many caches hold `request` CPUs when nothing runs.
    pub(crate) fn fewest_caches(&self, request: usize) -> usize {
        let mut sizes: Vec<_> = self.allocator.units.caches.iter().map(|cache| cache.size).collect();
        sizes.sort_unstable_by_key(|size| Reverse(*size));
        let (mut held, mut caches) = (0, 0);
        for size in sizes {
            if held >= request {
                break;
            }
            held += size;
            caches += 1;
        }
        caches
    }

    /// The free CPUs of `how_many` caches, if they can be enough.
    fn best_caches(&self, free: &CpuSet, request: usize, how_many: usize) -> Option<CpuSet> {
        let caches = &self.allocator.units.caches;
        let order = self.allocator.units.cache_order(free);
        let mut order: Vec<usize> = order.iter().map(|listed| listed.at).collect();
        order.sort_by_key(|&at| Reverse(caches[at].free(free)));
        order.dedup();
        let (most, others) = order.split_at_checked(how_many.checked_sub(1)?)?;
        let mut chosen = CpuSet::new();
        for &at in most {
            chosen |= &(&caches[at].cpus & free);
        }
        let rest = request.saturating_sub(chosen.len());
        let last = others.iter().rev().find(|&&at| caches[at].free(free) >= rest)?;
        chosen |= &(&caches[*last].cpus & free);
        Some(chosen)
    }
}
