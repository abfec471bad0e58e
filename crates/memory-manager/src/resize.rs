//! Booking more or less memory for a container that runs.
//!
//! What is booked stays on its NUMA nodes: a block grows by what is free there and nowhere else, since memory that is
//! in use does not move.

use alloc::sync::Arc;

use numa_bitmask::NodeMask;
use pod_spec::{Container, Pod, ResourceName, Role, Unit};
use thiserror::Error;

use crate::{Holdings, NotPinned, RequestError, Static};

/// Why a container cannot have another amount.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ResizeError {
    /// The nodes of its block have not enough free.
    #[error(
        "{more} bytes more of {resource} are asked for, and {free} are free on the container's NUMA nodes"
    )]
    NotEnough {
        /// `memory`, or huge pages.
        resource: ResourceName,
        /// The nodes of its block.
        nodes: NodeMask,
        /// Bytes asked for beside those that are booked.
        more: u64,
        /// Bytes free on these nodes.
        free: u64,
    },
    /// It has memory booked, and with the new amounts would have none.
    #[error("the container has memory booked, and with the new amounts would have none")]
    Unpinned(NotPinned),
    /// It has none, and with the new amounts would have some.
    #[error("no memory is booked for the container, and with the new amounts some would be")]
    NotBooked,
    /// It would have blocks of other resources.
    #[error("the container has memory booked, and asks for other resources than before")]
    OtherResources,
    /// An amount is no 64-bit integer in the form in which it is written.
    #[error(
        "[memorymanager] failed to represent quantity as int64: the amount is not a whole number of bytes below 2^63"
    )]
    NotInt64,
    /// Its pod was booked as a whole.
    #[error("the pod's memory was booked for the pod as a whole, which cannot be resized")]
    WholePod,
}

impl Static {
    /// Books for an admitted container what it asks for in `pod`, on the nodes where it has memory. Of an ordinary
    /// init container nothing changes. On an error nothing does.
    ///
    /// # Errors
    /// It cannot have the new amounts there.
    pub fn resize(&self, held: &mut Holdings, pod: &Pod, container: &Container) -> Result<(), ResizeError> {
        if container.role == Role::Init {
            return Ok(());
        }
        let own = held.shared_blocks(&pod.uid, &container.name);
        let asked = self.asked(Unit::Container(pod, container));
        let (mut own, request) = match (own, asked) {
            (None, Err(_)) => return Ok(()),
            (None, Ok(_)) => return Err(ResizeError::NotBooked),
            (Some(_), Err(RequestError::NotPinned(reason))) => return Err(ResizeError::Unpinned(reason)),
            (Some(_), Err(RequestError::NotInt64(_))) => return Err(ResizeError::NotInt64),
            (Some(own), Ok(request)) => (own, request),
        };
        let asked = |resource: &ResourceName| request.bytes(resource.as_str());
        if own.iter().all(|block| asked(&block.resource) == Some(block.size)) && own.len() == request.len() {
            return Ok(());
        }
        if held.whole_pod(&pod.uid).is_some() {
            return Err(ResizeError::WholePod);
        }
        if own.len() != request.len() || own.iter().any(|block| asked(&block.resource).is_none()) {
            return Err(ResizeError::OtherResources);
        }
        let mut books = Arc::clone(&held.books);
        for block in Arc::make_mut(&mut own) {
            let size = asked(&block.resource).unwrap_or(block.size);
            let nodes = block.nodes.mask();
            if let Some(more) = size.checked_sub(block.size) {
                let free = books.position(&block.resource).map_or(0, |at| books.free(nodes, at));
                if free < more {
                    return Err(ResizeError::NotEnough {
                        resource: block.resource.clone(),
                        nodes,
                        more,
                        free,
                    });
                }
            }
            Arc::make_mut(&mut books).change(block, size);
            block.size = size;
        }
        held.books = books;
        held.set(&pod.uid, &container.name, own);
        Ok(())
    }
}
