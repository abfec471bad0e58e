//! Hints of resource claims (`devices.claims: hint`): CPUs and memory follow the devices that the scheduler has allocated.
//!
//! Nothing is chosen here. A unit's devices lie where they are, so that a node set serves it only if it has all nodes of these, and
//! exactly these nodes are preferred: on any more, something of the unit would be away from its devices. Devices whose NUMA node
//! is not known give no hint, and a unit without known ones has no answer. What is hinted is a fact of the pod
//! ([`ClaimPlaces`](pod_spec::ClaimPlaces)), so that nothing is booked for it.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use numa_bitmask::{NodeIndex, NodeMask};
use pod_spec::{ResourceName, Unit};
use topology_hint::{Affinity, Answers, Grant, Held, Provider, Refusal};
use topology_model::{NodeId, Nodes};

use crate::node::room::{Cell, Room};

/// The provider.
pub(super) struct ClaimHints;

impl Provider for ClaimHints {
    fn name(&self) -> &'static str {
        "claims"
    }

    fn hints(&self, nodes: &Nodes, _: &Held, unit: Unit<'_>, answers: &mut Answers) {
        if let Some(asked) = Devices::of(nodes, unit) {
            let must = asked.nodes();
            answers.push_family(asked.resource()).open(nodes.all()).must(must).preferred_size(must.len());
        }
    }

    fn allocate(&self, _: &Nodes, _: &Held, _: Unit<'_>, _: Affinity) -> Result<Option<Grant>, Refusal> {
        Ok(None)
    }
}

/// What stands for a unit's claims among the resources, how many devices it has, and on which nodes they are. `None`: it has none
/// of a known node.
pub(crate) fn room(nodes: &Nodes, unit: Unit<'_>) -> Option<(ResourceName, u64, Room)> {
    let devices = Devices::of(nodes, unit)?;
    let mut cells = vec![Cell::default(); nodes.len()];
    for node in &devices.places {
        if let Some(cell) = cells.get_mut(node.get()) {
            cell.free += 1;
            cell.allocatable += 1;
        }
    }
    let asked = devices.places.len() as u64;
    Some((devices.resource(), asked, Room { nodes: cells, elsewhere: Cell::default() }))
}

/// The devices of a unit whose NUMA nodes are known; at least one.
struct Devices<'a> {
    claims: BTreeSet<&'a str>,
    places: Vec<NodeIndex>,
}

impl<'a> Devices<'a> {
    fn of(nodes: &Nodes, unit: Unit<'a>) -> Option<Self> {
        let (claims, places): (BTreeSet<&str>, Vec<NodeIndex>) = unit
            .claimed_devices()
            .filter_map(|device| Some((device.claim.as_str(), nodes.index_of(NodeId(device.node))?)))
            .unzip();
        (!places.is_empty()).then_some(Self { claims, places })
    }

    fn nodes(&self) -> NodeMask {
        self.places.iter().fold(NodeMask::EMPTY, |all, node| all | NodeMask::from(*node))
    }

    /// What stands for the claims among the resources.
    fn resource(&self) -> ResourceName {
        let names: Vec<&str> = self.claims.iter().copied().collect();
        let text = match names.as_slice() {
            [name] => format!("claim {name}"),
            [names @ .., last] => format!("claims {} and {last}", names.join(", ")),
            [] => String::from("claims"),
        };
        ResourceName::new(&text)
    }
}
