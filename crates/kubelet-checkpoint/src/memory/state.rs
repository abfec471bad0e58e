//! What is in the file, and the formats that it has.

use alloc::collections::BTreeMap;
use alloc::string::String;

use pod_spec::{ContainerName, PodUid, ResourceName};
use topology_model::NodeId;

use crate::{List, Map};

/// What the memory manager holds, as it is written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MemoryState {
    /// `None`, `Static` or `BestEffort`.
    pub policy: String,
    /// The books by node. The kubelet writes no node that is null, and crashes on one.
    pub nodes: Map<NodeId, Option<NodeState>>,
    /// Blocks by pod and container.
    pub entries: BTreeMap<PodUid, Map<ContainerName, List<Block>>>,
    /// Blocks of pods that are served as a whole; formats V2 and V3 have them.
    pub pod_entries: BTreeMap<PodUid, PodEntry>,
}

/// The books of one node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeState {
    /// How many blocks name it.
    pub assignments: i64,
    /// Its tables.
    pub memory: Map<ResourceName, Option<MemoryTable>>,
    /// The nodes that it is bound to, itself included.
    pub cells: List<NodeId>,
}

/// One resource on one node, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryTable {
    /// Installed.
    pub total: u64,
    /// Kept for the system.
    pub system_reserved: u64,
    /// What containers can book.
    pub allocatable: u64,
    /// What they have booked.
    pub reserved: u64,
    /// What is left.
    pub free: u64,
}

/// An amount of one resource on some nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// In the order in which amounts are taken.
    pub nodes: List<NodeId>,
    /// `memory`, or one size of huge pages.
    pub resource: ResourceName,
    /// Bytes.
    pub size: u64,
}

impl Default for Block {
    fn default() -> Self {
        Self { nodes: None, resource: ResourceName::new(""), size: 0 }
    }
}

/// A pod that is served as a whole.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PodEntry {
    /// Its blocks. Not written when empty, and then null when read: an empty list in place of null makes a file that
    /// the kubelet calls corrupt.
    pub blocks: List<Block>,
}

/// A format of the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MemoryFormat {
    /// Containers.
    V1,
    /// And pods as a whole.
    V2,
    /// V1, and everything once more as text, with pods as a whole.
    V3,
}
