//! The books of memory, compared: what a file has and what the machine and the entries give.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use memory_manager::{StoredNode, StoredTable};
use pod_spec::ResourceName;
use topology_model::NodeId;

use crate::words;

/// One difference between stored books and those that the machine and the file's entries give.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BookDifference {
    /// The machine does not have this NUMA node.
    NodeGone(NodeId),
    /// The file does not have this NUMA node of the machine.
    NodeNew(NodeId),
    /// The node does not have this kind of memory.
    ResourceGone(NodeId, ResourceName),
    /// The file does not have this kind of memory of the node.
    ResourceNew(NodeId, ResourceName),
    /// An amount is another.
    Amount {
        /// On which node.
        node: NodeId,
        /// Of which kind of memory.
        resource: ResourceName,
        /// Which amount.
        column: Column,
        /// As the file has it, in bytes.
        stored: u64,
        /// As it is, in bytes.
        actual: u64,
    },
    /// A node counts another number of blocks than its pods have.
    Blocks {
        /// Which node.
        node: NodeId,
        /// As the file has it.
        stored: i64,
        /// As it is.
        actual: i64,
    },
    /// A node is grouped with others than the blocks of its pods give.
    Group {
        /// Which node.
        node: NodeId,
        /// As the file has it.
        stored: BTreeSet<NodeId>,
        /// As it is.
        actual: BTreeSet<NodeId>,
    },
}

/// An amount of a node's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Column {
    /// What is installed.
    Total,
    /// What the system keeps.
    SystemReserved,
    /// What pods can have.
    Allocatable,
    /// What pods have.
    Booked,
    /// What is left.
    Free,
}

impl BookDifference {
    /// Whether the machine or its reservation is another than the file's, rather than a sum.
    #[must_use]
    pub const fn is_drift(&self) -> bool {
        match self {
            Self::Blocks { .. } | Self::Group { .. } => false,
            Self::Amount { column, .. } => !matches!(column, Column::Booked | Column::Free),
            _ => true,
        }
    }

    /// The differences, node by node.
    pub(crate) fn all(
        stored: &BTreeMap<NodeId, StoredNode>,
        actual: &BTreeMap<NodeId, StoredNode>,
    ) -> Vec<Self> {
        let ids: BTreeSet<NodeId> = stored.keys().chain(actual.keys()).copied().collect();
        let mut differences = Vec::new();
        for id in ids {
            match (stored.get(&id), actual.get(&id)) {
                (Some(stored), Some(actual)) => of_node(id, stored, actual, &mut differences),
                (Some(_), None) => differences.push(Self::NodeGone(id)),
                (None, _) => differences.push(Self::NodeNew(id)),
            }
        }
        differences
    }
}

fn of_node(node: NodeId, stored: &StoredNode, actual: &StoredNode, all: &mut Vec<BookDifference>) {
    let resources: BTreeSet<&ResourceName> = stored.memory.keys().chain(actual.memory.keys()).collect();
    for resource in resources {
        match (stored.memory.get(resource), actual.memory.get(resource)) {
            (Some(stored), Some(actual)) => of_table(node, resource, *stored, *actual, all),
            (Some(_), None) => all.push(BookDifference::ResourceGone(node, resource.clone())),
            (None, _) => all.push(BookDifference::ResourceNew(node, resource.clone())),
        }
    }
    let group = |of: &StoredNode| of.cells.iter().copied().collect::<BTreeSet<NodeId>>();
    if stored.assignments != actual.assignments {
        let (stored, actual) = (stored.assignments, actual.assignments);
        all.push(BookDifference::Blocks { node, stored, actual });
    } else if stored.cells != actual.cells {
        all.push(BookDifference::Group { node, stored: group(stored), actual: group(actual) });
    }
}

fn of_table(
    node: NodeId,
    resource: &ResourceName,
    stored: StoredTable,
    actual: StoredTable,
    all: &mut Vec<BookDifference>,
) {
    let mut differ = |column, stored, actual| {
        let resource = resource.clone();
        if stored != actual {
            all.push(BookDifference::Amount { node, resource, column, stored, actual });
        }
        stored != actual
    };
    let is_other_total = differ(Column::Total, stored.total, actual.total);
    let is_other_reserve = differ(Column::SystemReserved, stored.system_reserved, actual.system_reserved);
    let is_drifted = is_other_total || is_other_reserve;
    // The other amounts follow from these.
    if is_drifted || !differ(Column::Allocatable, stored.allocatable, actual.allocatable) {
        let is_other_sum = differ(Column::Booked, stored.reserved, actual.reserved);
        if !is_other_sum && !is_drifted {
            differ(Column::Free, stored.free, actual.free);
        }
    }
}

impl fmt::Display for BookDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NodeGone(node) => write!(f, "NUMA {node} is not of this machine"),
            Self::NodeNew(node) => write!(f, "NUMA {node} of this machine is not in the file"),
            Self::ResourceGone(node, resource) => write!(f, "NUMA {node} has no {resource} any more"),
            Self::ResourceNew(node, resource) => {
                write!(f, "NUMA {node} has {resource}, which is not in the file")
            }
            Self::Amount { node, resource, column, stored, actual } => {
                let less = words::difference(*actual, *stored);
                let [stored, actual] = words::apart([*stored, *actual]);
                match column {
                    Column::Total => {
                        write!(f, "NUMA {node}: {actual} of {resource} installed, {stored} in the file{less}")
                    }
                    Column::SystemReserved => write!(
                        f,
                        "NUMA {node}: {actual} of {resource} reserved for the system, {stored} in the file{less}"
                    ),
                    Column::Allocatable => {
                        write!(
                            f,
                            "NUMA {node}: {actual} of {resource} allocatable, {stored} in the file{less}"
                        )
                    }
                    Column::Booked => write!(
                        f,
                        "NUMA {node}: {stored} of {resource} booked, and the blocks of its pods sum to {actual}"
                    ),
                    Column::Free => {
                        write!(f, "NUMA {node}: {stored} of {resource} free, and it should be {actual}")
                    }
                }
            }
            Self::Blocks { node, stored, actual } => {
                write!(f, "NUMA {node} counts {stored} blocks, and its pods have {actual}")
            }
            Self::Group { node, stored, actual } => {
                let shown = |of: &BTreeSet<NodeId>| words::list(of.iter().map(ToString::to_string));
                write!(
                    f,
                    "NUMA {node} is grouped with {} in its books, and with {} by the blocks of its pods",
                    shown(stored),
                    shown(actual)
                )
            }
        }
    }
}
