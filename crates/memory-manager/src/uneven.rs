//! Groups of nodes that do not list the same sizes of huge pages.

use thiserror::Error;

use pod_spec::ResourceName;
use topology_model::NodeId;

use crate::{Holdings, Static};

/// Two nodes are bound together of which one lists no pages of a size that the other lists: a kubelet that starts then sums
/// up what is not there, and crashes.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "NUMA nodes {listing} and {lacking} are bound together, and node {lacking} lists no pages of {resource}"
)]
pub struct UnevenPages {
    /// The node that lists pages of the size.
    pub listing: NodeId,
    /// The node that does not.
    pub lacking: NodeId,
    /// The pages.
    pub resource: ResourceName,
}

impl Static {
    /// Whether every node lists the same sizes of huge pages.
    #[must_use]
    pub fn lists_same_pages(&self) -> bool {
        let all = self.all();
        (0..self.resources.len()).all(|at| all.iter().all(|node| self.installed(node, at).is_some()))
    }

    /// The first nodes of `held` that are bound together and do not list the same sizes of huge pages.
    #[must_use]
    pub fn uneven_pages(&self, held: &Holdings) -> Option<UnevenPages> {
        self.nodes.iter().find_map(|(node, listing)| {
            let group = held.group(node).mask();
            self.resources.iter().enumerate().find_map(|(at, resource)| {
                self.installed(node, at)?;
                let lacking = group.iter().find(|other| self.installed(*other, at).is_none())?;
                let lacking = self.nodes.id(lacking)?;
                Some(UnevenPages { listing, lacking, resource: resource.clone() })
            })
        })
    }
}
