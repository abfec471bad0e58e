//! What is free of each resource on each NUMA node, as numbers that are read often.

use alloc::vec;
use alloc::vec::Vec;

use numa_bitmask::NodeIndex;
use pod_spec::{PodUid, ResourceName, Unit};

use crate::ledger::Ledger;
use crate::node::Node;

const CPU: &str = "cpu";

/// Amounts by row: CPUs, bytes and devices.
pub(crate) type Amounts = Vec<u64>;

/// The resources that have a NUMA affinity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rows {
    pub(crate) rows: Vec<Row>,
    /// How many NUMA nodes there are.
    pub(crate) nodes: usize,
}

/// One resource; amounts are by position of the NUMA node.
#[derive(Clone, PartialEq, Eq, Debug)]
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
        let nodes = node.nodes.len();
        let row = |name: &ResourceName| Row {
            name: name.clone(),
            free: vec![0; nodes],
            allocatable: vec![0; nodes],
        };
        let cpu = node.cpus.is_some().then(|| ResourceName::new(CPU));
        let memory = node.memory.iter().flat_map(memory_manager::Static::resources);
        let names = cpu.iter().chain(memory).chain(ledger.inventory().registered());
        let mut rows = Self { rows: names.map(row).collect(), nodes };
        rows.read(node, ledger, |_| true);
        rows
    }

    /// Takes what is free from another ledger of the node with the same devices, in which only what `asked` names is held
    /// otherwise.
    pub(crate) fn refresh(&mut self, node: &Node, ledger: &Ledger, asked: &Amounts) {
        self.read(node, ledger, |at| asked.get(at).is_some_and(|amount| *amount > 0));
    }

    /// Reads what there is of some rows.
    fn read(&mut self, node: &Node, ledger: &Ledger, is_wanted: impl Fn(usize) -> bool) {
        let nobody = PodUid::new("");
        for (_, row) in self.rows.iter_mut().enumerate().filter(|(at, _)| is_wanted(*at)) {
            let is_device = row.is_device();
            let Row { name, free, allocatable } = row;
            let mut set = |at: NodeIndex, of_free: u64, of_all: u64| {
                if let (Some(free), Some(all)) = (free.get_mut(at.get()), allocatable.get_mut(at.get())) {
                    (*free, *all) = (of_free, of_all);
                }
            };
            if name.as_str() == CPU {
                let (Some(policy), Some(held)) = (&node.cpus, ledger.cpus()) else { continue };
                for on_node in policy.on_nodes(held, &nobody) {
                    for at in on_node.node {
                        set(at, on_node.free as u64, on_node.allocatable as u64);
                    }
                }
            } else if is_device {
                let (inventory, held) = (ledger.inventory(), ledger.devices());
                for place in node.devices.free_on_nodes(inventory, held, &nobody, name) {
                    // Devices that are on several nodes at once, or on none, are on no row.
                    if let (1, Some(at)) = (place.nodes.len(), place.nodes.first()) {
                        set(at, place.free as u64, place.allocatable as u64);
                    }
                }
            } else if let (Some(policy), Some(held)) = (&node.memory, ledger.memory()) {
                for on_node in policy.on_nodes(held, &nobody, name) {
                    set(on_node.node, on_node.free.saturating_add(on_node.reusable), on_node.allocatable);
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
            add(CPU, count as u64);
        }
        if let Some(Ok(request)) = node.memory.as_ref().map(|policy| policy.asked(unit)) {
            for (resource, bytes) in request.iter() {
                add(resource.as_str(), bytes);
            }
        }
        asked
    }
}
