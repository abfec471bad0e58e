//! Where the devices of admitted pods lie, beside their CPUs and memory: by the function that explains a claim, for devices of claims
//! and of plugins alike.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeSet;
use alloc::string::ToString as _;
use alloc::vec::Vec;

use admission_report::{Alignment, ClaimedDevice, ContainerClaim, DecidedClaim, DecidedClaims};
use memory_manager::Granted;
use numa_bitmask::NodeMask;
use topology_admission::{Placed, Placement};
use topology_model::{NodeId, NodeIds, Nodes};

/// How many pods have their devices where the CPUs and memory of their containers are. Each pod counts once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DeviceAlignments {
    /// All of them.
    pub aligned: u64,
    /// A device of a container lies elsewhere, which the kubelet does not report.
    pub elsewhere: u64,
    /// None is known to lie elsewhere, and of some it is not known.
    pub unknown: u64,
    /// The containers have neither exclusive CPUs nor bound memory.
    pub nothing_pinned: u64,
}

impl DeviceAlignments {
    pub(crate) const fn count(&mut self, pod: Alignment) {
        *match pod {
            Alignment::Aligned => &mut self.aligned,
            Alignment::Elsewhere => &mut self.elsewhere,
            Alignment::Unknown => &mut self.unknown,
            Alignment::NothingPinned => &mut self.nothing_pinned,
        } += 1;
    }

    /// The pods of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            aligned: self.aligned + other.aligned,
            elsewhere: self.elsewhere + other.elsewhere,
            unknown: self.unknown + other.unknown,
            nothing_pinned: self.nothing_pinned + other.nothing_pinned,
        }
    }

    /// How many pods have devices.
    #[must_use]
    pub const fn all(self) -> u64 {
        self.aligned + self.elsewhere + self.unknown + self.nothing_pinned
    }
}

/// The alignment of a pod: the worst of its containers and claims. `None`: it has no devices whose place is looked at.
pub(crate) fn of_pod(
    placement: &Placement,
    nodes: &Nodes,
    cpu_nodes: impl Fn(&Placed) -> Option<NodeMask>,
    decided: &DecidedClaims,
) -> Option<Alignment> {
    let containers = placement.containers.iter().flat_map(|placed| {
        let cpus: Option<NodeIds> = cpu_nodes(placed).map(|mask| nodes.listed(mask));
        ContainerClaim::beside(placed.name.as_str(), cpus.as_ref(), memory_nodes(placed, nodes), decided)
    });
    let worst = |claim: &ContainerClaim| match claim.alignment {
        Alignment::NothingPinned => 0,
        Alignment::Aligned => 1,
        Alignment::Unknown => 2,
        Alignment::Elsewhere => 3,
    };
    containers.max_by_key(worst).map(|claim| claim.alignment)
}

fn memory_nodes(placed: &Placed, nodes: &Nodes) -> BTreeSet<NodeId> {
    match &placed.memory {
        Some(Granted::Blocks(blocks)) => {
            let listed = blocks.iter().map(|block| nodes.listed(block.nodes.mask()));
            listed.flat_map(|ids| ids.iter().collect::<Vec<_>>()).collect()
        }
        Some(Granted::NotPinned(_)) | None => BTreeSet::new(),
    }
}

/// The devices that plugins gave each container, as if a claim had them. `node` is the one node that a device is near to: a device
/// that is near several needs none of them in particular, and is left out.
pub(crate) fn of_plugins(
    placement: &Placement,
    node: impl Fn(&pod_spec::ResourceName, &device_manager::DeviceId) -> Option<NodeId>,
) -> Vec<DecidedClaim> {
    let of_container = |placed: &Placed| {
        let each = placed.devices.iter().flat_map(|(resource, ids)| ids.iter().map(move |id| (resource, id)));
        let devices = each.filter_map(|(resource, id)| {
            let name = dra_model::DeviceId {
                driver: resource.as_str().into(),
                pool: "".into(),
                device: id.as_str().into(),
            };
            let numa_node = Some(node(resource, id)?.0);
            Some(ClaimedDevice { numa_node, ..ClaimedDevice::new(resource.as_str(), &name) })
        });
        let devices: Vec<ClaimedDevice> = devices.collect();
        (!devices.is_empty()).then(|| DecidedClaim {
            name: "device plugins".to_owned(),
            state: "allocated",
            containers: [placed.name.to_string()].into(),
            shared_with: Vec::new(),
            devices,
        })
    };
    placement.containers.iter().filter_map(of_container).collect()
}
