//! Booking memory for a container.

use alloc::sync::Arc;

use kubelet_release::EmptyMemoryRequest;
use numa_bitmask::NodeMask;
use pod_spec::{Container, Pod, Unit};
use topology_hint::{Affinity, Hint};

use crate::fit::{Count, Fit};
use crate::{
    AllocateError, Block, Counted, Decision, Holdings, NotPinned, Request, RequestError, Source, Static,
};

/// A container served, not yet kept.
#[must_use]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allocation {
    /// What is booked for the container.
    pub granted: Granted,
    /// The holdings with it.
    pub after: Holdings,
}

/// What is booked for a container.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Granted {
    /// These blocks, one for each resource that it asks for, by name; none if it asks for none.
    Blocks(Arc<[Block]>),
    /// Nothing, and why; its memory may come from anywhere.
    NotPinned(NotPinned),
}

impl Static {
    /// Books memory for one container near `hint`; a container for which something is booked already keeps it,
    /// whatever it asks for.
    ///
    /// Nodes of the hint that have not enough free are extended by others. Nothing is booked on error.
    pub fn allocate(
        &self,
        held: &Holdings,
        pod: &Pod,
        container: &Container,
        hint: Hint,
    ) -> Result<Allocation, AllocateError> {
        let mut after = held.clone();
        let granted = self.allocate_in(&mut after, pod, container, hint).granted?;
        Ok(Allocation { granted, after })
    }

    /// The same in place, with what it adds to the counters: for those who have a copy to work on, and serve one container
    /// after another. Nothing changes in `held` when the container cannot be served.
    pub fn allocate_in(
        &self,
        held: &mut Holdings,
        pod: &Pod,
        container: &Container,
        hint: Hint,
    ) -> Decision<Granted> {
        let mut is_cut = false;
        match self.serve(held, pod, container, hint, &mut is_cut) {
            Ok((granted, counted)) => Decision { granted: Ok(granted), counted, is_cut },
            Err(error) => {
                let counted = self.counted_refusal(Source::Node, &error);
                Decision { granted: Err(error), counted, is_cut }
            }
        }
    }

    fn serve(
        &self,
        held: &mut Holdings,
        pod: &Pod,
        container: &Container,
        hint: Hint,
        is_cut: &mut bool,
    ) -> Result<(Granted, Counted), AllocateError> {
        let asked = self.asked(Unit::Container(pod, container));
        if let Err(RequestError::NotPinned(reason)) = asked {
            return Ok((Granted::NotPinned(reason), Counted::default()));
        }
        if let (Err(RequestError::NotInt64(_)), EmptyMemoryRequest::LeftAlone) = (&asked, self.empty_request)
        {
            return Err(AllocateError::NotInt64);
        }
        let mut counted = Counted { pinning_requests: 1, ..Counted::default() };
        if let Some(own) = held.shared_blocks(&pod.uid, &container.name) {
            held.served(&pod.uid, container.role, &own);
            return Ok((Granted::Blocks(own), self.existing(counted)));
        }
        let request = asked.map_err(|_| AllocateError::NotInt64)?;
        let mask = self.place(held, pod, &request, hint, is_cut)?;
        let blocks = blocks(&request, mask);
        for block in &*blocks {
            let left =
                held.reusable(&pod.uid).find(|(nodes, of, _)| *nodes == mask && **of == block.resource);
            let left = left.map_or(0, |(_, _, bytes)| bytes);
            held.books_mut().book(&block.nodes, &block.resource, block.size.saturating_sub(left));
            counted.allocations += 1;
        }
        held.served(&pod.uid, container.role, &blocks);
        held.set(&pod.uid, &container.name, Arc::clone(&blocks));
        held.shrink_init(pod, &container.name, &blocks);
        counted.node_exclusive = 1;
        Ok((Granted::Blocks(blocks), self.existing(counted)))
    }

    /// The nodes on which `request` is to be booked.
    pub(crate) fn place(
        &self,
        held: &Holdings,
        pod: &Pod,
        request: &Request,
        hint: Hint,
        is_cut: &mut bool,
    ) -> Result<NodeMask, AllocateError> {
        let fit = Fit::new(self, held, &pod.uid, request);
        let is_preferred = |mask: NodeMask, is_cut: &mut bool| {
            let size = fit.preferred_size();
            *is_cut |= size.is_cut();
            mask.len() == size.into_inner()
        };
        if let Affinity::Nodes(mask) = hint.affinity
            && !mask.is_subset(self.all())
        {
            return Err(AllocateError::UnknownNode);
        }
        let (mut mask, preferred) = match self.usable_of(hint.affinity) {
            Affinity::Nodes(mask) => (mask, hint.is_preferred()),
            Affinity::Any => {
                let best =
                    Some(fit).filter(|_| !request.is_empty()).and_then(|fit| fit.best(NodeMask::EMPTY));
                let best = best.ok_or(AllocateError::NothingFits)?;
                *is_cut |= best.is_cut();
                let best = best.into_inner();
                let preferred = is_preferred(best, is_cut);
                if hint.is_preferred() && !preferred {
                    return Err(AllocateError::NothingPreferredFits);
                }
                (best, preferred)
            }
        };
        if !fit.is_free(mask, Count::FreeOnly) {
            // The kubelet extends by the hints for `memory`.
            let extended = request.bytes("memory").and_then(|_| fit.best(mask));
            let extended = extended.ok_or(AllocateError::NoExtension { hint: mask })?;
            *is_cut |= extended.is_cut();
            let extended = extended.into_inner();
            if preferred && !is_preferred(extended, is_cut) {
                return Err(AllocateError::NoPreferredExtension { hint: mask, extended });
            }
            mask = extended;
        }
        check_groups(held, mask)?;
        Ok(mask)
    }
}

impl Static {
    /// Those of the wanted nodes on which may be booked; any of these if there are none of those.
    fn usable_of(&self, wanted: Affinity) -> Affinity {
        match wanted {
            Affinity::Nodes(mask) if !mask.is_empty() && !mask.meets(self.usable) => Affinity::Any,
            Affinity::Nodes(mask) => Affinity::Nodes(mask & self.usable),
            Affinity::Any => Affinity::Any,
        }
    }
}

/// Nodes that serve together must be unused or bound to each other. One node alone is never refused.
fn check_groups(held: &Holdings, mask: NodeMask) -> Result<(), AllocateError> {
    let nodes = mask.iter().filter(|node| mask.len() > 1 && held.assignments(*node) > 0);
    for node in nodes {
        let group = held.group(node);
        if group.len() == 1 || group.mask() != mask {
            return Err(AllocateError::GroupViolated { nodes: mask, node, group: group.mask() });
        }
    }
    Ok(())
}

/// One block for each resource, all on `mask`.
pub(crate) fn blocks(request: &Request, mask: NodeMask) -> Arc<[Block]> {
    let block = |(resource, size): (&pod_spec::ResourceName, u64)| Block {
        nodes: mask.into(),
        resource: resource.clone(),
        size,
    };
    request.iter().map(block).collect()
}
