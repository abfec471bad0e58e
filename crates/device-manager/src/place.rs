//! What there is of a resource, node by node: for people.

use alloc::vec::Vec;

use numa_bitmask::NodeMask;
use pod_spec::{PodUid, ResourceName};

use crate::device::DeviceId;
use crate::device_ids::DeviceIds;
use crate::inventory::Inventory;
use crate::{Devices, Holdings};

/// The devices of a resource that are near exactly these nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OnNodes {
    /// The nodes: one for most devices, several for some, none for devices that list no node of the machine.
    pub nodes: NodeMask,
    /// Devices that a container of the pod could get now: healthy and not taken, or left by its finished init
    /// containers.
    pub free: usize,
    /// Devices that it could get on a node without other pods: the healthy ones.
    pub allocatable: usize,
    /// Which other pods hold some, and how many, by UID. Devices that a failure left blocked have no holder.
    pub holders: Vec<(PodUid, usize)>,
}

impl Devices {
    /// The devices of a resource by the nodes that they are near to, in ascending order of node sets, those without
    /// a node first; empty if there are none.
    #[must_use]
    pub fn on_nodes(
        self,
        inventory: &Inventory,
        held: &Holdings,
        pod: &PodUid,
        resource: &ResourceName,
    ) -> Vec<OnNodes> {
        let mut places = self.free_on_nodes(inventory, held, pod, resource);
        let Some(stock) = inventory.stock(resource) else { return places };
        for other in held.pods().filter(|other| *other != pod) {
            let theirs = held.of_pod(other).filter(|(_, name, _)| *name == resource);
            let mut ids: Vec<&DeviceId> =
                theirs.flat_map(|(_, _, held)| held.by_node()).flat_map(|(_, ids)| ids).collect();
            ids.sort_unstable();
            ids.dedup();
            for entry in ids.into_iter().filter_map(|id| stock.list.get(id)) {
                let Some(OnNodes { holders, .. }) = places.get_mut(entry.place) else { continue };
                match holders.last_mut() {
                    Some((last, count)) if last == other => *count += 1,
                    _ => holders.push((other.clone(), 1)),
                }
            }
        }
        places
    }

    /// The same without looking for who holds the others: `holders` is empty.
    #[must_use]
    pub fn free_on_nodes(
        self,
        inventory: &Inventory,
        held: &Holdings,
        pod: &PodUid,
        resource: &ResourceName,
    ) -> Vec<OnNodes> {
        let Some(stock) = inventory.stock(resource) else { return Vec::new() };
        let empty =
            |nodes: &NodeMask| OnNodes { nodes: *nodes, free: 0, allocatable: 0, holders: Vec::new() };
        let mut places: Vec<OnNodes> = stock.list.places().iter().map(empty).collect();
        let left_over = held.reusable(pod, resource);
        let mut taken = held.taken(resource).map(DeviceIds::walk).unwrap_or_default();
        for entry in stock.list.entries() {
            let Some(place) = places.get_mut(entry.place) else { continue };
            let id = &entry.device.id;
            let is_taken = taken.contains(id);
            let is_left_over = left_over.is_some_and(|left| left.contains(id));
            place.allocatable += usize::from(entry.standing.healthy);
            place.free += usize::from(is_left_over || (entry.standing.healthy && !is_taken));
        }
        places
    }
}
