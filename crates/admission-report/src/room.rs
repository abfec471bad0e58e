//! What each NUMA node has of each resource, whatever a pod requests.

use alloc::collections::BTreeSet;
use alloc::string::ToString as _;
use alloc::vec::Vec;

use serde::Serialize;
use topology_admission::{self as admission, Ledger, Node};
use topology_model::NodeId;

use crate::facts::{NamedPod, full_name};
use crate::json;
use crate::resource::Resource;
use crate::unit::Cell;

/// What there is of one resource.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ResourceRoom {
    /// Which.
    pub resource: Resource,
    /// What each node has, by ascending id.
    pub nodes: Vec<NodeRoom>,
    /// Devices that are near several nodes at once, or near none; `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<Cell>,
}

/// What there is on one NUMA node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeRoom {
    /// Its id.
    #[serde(serialize_with = "json::node")]
    #[cfg_attr(feature = "schema", schemars(with = "i64"))]
    pub node: NodeId,
    /// The amounts: what a pod could get that holds nothing yet.
    #[serde(flatten)]
    pub cell: Cell,
}

impl ResourceRoom {
    /// Every resource with a NUMA affinity: CPUs, memory and huge pages, then devices. A manager whose policy is `none`
    /// has no row.
    #[must_use]
    pub fn all(node: &Node, ledger: &Ledger) -> Vec<Self> {
        let rows = node.room(ledger).into_iter();
        rows.map(|(resource, room)| Self {
            resource: Resource::from(&resource),
            nodes: node
                .nodes()
                .ids()
                .zip(&room.nodes)
                .map(|(node, cell)| NodeRoom { node, cell: held(cell, ledger) })
                .collect(),
            elsewhere: (room.elsewhere.allocatable > 0).then(|| held(&room.elsewhere, ledger)),
        })
        .collect()
    }
}

/// The amounts, and the pods of the ledger that hold what is not free.
fn held(cell: &admission::Cell, ledger: &Ledger) -> Cell {
    // A pod that holds several devices is one holder.
    let holders: BTreeSet<_> = cell.holders.iter().collect();
    let held_by = holders.into_iter().map(|uid| {
        let pod = ledger.pods().find(|pod| pod.uid == *uid);
        NamedPod { uid: uid.clone(), name: pod.map_or_else(|| uid.to_string(), full_name) }
    });
    Cell { free: cell.free, allocatable: cell.allocatable, held_by: held_by.collect() }
}
