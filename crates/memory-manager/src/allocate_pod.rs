//! Booking memory for a pod as a whole: pods with pod-level resources under pod scope.
//!
//! The pod's amounts are booked once. Its containers get blocks on the same nodes that say what they may use: a
//! container whose CPU and memory requests equal its limits gets exclusive amounts, the others get the *shared
//! pool*, which is what is left.

use alloc::sync::Arc;
use alloc::vec::Vec;

use pod_spec::{Container, ContainerName, Pod, Role, Unit};
use topology_hint::Hint;

use crate::allocate::blocks;
use crate::{
    AllocateError, Block, Counted, Decision, Holdings, NotInt64, NotPinned, Readmission, Request,
    RequestError, Source, Static,
};

/// A pod served, not yet kept.
#[must_use]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodAllocation {
    /// What is booked for the pod.
    pub granted: PodGranted,
    /// The holdings with it.
    pub after: Holdings,
}

/// What is booked for a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PodGranted {
    /// These blocks for all containers together, and where and how much each may use, in the order of the pod.
    Blocks {
        /// One for each pod-level resource, by name.
        whole: Arc<[Block]>,
        /// One list for each container.
        containers: Vec<(ContainerName, Arc<[Block]>)>,
    },
    /// Nothing, and why.
    NotPinned(NotPinned),
    /// Nothing, since a pod-level amount is no 64-bit integer in the form in which it is written. The kubelet
    /// admits such a pod.
    NotInt64(NotInt64),
}

impl Static {
    /// Books memory for all containers of a pod with pod-level resources at once, near `hint`: instead of
    /// [`Static::allocate`] for each, where [`Static::books_whole`] and the scope is the pod.
    ///
    /// A pod that is booked already is treated as the policy's [`Readmission`] says. Nothing is booked on error.
    pub fn allocate_pod(
        &self,
        held: &Holdings,
        pod: &Pod,
        hint: Hint,
    ) -> Result<PodAllocation, AllocateError> {
        let mut after = held.clone();
        let granted = self.allocate_pod_in(&mut after, pod, hint).granted?;
        Ok(PodAllocation { granted, after })
    }

    /// The same in place, with what it adds to the counters. Nothing changes in `held` when the pod cannot be served.
    pub fn allocate_pod_in(&self, held: &mut Holdings, pod: &Pod, hint: Hint) -> Decision<PodGranted> {
        let mut is_cut = false;
        match self.serve_pod(held, pod, hint, &mut is_cut) {
            Ok((granted, counted)) => Decision { granted: Ok(granted), counted, is_cut },
            Err(error) => {
                let counted = self.counted_refusal(Source::Pod, &error);
                Decision { granted: Err(error), counted, is_cut }
            }
        }
    }

    fn serve_pod(
        &self,
        held: &mut Holdings,
        pod: &Pod,
        hint: Hint,
        is_cut: &mut bool,
    ) -> Result<(PodGranted, Counted), AllocateError> {
        let nothing = |granted| Ok((granted, Counted::default()));
        let request = match self.asked(Unit::Pod(pod)) {
            Ok(request) => request,
            Err(RequestError::NotPinned(reason)) => return nothing(PodGranted::NotPinned(reason)),
            Err(RequestError::NotInt64(error)) => return nothing(PodGranted::NotInt64(error)),
        };
        if let (Readmission::Keep, Some(whole)) = (self.readmission, held.whole_pod(&pod.uid)) {
            let own = |container: &Container| {
                let blocks = held.shared_blocks(&pod.uid, &container.name).unwrap_or_default();
                (container.name.clone(), blocks)
            };
            let containers = pod.containers.iter().map(own).collect();
            return nothing(PodGranted::Blocks { whole: Arc::from(whole), containers });
        }
        self.check_shared_pool(pod, &request)?;
        let mask = self.place(held, pod, &request, hint, is_cut)?;
        let shares = self.shares(pod, &request).map_err(|NotInt64| AllocateError::NotInt64)?;
        let mut containers = Vec::new();
        let mut counted = Counted { pinning_requests: 1, ..Counted::default() };
        for (container, share) in pod.containers.iter().zip(shares) {
            let is_app = container.role == Role::App;
            counted.pinning_requests += u32::from(!is_app || share.is_exclusive());
            counted.allocations += 1;
            counted.pod_exclusive += u32::from(share.is_exclusive());
            counted.pod_shared += u32::from(!share.is_exclusive());
            let own = blocks(share.amounts(), mask);
            held.set(&pod.uid, &container.name, Arc::clone(&own));
            containers.push((container.name.clone(), own));
        }
        let whole = blocks(&request, mask);
        for block in &*whole {
            held.books_mut().book(&block.nodes, &block.resource, block.size);
        }
        held.set_whole(&pod.uid, Arc::clone(&whole));
        let granted = PodGranted::Blocks { whole, containers };
        Ok((granted, self.existing(counted)))
    }

    /// What each container of a pod with these pod-level amounts may use.
    fn shares(&self, pod: &Pod, amounts: &Request) -> Result<Vec<Share>, NotInt64> {
        let own = pod.containers.iter().map(|container| self.container_request(pod, container));
        let own = own.collect::<Result<Vec<_>, _>>()?;
        let mut pool = amounts.clone();
        let staying = pod.containers.iter().zip(&own).filter(|(container, _)| container.role != Role::Init);
        staying.for_each(|(_, own)| pool.subtract(own));
        let pool = pool.without_zeros();

        let mut beside_sidecars = amounts.clone();
        let mut shares = Vec::new();
        for (container, own) in pod.containers.iter().zip(own) {
            let share = match container.role {
                _ if !own.is_empty() => {
                    if container.role == Role::Sidecar {
                        beside_sidecars.subtract(&own);
                    }
                    Share::Exclusive(own)
                }
                Role::Init => Share::Shared(beside_sidecars.clone().without_zeros()),
                Role::Sidecar | Role::App => Share::Shared(pool.clone()),
            };
            shares.push(share);
        }
        Ok(shares)
    }
}

/// What a container of a pod that is booked as a whole may use.
enum Share {
    /// Exclusive amounts.
    Exclusive(Request),
    /// What the others leave.
    Shared(Request),
}

impl Share {
    const fn is_exclusive(&self) -> bool {
        matches!(self, Self::Exclusive(_))
    }

    const fn amounts(&self) -> &Request {
        match self {
            Self::Exclusive(amounts) | Self::Shared(amounts) => amounts,
        }
    }
}
