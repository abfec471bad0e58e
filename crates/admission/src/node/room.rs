//! What each NUMA node has of each resource, and how much of it is free.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use numa_bitmask::NodeMask;
use pod_spec::{PodUid, ResourceName};

use crate::ledger::Ledger;
use crate::node::Node;

/// What there is of one resource: CPUs, bytes or devices.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Room {
    /// What each node has, by position.
    pub nodes: Vec<Cell>,
    /// Devices that are on several nodes at once, or on none.
    pub elsewhere: Cell,
}

/// What there is of one resource in one place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cell {
    /// What the pod could still get there.
    pub free: u64,
    /// What pods could get there if the node were empty.
    pub allocatable: u64,
    /// The other pods that hold any of it there, by uid.
    pub holders: Vec<PodUid>,
}

/// Whether the pods are named that hold CPUs and memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Holders {
    /// They are, which costs as much as all else.
    Named,
    /// They are not.
    LeftOut,
}

impl Node {
    /// What a pod that holds nothing yet could get of each resource that has a NUMA affinity: CPUs, memory and huge pages,
    /// then devices. A manager whose policy is `none` has no row.
    #[must_use]
    pub fn room(&self, ledger: &Ledger) -> Vec<(ResourceName, Room)> {
        let nobody = PodUid::new("");
        let mut rows = Vec::new();
        if let Some(room) = self.room_of_cpus(ledger, &nobody, Holders::Named) {
            rows.push((ResourceName::new("cpu"), room));
        }
        let mut booked: Vec<&ResourceName> = self
            .memory
            .iter()
            .flat_map(memory_manager::Static::allocatable)
            .map(|(_, resource, _)| resource)
            .collect();
        booked.sort_by_key(|resource| (resource.as_str() != "memory", *resource));
        booked.dedup();
        for resource in booked {
            if let Some(room) = self.room_of_memory(ledger, &nobody, resource, Holders::Named) {
                rows.push((resource.clone(), room));
            }
        }
        for resource in ledger.inventory().registered() {
            rows.push((resource.clone(), self.room_of_devices(ledger, &nobody, resource)));
        }
        rows
    }

    /// What `pod` could get of CPUs; `None` under policy `none`.
    pub(crate) fn room_of_cpus(&self, ledger: &Ledger, pod: &PodUid, named: Holders) -> Option<Room> {
        let (policy, held) = (self.cpus.as_ref()?, ledger.cpus()?);
        let mut room = self.no_room();
        for on_node in policy.on_nodes(held, pod) {
            let (free, allocatable) = (on_node.free as u64, on_node.allocatable as u64);
            let holders = named.of(pod, || policy.holders(held, on_node.node));
            room.set(on_node.node, &Cell { free, allocatable, holders });
        }
        Some(room)
    }

    /// What `pod` could get of memory or huge pages; `None` under policy `None`.
    pub(crate) fn room_of_memory(
        &self,
        ledger: &Ledger,
        pod: &PodUid,
        resource: &ResourceName,
        named: Holders,
    ) -> Option<Room> {
        let (policy, held) = (self.memory.as_ref()?, ledger.memory()?);
        let mut room = self.no_room();
        for on_node in policy.on_nodes(held, pod, resource) {
            let free = on_node.free.saturating_add(on_node.reusable);
            let holders = named.of(pod, || held.holders(on_node.node, resource));
            let cell = Cell { free, allocatable: on_node.allocatable, holders };
            room.set(on_node.node.into(), &cell);
        }
        Some(room)
    }

    /// What `pod` could get of devices.
    pub(crate) fn room_of_devices(&self, ledger: &Ledger, pod: &PodUid, resource: &ResourceName) -> Room {
        let mut room = self.no_room();
        for place in self.devices.on_nodes(ledger.inventory(), ledger.devices(), pod, resource) {
            let cell = match (place.nodes.len(), place.nodes.first()) {
                (1, Some(node)) => room.nodes.get_mut(node.get()),
                _ => Some(&mut room.elsewhere),
            };
            let Some(cell) = cell else { continue };
            cell.free += place.free as u64;
            cell.allocatable += place.allocatable as u64;
            cell.holders.extend(place.holders.into_iter().map(|(pod, _)| pod));
        }
        room
    }

    fn no_room(&self) -> Room {
        Room { nodes: alloc::vec![Cell::default(); self.nodes.len()], elsewhere: Cell::default() }
    }
}

impl Holders {
    /// Those that hold, but for `pod`.
    fn of<'a>(self, pod: &PodUid, holders: impl FnOnce() -> BTreeSet<&'a PodUid>) -> Vec<PodUid> {
        match self {
            Self::Named => holders().into_iter().filter(|holder| *holder != pod).cloned().collect(),
            Self::LeftOut => Vec::new(),
        }
    }
}

impl Room {
    /// Puts `cell` at the position of a single node.
    fn set(&mut self, node: NodeMask, cell: &Cell) {
        for index in node {
            if let Some(place) = self.nodes.get_mut(index.get()) {
                place.clone_from(cell);
            }
        }
    }
}
