//! The structures of both formats, as Go declares them.

use alloc::collections::BTreeMap;
use alloc::string::String;

use pod_spec::{ContainerName, PodUid};
use topology_model::NodeId;

use super::{Block, MemoryState, MemoryTable, NodeState, PodEntry};
use crate::go::{items, pointed_to, structure};
use crate::{List, Map};

/// Members of both formats.
#[derive(Default)]
pub(super) struct Body {
    policy: String,
    nodes: Map<NodeId, Option<NodeState>>,
    entries: Map<PodUid, Map<ContainerName, List<Block>>>,
    pods: Map<PodUid, PodEntry>,
    pub(super) checksum: u64,
}

impl Body {
    /// What the kubelet reads into.
    pub(super) fn begun() -> Self {
        Self {
            nodes: Some(BTreeMap::new()),
            entries: Some(BTreeMap::new()),
            pods: Some(BTreeMap::new()),
            ..Self::default()
        }
    }
}

impl From<&MemoryState> for Body {
    fn from(state: &MemoryState) -> Self {
        Self {
            policy: state.policy.clone(),
            nodes: state.nodes.clone(),
            entries: Some(state.entries.clone()),
            pods: Some(state.pod_entries.clone()),
            checksum: 0,
        }
    }
}

impl From<Body> for MemoryState {
    fn from(body: Body) -> Self {
        Self {
            policy: body.policy,
            nodes: body.nodes,
            entries: body.entries.unwrap_or_default(),
            pod_entries: body.pods.unwrap_or_default(),
        }
    }
}

pub(super) struct V1(pub(super) Body);
pub(super) struct V2(pub(super) Body);

structure! {
    V1: "state" "MemoryManagerCheckpointV1" {
        0.policy => "PolicyName" "policyName";
        0.nodes => "MachineState" "machineState" ["state.NUMANodeMap"];
        0.entries => "Entries" "entries" ["state.ContainerMemoryAssignments"] left_out;
        0.checksum => "Checksum" "checksum" ["checksum.Checksum"];
    }
}

structure! {
    V2: "state" "MemoryManagerCheckpoint" {
        0.policy => "PolicyName" "policyName";
        0.nodes => "MachineState" "machineState" ["state.NUMANodeMap"];
        0.entries => "Entries" "entries" ["state.ContainerMemoryAssignments"] left_out;
        0.pods => "PodEntries" "podEntries" ["state.PodMemoryAssignments"] left_out;
        0.checksum => "Checksum" "checksum" ["checksum.Checksum"];
    }
}

structure! {
    NodeState: "state" "NUMANodeState" {
        assignments => "NumberOfAssignments" "numberOfAssignments" ["int"];
        memory => "MemoryMap" "memoryMap";
        cells => "Cells" "cells";
    }
}

structure! {
    MemoryTable: "state" "MemoryTable" {
        total => "TotalMemSize" "total";
        system_reserved => "SystemReserved" "systemReserved";
        allocatable => "Allocatable" "allocatable";
        reserved => "Reserved" "reserved";
        free => "Free" "free";
    }
}

structure! {
    Block: "state" "Block" {
        nodes => "NUMAAffinity" "numaAffinity";
        resource => "Type" "type";
        size => "Size" "size";
    }
}

structure! {
    PodEntry: "state" "PodEntry" {
        blocks => "MemoryBlocks" "memoryBlocks" left_out;
    }
}

items!(Block, PodEntry);
pointed_to!(NodeState, MemoryTable);
