//! Starts after the machine or the reservations have changed.
//!
//! The kubelet does not start when a node has 4096 bytes more than when the state was stored, and a kernel update is
//! enough for that. But the blocks say all that is needed: if they still fit, nothing that was granted is lost.

use alloc::vec::Vec;

use pod_spec::ResourceName;
use topology_model::NodeId;

use crate::restore::sums;
use crate::{Holdings, StateError, Static, Stored, StoredTable};

/// Holdings that were stored on a machine that may have been another.
#[must_use]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restored {
    /// The holdings on the machine as it is.
    pub held: Holdings,
    /// What has changed since; nothing if the kubelet would start as well.
    pub drifted: Vec<Drifted>,
}

/// A resource of which a node has, or keeps, another amount than before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Drifted {
    /// The node.
    pub node: NodeId,
    /// The resource.
    pub resource: ResourceName,
    /// What was stored; `None` if the node did not have the resource.
    pub was: Option<StoredTable>,
    /// What it is with the same bookings; `None` if the node does not have the resource any more.
    pub is: Option<StoredTable>,
}

impl Static {
    /// As [`Static::restore`], but amounts may have changed: what is booked is then booked anew on the machine as it
    /// is. Refused, as there, if the blocks and the stored bookings do not agree, or if they do not fit any more.
    pub fn absorb(&self, stored: &Stored) -> Result<Restored, StateError> {
        let refused = match self.restore(stored) {
            Ok(held) => return Ok(Restored { held, drifted: Vec::new() }),
            Err(error @ StateError::OtherMachine { .. }) => error,
            Err(error) => return Err(error),
        };
        let held = self.rebooked(stored)?;
        if !self.keeps_all(&held, stored) {
            return Err(refused);
        }
        let drifted = self.drifted(&held, stored);
        Ok(Restored { held, drifted })
    }

    /// Whether all that was booked is, node by node, or group by group.
    fn keeps_all(&self, held: &Holdings, stored: &Stored) -> bool {
        stored.nodes.iter().all(|(id, was)| {
            let Some(node) = self.nodes.index_of(*id) else {
                return was.assignments == 0 && was.memory.values().all(|table| table.reserved == 0);
            };
            let group = held.group(node);
            if held.assignments(node) != was.assignments || self.list(&was.cells).mask() != group.mask() {
                return false;
            }
            was.memory.keys().all(|resource| {
                let of = |id| stored.nodes.get(&id).and_then(|was| was.memory.get(resource));
                let before = self.nodes.ids_of(group.mask()).filter_map(of);
                let before = before.fold(0_u64, |sum, table| sum.wrapping_add(table.reserved));
                let now = held.books.position(resource).map_or(0, |at| sums(&held.books, group.mask(), at).0);
                before == now
            })
        })
    }

    fn drifted(&self, held: &Holdings, stored: &Stored) -> Vec<Drifted> {
        let now = self.stored_nodes(&held.books);
        let table = |of: Option<&crate::StoredNode>, resource: &ResourceName| {
            of.and_then(|node| node.memory.get(resource)).copied()
        };
        let mut ids: Vec<_> = now.keys().chain(stored.nodes.keys()).copied().collect();
        ids.sort_unstable();
        ids.dedup();
        let mut drifted = Vec::new();
        for node in ids {
            let (was, is) = (stored.nodes.get(&node), now.get(&node));
            let mut resources: Vec<_> =
                [was, is].into_iter().flatten().flat_map(|node| node.memory.keys()).collect();
            resources.sort_unstable();
            resources.dedup();
            for resource in resources {
                let (was, is) = (table(was, resource), table(is, resource));
                let installed = |table: StoredTable| (table.total, table.system_reserved, table.allocatable);
                if was.map(installed) != is.map(installed) {
                    drifted.push(Drifted { node, resource: resource.clone(), was, is });
                }
            }
        }
        drifted
    }
}
