//! Serving a pod as a whole: pods with pod-level resources under pod scope.
//!
//! The pod gets its CPUs at once, the *bubble*; its containers share them. Init containers and sidecars come
//! first, in order: one with exclusive CPUs takes them out of what the sidecars before it leave, an init
//! container without runs on all of that. What is left beside the sidecars is the pool: app containers with
//! exclusive CPUs take them out of it, and all others, sidecars too, share what remains in the end.
//!
//! Example: 8 CPUs, an init container without exclusive ones, a sidecar with 2, apps with 4 and none: the init
//! container runs on 8, the sidecar on 2 of them, the first app on 4 of the other 6, the second on the last 2.

use alloc::vec::Vec;

use cpuset::CpuSet;
use pod_spec::{ContainerName, Pod, Role};
use topology_hint::Affinity;

use crate::guaranteed::Guarantee as _;
use crate::metrics::Counts;
use crate::{AllocateError, Change, Decision, Holdings, PodBubble, PodGranted, PodShare, Static, TakeError};

/// A pod served, not yet kept.
#[must_use]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodAllocation {
    /// What it holds.
    pub granted: PodGranted,
    /// The holdings with it.
    pub after: Holdings,
}

impl Static {
    /// Whether `pod` is served as a whole where the scope is the pod: instead of [`Static::allocate`] for each of its
    /// containers.
    #[must_use]
    pub fn allocates_whole(&self, pod: &Pod) -> bool {
        self.pod_level.allocates_whole(pod)
    }

    /// Serves all containers of a pod at once, near `affinity`.
    ///
    /// A pod that is served already is treated as [`PodBubble`] says.
    pub fn allocate_pod(
        &self,
        held: &Holdings,
        pod: &Pod,
        affinity: Affinity,
    ) -> Result<PodAllocation, AllocateError> {
        let mut after = held.clone();
        let granted = self.allocate_pod_in(&mut after, pod, affinity).granted?;
        Ok(PodAllocation { granted, after })
    }

    /// The same in place, with what it adds to the metrics. A pod that cannot be served leaves in `held` what [`PodBubble`]
    /// says: nothing, or CPUs that the kubelet never finds again.
    pub fn allocate_pod_in(
        &self,
        held: &mut Holdings,
        pod: &Pod,
        affinity: Affinity,
    ) -> Decision<PodGranted> {
        let (mut counted, mut is_cut) = (Vec::new(), false);
        let granted = self.serve_pod(held, pod, affinity, &mut counted, &mut is_cut);
        if granted.is_err() {
            self.metrics_of_refused_pod(&mut counted);
        }
        Decision { granted, counted, is_cut }
    }

    fn serve_pod(
        &self,
        held: &mut Holdings,
        pod: &Pod,
        affinity: Affinity,
        counted: &mut Vec<Change>,
        is_cut: &mut bool,
    ) -> Result<PodGranted, AllocateError> {
        let request = match self.pod_level.cpus_allocated_to_pod(pod) {
            Ok(request) => request,
            Err(reason) => return Ok(PodGranted::SharedPool(reason)),
        };
        if let Some(kept) = self.kept(held, pod) {
            return Ok(kept);
        }
        self.pod_level.check_shared_pool(pod, request)?;
        let mut after = held.clone();
        let bubble = match (self.pod_bubble, held.whole_pod(&pod.uid)) {
            // Some of its containers are gone: what it has is shared out once more.
            (PodBubble::Find, Some(bubble)) => bubble.clone(),
            (PodBubble::Lose, Some(_)) | (_, None) => {
                self.check_whole_cores(held, request)?;
                let bubble = self.choose(&self.available(held), request, affinity, is_cut)?;
                after.assign_whole(&pod.uid, bubble.clone());
                bubble
            }
        };
        let mut shares = Shares::new(bubble.clone());
        let shared_out = pod.containers.iter().try_for_each(|container| {
            let own = self.pod_level.cpus_allocated_to(pod, container).ok();
            shares.add(container.name.clone(), container.role, own, |free, count| {
                let taken = self.allocator.search(free, count)?;
                *is_cut |= taken.is_cut();
                Ok(taken.into_inner())
            })
        });
        if let Err(error) = shared_out {
            *counted = self.metrics_of_shares(held, &bubble, shares.counts);
            match self.pod_bubble {
                PodBubble::Lose => *held = after,
                PodBubble::Find => {}
            }
            return Err(error.into());
        }
        let (containers, counts) = shares.finish();
        *counted = self.metrics_of_pod(held, &bubble, counts);
        for (container, share) in &containers {
            after.set(&pod.uid, container, share.cpus().clone());
            self.keep_baseline(&mut after, &pod.uid, container, share.cpus());
        }
        *held = after;
        Ok(PodGranted::Bubble { cpus: bubble, containers })
    }

    /// What a pod that was served as a whole goes on with.
    fn kept(&self, held: &Holdings, pod: &Pod) -> Option<PodGranted> {
        match self.pod_bubble {
            PodBubble::Lose => None,
            PodBubble::Find => {
                let cpus = held.whole_pod(&pod.uid)?.clone();
                let share = |container: &pod_spec::Container| {
                    let cpus = held.assigned(&pod.uid, &container.name)?.clone();
                    let is_own = self.pod_level.cpus_allocated_to(pod, container).is_ok();
                    let share = if is_own { PodShare::Exclusive(cpus) } else { PodShare::Shared(cpus) };
                    Some((container.name.clone(), share))
                };
                let containers = pod.containers.iter().map(share).collect::<Option<_>>()?;
                Some(PodGranted::Bubble { cpus, containers })
            }
        }
    }
}

/// A bubble being shared out.
struct Shares {
    /// Without what sidecars and app containers have taken.
    left: CpuSet,
    /// `None`: the pool, whatever it will be.
    given: Vec<(ContainerName, Option<PodShare>)>,
    counts: Counts,
}

impl Shares {
    const fn new(bubble: CpuSet) -> Self {
        Self { left: bubble, given: Vec::new(), counts: Counts { exclusive: 0, shared: 0, asked: 0 } }
    }

    /// The share of the next container. `own` is its number of exclusive CPUs, if it gets any.
    fn add(
        &mut self,
        name: ContainerName,
        role: Role,
        own: Option<usize>,
        take: impl FnOnce(&CpuSet, usize) -> Result<CpuSet, TakeError>,
    ) -> Result<(), TakeError> {
        let share = if let Some(count) = own {
            self.counts.asked += 1;
            let cpus = take(&self.left, count)?;
            self.counts.exclusive += 1;
            match role {
                // It is over before the next one starts.
                Role::Init => {}
                Role::Sidecar | Role::App => self.left -= &cpus,
            }
            Some(PodShare::Exclusive(cpus))
        } else {
            match role {
                Role::Init => {
                    self.counts.shared += 1;
                    Some(PodShare::Shared(self.left.clone()))
                }
                Role::Sidecar | Role::App => None,
            }
        };
        self.given.push((name, share));
        Ok(())
    }

    fn finish(mut self) -> (Vec<(ContainerName, PodShare)>, Counts) {
        let pool = self.left;
        let mut share = |given: Option<PodShare>| {
            given.unwrap_or_else(|| {
                self.counts.shared += 1;
                PodShare::Shared(pool.clone())
            })
        };
        let containers = self.given.into_iter().map(|(name, given)| (name, share(given))).collect();
        (containers, self.counts)
    }
}
