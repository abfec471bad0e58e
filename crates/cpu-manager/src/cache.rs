//! The stage of [`Order::ByCache`](crate::Order::ByCache): as much as fits inside one last-level cache.
//!
//! For each cache in order: whole caches while at least an average one is needed; else the lowest-numbered cores
//! with a free CPU that could hold the rest, if they hold it exactly. Only those cores are tried: one half-busy
//! core among them, and the cache is passed over although others in it would do. What fits no cache is left to
//! the next stages.

use cpuset::CpuSet;

use crate::take::Taking;
use crate::units::{Unit, Units};

impl Taking<'_> {
    pub(crate) fn in_one_cache(&mut self) {
        let units = self.units;
        for listed in units.cache_order(&self.free) {
            if self.need >= units.cpus_per_cache {
                self.full_units(&units.caches, Units::cache_order, |unit, free| free == unit.size);
            }
            if self.need == 0 {
                return;
            }
            if let Some(cpus) = self.rest_in(listed.at) {
                self.claim(&cpus);
                return;
            }
        }
    }

    /// The CPUs of the lowest cores of `cache` that make up exactly what is needed.
    fn rest_in(&self, cache: usize) -> Option<CpuSet> {
        let per_core = self.units.cpus_per_core;
        if per_core == 0 {
            return None;
        }
        let how_many = self.need.div_ceil(per_core);
        let mut cpus = CpuSet::new();
        let group = &self.units.caches[cache];
        let here = |core: &&Unit| core.has_free_in(group, &self.free);
        for core in self.units.cores_of_cache(cache).filter(here).take(how_many) {
            cpus |= &(&core.cpus & &self.free);
        }
        if self.need % 2 == 1
            && per_core > 1
            && cpus.len() > self.need
            && let Some(highest) = cpus.last()
        {
            cpus.remove(highest);
        }
        (cpus.len() == self.need).then_some(cpus)
    }
}
