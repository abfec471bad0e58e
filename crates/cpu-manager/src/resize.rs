//! Giving a container that runs more or fewer exclusive CPUs.
//!
//! # Which CPUs
//!
//! A container never has fewer CPUs than it was admitted with: that set is its *baseline*. Growth adds CPUs to
//! what it has, those of its NUMA nodes first, by the rules of an allocation. Where an allocation looks at
//! last-level caches, CPUs of its caches come before these. Shrinking takes back what was added last first; of
//! an addition that is taken back in part, those CPUs stay that an allocation would take out of it.
//!
//! Example: admitted with 2-3, grown by 10-11 and then by 4-5. One CPU fewer takes 5, three fewer take 4-5 and 11, and
//! five fewer are refused.
//!
//! # In two steps
//!
//! [`Static::begin_resize`] checks a pod's new amounts and shrinks, so that what one container gives back is free for
//! another. The containers that grow are served then as at an admission: hints first, that hold all nodes on which they
//! have CPUs, then [`Static::allocate_in`]. [`Holdings::end_resize`] ends it.
//!
//! The rules are those of KEP-5554, whose feature gate is `InPlacePodVerticalScalingExclusiveCPUs`. A kubelet with that
//! gate lets the pod be resized and leaves its CPUs as they were.

use alloc::vec::Vec;

use cpuset::CpuSet;
use pod_spec::{Container, ContainerName, Pod, PodUid, Role};
use thiserror::Error;
use topology_hint::Affinity;

use crate::guaranteed::Guarantee as _;
use crate::{
    AllocateError, CacheAlignment, Holdings, NotPinned, Static, TakeError, WholeCores, WholeCoresError,
};

/// Why a container cannot have another number of CPUs, whatever is free.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ResizeError {
    /// Fewer than it was admitted with.
    #[error("{requested} exclusive CPUs are fewer than the {baseline} that the container was admitted with")]
    BelowBaseline {
        /// CPUs asked for.
        requested: usize,
        /// CPUs that it was admitted with.
        baseline: usize,
    },
    /// It has exclusive CPUs, and with the new amounts would have none.
    #[error("the container has exclusive CPUs, which it would lose: {0}")]
    Unpinned(NotPinned),
    /// It runs in the shared pool, and with the new amounts would have exclusive CPUs.
    #[error("the container runs in the shared pool, and {requested} whole CPUs would be exclusive ones")]
    Shared {
        /// CPUs asked for.
        requested: usize,
    },
    /// It is an ordinary init container.
    #[error("an init container cannot be resized")]
    InitContainer,
    /// Its pod was served as a whole.
    #[error("the pod's CPUs were allocated to the pod as a whole, which cannot be resized")]
    WholePod,
    /// Whole cores are required, and part of one is asked for.
    #[error(transparent)]
    WholeCores(#[from] WholeCoresError),
}

/// A container that cannot be resized.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{error}")]
pub struct NotResized {
    /// The container.
    pub container: ContainerName,
    /// Why.
    pub error: ResizeError,
}

impl Static {
    /// Begins a resize of an admitted pod to the amounts of `pod`: those of its containers that shrink give their CPUs
    /// back, those that grow can be served. Nothing is to be kept of `held` on an error.
    ///
    /// # Errors
    /// The first container, in the order of the pod, that can never have what it asks for.
    pub fn begin_resize(&self, held: &mut Holdings, pod: &Pod) -> Result<(), NotResized> {
        for container in &pod.containers {
            self.shrink(held, pod, container)
                .map_err(|error| NotResized { container: container.name.clone(), error })?;
        }
        held.begin_resize(&pod.uid);
        Ok(())
    }

    /// The CPUs that a container was admitted with, as far as is known: all that it has where nothing else was stored.
    #[must_use]
    pub fn baseline<'a>(
        &self,
        held: &'a Holdings,
        pod: &PodUid,
        container: &ContainerName,
    ) -> Option<&'a CpuSet> {
        held.baseline(pod, container).or_else(|| held.assigned(pod, container))
    }

    fn shrink(&self, held: &mut Holdings, pod: &Pod, container: &Container) -> Result<(), ResizeError> {
        let asked = self.pod_level.exclusive_cpus(pod, container);
        let own = held.assigned(&pod.uid, &container.name).cloned();
        let (own, requested) = match (own, asked) {
            (None, Err(_)) => return Ok(()),
            (Some(own), Ok(requested)) if own.len() == requested => return Ok(()),
            (Some(_), _) | (None, Ok(_)) if held.whole_pod(&pod.uid).is_some() => {
                return Err(ResizeError::WholePod);
            }
            (None, Ok(requested)) => return Err(ResizeError::Shared { requested }),
            (Some(_), Err(reason)) => return Err(ResizeError::Unpinned(reason)),
            (Some(own), Ok(requested)) => (own, requested),
        };
        if container.role == Role::Init {
            return Err(ResizeError::InitContainer);
        }
        let per_core = self.allocator.units.cpus_per_core;
        if self.options.whole_cores == WholeCores::Required
            && requested.checked_rem(per_core).unwrap_or(0) != 0
        {
            return Err(WholeCoresError::NotMultiple { requested, per_core }.into());
        }
        let baseline = held.baseline(&pod.uid, &container.name).unwrap_or(&own).clone();
        if requested < baseline.len() {
            return Err(ResizeError::BelowBaseline { requested, baseline: baseline.len() });
        }
        held.keep_baseline(&pod.uid, &container.name, &baseline);
        if requested < own.len() {
            let mut grown = additions(held, pod, container, &own, &baseline);
            let stays = self.without_last(&own, &mut grown, own.len() - requested);
            held.give_part_back(&pod.uid, &container.name, stays);
            held.set_grown(&pod.uid, &container.name, grown);
        }
        Ok(())
    }

    /// `own` without as many CPUs of what was added last.
    fn without_last(&self, own: &CpuSet, grown: &mut Vec<CpuSet>, mut surplus: usize) -> CpuSet {
        let mut stays = own.clone();
        while surplus > 0 {
            let Some(last) = grown.pop() else { break };
            stays -= &last;
            let Some(kept @ 1..) = last.len().checked_sub(surplus) else {
                surplus -= last.len();
                continue;
            };
            let kept = self.best_of(&last, kept);
            stays |= &kept;
            grown.push(kept);
            surplus = 0;
        }
        stays
    }

    /// As many of `cpus` as an allocation would take.
    fn best_of(&self, cpus: &CpuSet, count: usize) -> CpuSet {
        let taken = self.allocator.packed(cpus, count).ok();
        // Under the kubelet's way with busy siblings others could be among them.
        let taken = taken.filter(|taken| taken.len() == count && (taken - cpus).is_empty());
        taken.unwrap_or_else(|| cpus.iter().take(count).collect())
    }

    /// Serves a container of a pod under resize that has fewer CPUs than it asks for.
    pub(crate) fn grow(
        &self,
        held: &mut Holdings,
        pod: &Pod,
        container: &Container,
        requested: usize,
        affinity: Affinity,
        is_cut: &mut bool,
    ) -> Result<CpuSet, AllocateError> {
        let own = held.assigned(&pod.uid, &container.name).cloned().unwrap_or_default();
        let mut free = self.available(held);
        let more = requested.saturating_sub(own.len());
        if self.options.whole_cores == WholeCores::Required {
            // CPUs that share a core with reserved ones are never part of a whole free core.
            free -= &self.reserved_cores;
            if more > free.len() {
                let per_core = self.allocator.units.cpus_per_core;
                return Err(
                    WholeCoresError::NotEnough { available: free.len(), requested: more, per_core }.into()
                );
            }
        }
        let added = self.more(&own, &free, more, affinity, is_cut)?;
        if added.len() != more || !(&added - &free).is_empty() {
            return Err(TakeError::Failed.into());
        }
        let all = &own | &added;
        let baseline = held.baseline(&pod.uid, &container.name).unwrap_or(&own).clone();
        let mut grown = additions(held, pod, container, &own, &baseline);
        grown.push(added);
        held.assign(&pod.uid, &container.name, all.clone());
        held.set_grown(&pod.uid, &container.name, grown);
        Ok(all)
    }

    /// `count` more CPUs of `free` for a container that has `own`: of its last-level caches where those matter, then of
    /// its NUMA nodes, then near `affinity`.
    fn more(
        &self,
        own: &CpuSet,
        free: &CpuSet,
        count: usize,
        affinity: Affinity,
        is_cut: &mut bool,
    ) -> Result<CpuSet, AllocateError> {
        let near = self.near(free, Affinity::Nodes(self.nodes_of(own)));
        let same_caches = if self.looks_at_caches() { self.in_caches_of(own, &near) } else { CpuSet::new() };
        let of_caches = self.take_near(&same_caches, count.min(same_caches.len()), Affinity::Any, is_cut)?;
        let rest = count.saturating_sub(of_caches.len());
        let (near, free) = (&near - &of_caches, free - &of_caches);
        let mut added = self.take_near(&near, rest.min(near.len()), Affinity::Any, is_cut)?;
        if let Some(missing @ 1..) = rest.checked_sub(added.len()) {
            let beyond = &free - &added;
            if beyond.len() < missing {
                let available = free.len() + of_caches.len();
                return Err(TakeError::NotEnough { requested: count, available }.into());
            }
            added |= &self.take_near(&beyond, missing, affinity, is_cut)?;
        }
        if self.cache_alignment == CacheAlignment::Required {
            let aligned = self.near(&free, affinity);
            let from = [&near, &aligned].into_iter().find(|some| some.len() >= rest).unwrap_or(&free);
            added = self.more_in_fewest_caches(&(own | &of_caches), added, from, rest, is_cut)?;
        }
        Ok(&of_caches | &added)
    }
}

/// What was added to the baseline, in order. Additions of which nothing is known come first: they are older than those
/// that are.
fn additions(
    held: &Holdings,
    pod: &Pod,
    container: &Container,
    own: &CpuSet,
    baseline: &CpuSet,
) -> Vec<CpuSet> {
    let mut unknown = own - baseline;
    let mut known = Vec::new();
    for added in held.grown_of(&pod.uid, &container.name) {
        let there = added & &unknown;
        unknown -= &there;
        known.push(there);
    }
    let mut all = alloc::vec![unknown];
    all.extend(known);
    all.retain(|added| !added.is_empty());
    all
}
