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
use node_config::Fit;
use topology_hint::Affinity;

use crate::{AllocateError, CacheAlignment, CacheSplit, Order, Static};

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
        let near = self.near(free, affinity);
        let free = if near.len() >= request { &near } else { free };
        self.more_in_fewest_caches(&CpuSet::new(), cpus, free, request, is_cut)
    }

    /// `added` to a container that has `own`, or else as many CPUs of `free` with which it has as few caches as are asked
    /// for. `own` lacks nothing that is free in its caches.
    pub(crate) fn more_in_fewest_caches(
        &self,
        own: &CpuSet,
        added: CpuSet,
        free: &CpuSet,
        count: usize,
        is_cut: &mut bool,
    ) -> Result<CpuSet, AllocateError> {
        let requested = own.len() + count;
        let (touched, needed) = (self.caches_of(&(own | &added)), self.fewest_caches(requested));
        if touched <= needed {
            return Ok(added);
        }
        let others = needed.checked_sub(self.caches_of(own));
        match others.and_then(|others| self.best_caches(free, count, others)) {
            Some(chosen) => {
                let taken = self.allocator.search(&chosen, count)?;
                *is_cut |= taken.is_cut();
                Ok(taken.into_inner())
            }
            None => Err(CacheSplit { requested, touched, needed }.into()),
        }
    }

    /// Whether an allocation looks at last-level caches.
    pub(crate) fn looks_at_caches(&self) -> bool {
        self.options.order == Order::ByCache
            || self.allocator.fit == Fit::Best
            || self.cache_alignment == CacheAlignment::Required
    }

    /// Those of `free` in the caches of which a container has CPUs.
    pub(crate) fn in_caches_of(&self, own: &CpuSet, free: &CpuSet) -> CpuSet {
        let caches = self.allocator.units.caches.iter().filter(|cache| !cache.cpus.is_disjoint(own));
        caches.fold(CpuSet::new(), |sum, cache| &sum | &(&cache.cpus & free))
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
