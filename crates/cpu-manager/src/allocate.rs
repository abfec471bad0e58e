//! Giving a container its CPUs.

use cpuset::CpuSet;
use kubelet_release::WholeCoreCheck;
use node_config::Fit;
use pod_spec::{Container, ContainerName, Pod, PodUid, Role};
use topology_hint::Affinity;

use crate::guaranteed::Guarantee as _;
use crate::metrics::Served;
use crate::{
    Alignment, AllocateError, Baselines, Decision, Granted, Holdings, Static, TakeError, WholeCores,
    WholeCoresError,
};

/// A container served, not yet kept.
#[must_use]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allocation {
    /// What the container runs on.
    pub granted: Granted,
    /// The holdings with it.
    pub after: Holdings,
}

impl Static {
    /// Serves one container near `affinity`; a container that holds CPUs already keeps them, whatever it asks for.
    ///
    /// CPUs on the nodes of `affinity` are taken first, the rest anywhere. A node set without CPUs aligns nothing
    /// and is no error.
    pub fn allocate(
        &self,
        held: &Holdings,
        pod: &Pod,
        container: &Container,
        affinity: Affinity,
    ) -> Result<Allocation, AllocateError> {
        let mut after = held.clone();
        let granted = self.serve(&mut after, pod, container, affinity, &mut false)?;
        Ok(Allocation { granted, after })
    }

    /// The same in place, with what it adds to the metrics: for those who have a copy to work on, and serve one container
    /// after another. Nothing changes in `held` when the container cannot be served.
    pub fn allocate_in(
        &self,
        held: &mut Holdings,
        pod: &Pod,
        container: &Container,
        affinity: Affinity,
    ) -> Decision<Granted> {
        let served = match held.assigned(&pod.uid, &container.name) {
            Some(_) => Served::Before,
            None => Served::Now,
        };
        let mut is_cut = false;
        let granted = self.serve(held, pod, container, affinity, &mut is_cut);
        let counted = self.metrics_of_container(served, granted.as_ref(), held);
        Decision { granted, counted, is_cut }
    }

    fn serve(
        &self,
        held: &mut Holdings,
        pod: &Pod,
        container: &Container,
        affinity: Affinity,
        is_cut: &mut bool,
    ) -> Result<Granted, AllocateError> {
        let request = match self.pod_level.exclusive_cpus(pod, container) {
            Ok(request) => request,
            Err(reason) => return Ok(Granted::SharedPool(reason)),
        };
        let own = held.assigned(&pod.uid, &container.name);
        if own.is_some_and(|own| own.len() != request) && held.is_resizing(&pod.uid) {
            let cpus = self.grow(held, pod, container, request, affinity, is_cut)?;
            return Ok(Granted::Exclusive(cpus));
        }
        let is_kept = own.is_some() && held.is_resizing(&pod.uid);
        match (self.whole_core_check, own) {
            _ if is_kept => {}
            (WholeCoreCheck::NewContainers, Some(_)) => {}
            // So a running container can fail here after a restart.
            (WholeCoreCheck::Everyone, _) | (WholeCoreCheck::NewContainers, None) => {
                self.check_whole_cores(held, request)?;
            }
        }
        let cpus = if let Some(own) = own {
            own.clone()
        } else {
            let mut free = self.available(held);
            if let Some(reusable) = held.reusable(&pod.uid) {
                free |= reusable;
            }
            let cpus = if self.allocator.fit == Fit::Best && self.has_exclusive_init(pod) {
                let first = Self { allocator: self.allocator.clone().with_fit(Fit::First), ..self.clone() };
                first.choose(&free, request, affinity, is_cut)?
            } else {
                self.choose(&free, request, affinity, is_cut)?
            };
            held.assign(&pod.uid, &container.name, cpus.clone());
            self.keep_baseline(held, &pod.uid, &container.name, &cpus);
            cpus
        };
        held.served(&pod.uid, container.role, &cpus);
        Ok(Granted::Exclusive(cpus))
    }

    /// Whether an init container of a pod has exclusive CPUs, which those after it get again.
    fn has_exclusive_init(&self, pod: &Pod) -> bool {
        let mut init = pod.containers.iter().filter(|container| container.role == Role::Init);
        init.any(|container| self.pod_level.exclusive_cpus(pod, container).is_ok())
    }

    /// Remembers the CPUs with which a container begins.
    pub(crate) fn keep_baseline(
        &self,
        held: &mut Holdings,
        pod: &PodUid,
        container: &ContainerName,
        cpus: &CpuSet,
    ) {
        match self.baselines {
            Baselines::Forgotten => {}
            Baselines::Kept => held.keep_baseline(pod, container, cpus),
        }
    }

    pub(crate) fn check_whole_cores(&self, held: &Holdings, requested: usize) -> Result<(), WholeCoresError> {
        if self.options.whole_cores == WholeCores::NotRequired {
            return Ok(());
        }
        let per_core = self.allocator.units.cpus_per_core;
        // With an average of none, on a table that makes no sense, every number is a multiple.
        if requested.checked_rem(per_core).unwrap_or(0) != 0 {
            return Err(WholeCoresError::NotMultiple { requested, per_core });
        }
        let available = held.shared().len() - held.shared().intersection_len(&self.reserved_cores);
        if requested > available {
            return Err(WholeCoresError::NotEnough { available, requested, per_core });
        }
        Ok(())
    }

    pub(crate) fn take_near(
        &self,
        free: &CpuSet,
        request: usize,
        affinity: Affinity,
        is_cut: &mut bool,
    ) -> Result<CpuSet, TakeError> {
        let mut take = |free: &CpuSet, count| {
            let taken = self.allocator.search(free, count)?;
            *is_cut |= taken.is_cut();
            Ok(taken.into_inner())
        };
        if affinity == Affinity::Any {
            return take(free, request);
        }
        let aligned = self.near(free, affinity);
        let mut cpus = take(&aligned, request.min(aligned.len()))?;
        if let Some(missing @ 1..) = request.checked_sub(cpus.len()) {
            cpus |= &take(&(free - &cpus), missing)?;
        }
        Ok(cpus)
    }

    /// Those of `free` that are near `affinity`.
    pub(crate) fn near(&self, free: &CpuSet, affinity: Affinity) -> CpuSet {
        let Affinity::Nodes(mask) = affinity else { return free.clone() };
        let mut near = CpuSet::new();
        match self.options.alignment {
            Alignment::ByNode => {
                self.nodes.iter().filter(|node| node.mask.meets(mask)).for_each(|node| near |= &node.cpus);
            }
            Alignment::BySocket => {
                let sockets = self.sockets.iter().filter(|socket| socket.nodes.meets(mask));
                sockets.for_each(|socket| near |= &socket.cpus);
            }
        }
        near &= free;
        near
    }
}
