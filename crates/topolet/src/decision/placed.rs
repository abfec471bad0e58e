//! What an admitted pod was given, and where that really is.

use cpuset::CpuSet;
use device_manager::DeviceId;
use memory_manager::{Block, Granted as GrantedMemory};
use numa_bitmask::NodeMask;
use topology_admission::{Placed, Placement};
use topology_hint::Hint;

use super::{BlockView, ContainerView, DevicesView, Facts, shown};

impl Facts<'_> {
    pub(super) fn container(&self, placed: &Placed) -> ContainerView {
        let nodes = self.nodes();
        let blocks = blocks(placed);
        let cpus = placed.cpus.as_ref().and_then(|granted| granted.exclusive());
        let hint = placed.hint.filter(|hint| !self.is_anywhere(placed, *hint));
        let hint = hint.and_then(|hint| hint.affinity.nodes());
        ContainerView {
            name: placed.name.to_string(),
            role: placed.role.name(),
            nodes: hint.map(|mask| nodes.show(mask).to_string()),
            exclusive_cpus: cpus.map(ToString::to_string),
            cpu_nodes: cpus.map(|cpus| nodes.show(self.nodes_of(cpus)).to_string()),
            memory: memory_first(blocks)
                .into_iter()
                .map(|block| BlockView {
                    resource: block.resource.to_string(),
                    bytes: block.size,
                    nodes: nodes.show(block.nodes.mask()).to_string(),
                })
                .collect(),
            not_checked: self
                .pod
                .container(&placed.name)
                .map(|container| self.container_not_checked(container))
                .unwrap_or_default(),
            devices: placed
                .devices
                .iter()
                .map(|(resource, ids)| DevicesView {
                    resource: resource.to_string(),
                    ids: ids.iter().map(DeviceId::to_string).collect(),
                })
                .collect(),
        }
    }

    /// What has nothing of its own is not placed by a hint that names every node.
    fn is_anywhere(&self, placed: &Placed, hint: Hint) -> bool {
        let has_cpus = placed.cpus.as_ref().is_some_and(|granted| granted.exclusive().is_some());
        let is_bound = has_cpus || !blocks(placed).is_empty() || !placed.devices.is_empty();
        !is_bound && hint.affinity.nodes() == Some(self.nodes().all())
    }

    /// The NUMA nodes that have some of these CPUs.
    fn nodes_of(&self, cpus: &CpuSet) -> NodeMask {
        let ids = self
            .nodes()
            .ids()
            .filter(|id| self.node.cpus.cpus_in_node(*id).is_some_and(|own| !own.is_disjoint(cpus)));
        self.nodes().mask_of(ids)
    }

    /// Where the containers of a pod are, in a few words: the merged hints, and the CPUs that lie elsewhere.
    pub(super) fn places(&self, placement: &Placement) -> String {
        let mut places: Vec<String> = Vec::new();
        for placed in &placement.containers {
            let mut place = match placed.hint.filter(|hint| !self.is_anywhere(placed, *hint)) {
                None if placed.hint.is_some() => "any NUMA node".to_owned(),
                None => "not aligned".to_owned(),
                Some(hint) => match (shown(hint.affinity, self.nodes()), hint.is_preferred()) {
                    (Some(nodes), true) => format!("NUMA {nodes}"),
                    (Some(nodes), false) => format!("NUMA {nodes}, not aligned"),
                    (None, _) => "any NUMA node".to_owned(),
                },
            };
            let cpus = placed.cpus.as_ref().and_then(|granted| granted.exclusive());
            let cpu_nodes = cpus.map(|cpus| self.nodes_of(cpus));
            let hint = placed.hint.and_then(|hint| hint.affinity.nodes());
            if let Some(cpu_nodes) = cpu_nodes.filter(|nodes| hint != Some(*nodes)) {
                place.push_str(&format!(", cpu on NUMA {}", self.nodes().show(cpu_nodes)));
            }
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places.join("; ")
    }
}

fn blocks(placed: &Placed) -> &[Block] {
    match &placed.memory {
        Some(GrantedMemory::Blocks(blocks)) => blocks,
        Some(GrantedMemory::NotPinned(_)) | None => &[],
    }
}

/// Memory, then huge pages by size as they are named.
fn memory_first(blocks: &[Block]) -> Vec<&Block> {
    let mut sorted: Vec<&Block> = blocks.iter().collect();
    sorted.sort_by_key(|block| block.resource.is_hugepages());
    sorted
}
