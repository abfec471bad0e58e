//! What is free of each resource on each NUMA node, as numbers that are read often.

use alloc::vec;
use alloc::vec::Vec;

use pod_spec::{PodUid, ResourceName, Unit};

use crate::ledger::Ledger;
use crate::node::Node;

/// Amounts by row: CPUs, bytes and devices.
pub(crate) type Amounts = Vec<u64>;

/// The resources that have a NUMA affinity.
pub(crate) struct Rows {
    pub(crate) rows: Vec<Row>,
    /// How many NUMA nodes there are.
    pub(crate) nodes: usize,
}

/// One resource; amounts are by position of the NUMA node.
pub(crate) struct Row {
    pub(crate) name: ResourceName,
    /// What a pod that holds nothing could still get there.
    pub(crate) free: Vec<u64>,
    /// What pods could get there if the node were empty.
    pub(crate) allocatable: Vec<u64>,
}

impl Row {
    pub(crate) fn is_device(&self) -> bool {
        self.name.as_str().contains('/')
    }
}

impl Rows {
    /// As [`Node::room`] says.
    pub(crate) fn new(node: &Node, ledger: &Ledger) -> Self {
        let row = |(name, room): (ResourceName, crate::node::room::Room)| Row {
            name,
            free: room.nodes.iter().map(|cell| cell.free).collect(),
            allocatable: room.nodes.iter().map(|cell| cell.allocatable).collect(),
        };
        Self { rows: node.room(ledger).into_iter().map(row).collect(), nodes: node.nodes.len() }
    }

    /// Takes what is free from another ledger of the node, with the same devices.
    pub(crate) fn refresh(&mut self, node: &Node, ledger: &Ledger) {
        let nobody = PodUid::new("");
        for row in &mut self.rows {
            let set = |free: &mut Vec<u64>, at: usize, amount: u64| {
                if let Some(cell) = free.get_mut(at) {
                    *cell = amount;
                }
            };
            if row.name.as_str() == "cpu" {
                let (Some(policy), Some(held)) = (&node.cpus, ledger.cpus()) else { continue };
                for on_node in policy.on_nodes(held, &nobody) {
                    for index in on_node.node {
                        set(&mut row.free, index.get(), on_node.free as u64);
                    }
                }
            } else if row.is_device() {
                let room = node.room_of_devices(ledger, &nobody, &row.name);
                for (at, cell) in room.nodes.iter().enumerate() {
                    set(&mut row.free, at, cell.free);
                }
            } else if let (Some(policy), Some(held)) = (&node.memory, ledger.memory()) {
                for on_node in policy.on_nodes(held, &nobody, &row.name) {
                    set(&mut row.free, on_node.node.get(), on_node.free.saturating_add(on_node.reusable));
                }
            }
        }
    }

    /// The row of a resource.
    pub(crate) fn position(&self, resource: &str) -> Option<usize> {
        self.rows.iter().position(|row| row.name.as_str() == resource)
    }

    /// No amount of anything.
    pub(crate) fn nothing(&self) -> Amounts {
        vec![0; self.rows.len()]
    }

    /// What is free of a row on a node.
    pub(crate) fn free(&self, row: usize, position: usize) -> u64 {
        self.rows.get(row).and_then(|row| row.free.get(position)).copied().unwrap_or(0)
    }

    /// What `unit` asks for: exclusive CPUs, bytes that are booked, devices; nothing if it runs wherever there is room.
    pub(crate) fn asked(&self, node: &Node, ledger: &Ledger, unit: Unit<'_>) -> Amounts {
        let mut asked = self.nothing();
        let mut add = |resource: &str, amount: u64| {
            if let Some(cell) = self.position(resource).and_then(|row| asked.get_mut(row)) {
                *cell = amount;
            }
        };
        for (resource, count) in node.devices.asked(ledger.inventory(), ledger.devices(), unit) {
            add(resource.as_str(), count);
        }
        if let Some(count) = node.cpus.as_ref().and_then(|policy| policy.asked(unit)) {
            add("cpu", count as u64);
        }
        if let Some(Ok(request)) = node.memory.as_ref().map(|policy| policy.asked(unit)) {
            for (resource, bytes) in request.iter() {
                add(resource.as_str(), bytes);
            }
        }
        asked
    }
}
