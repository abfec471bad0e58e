//! The structures of the three formats, as Go declares them.

use alloc::collections::BTreeMap;
use alloc::string::String;

use pod_spec::{ContainerName, PodUid};
use topology_model::NodeId;

use super::state::{Block, MemoryState, MemoryTable, NodeState, PodEntry};
use crate::embedded::Outer;
use crate::go::{items, pointed_to, structure};
use crate::{List, Map};

/// Members of all formats.
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

/// V1 as kubelets name it that know no newer format.
pub(super) struct NewestV1(pub(super) Body);

structure! {
    NewestV1: "state" "MemoryManagerCheckpoint" {
        0.policy => "PolicyName" "policyName";
        0.nodes => "MachineState" "machineState" ["state.NUMANodeMap"];
        0.entries => "Entries" "entries" ["state.ContainerMemoryAssignments"] left_out;
        0.checksum => "Checksum" "checksum" ["checksum.Checksum"];
    }
}

/// V2 as kubelets name it that write V3.
pub(super) struct NamedV2(pub(super) Body);

structure! {
    NamedV2: "state" "MemoryManagerCheckpointV2" {
        0.policy => "PolicyName" "policyName";
        0.nodes => "MachineState" "machineState" ["state.NUMANodeMap"];
        0.entries => "Entries" "entries" ["state.ContainerMemoryAssignments"] left_out;
        0.pods => "PodEntries" "podEntries" ["state.PodMemoryAssignments"] left_out;
        0.checksum => "Checksum" "checksum" ["checksum.Checksum"];
    }
}

/// What format V3 has around its data: the members of V1 for older kubelets, then the data as text.
pub(super) struct V3 {
    pub(super) older: Body,
    pub(super) data: String,
    pub(super) data_checksum: u64,
}

structure! {
    V3: "state" "MemoryManagerCheckpoint" {
        older.policy => in "MemoryManagerCheckpointV1" "PolicyName" "policyName";
        older.nodes => in "MemoryManagerCheckpointV1" "MachineState" "machineState" ["state.NUMANodeMap"];
        older.entries => in "MemoryManagerCheckpointV1"
            "Entries" "entries" ["state.ContainerMemoryAssignments"] left_out;
        older.checksum => in "MemoryManagerCheckpointV1" "Checksum" "checksum" ["checksum.Checksum"];
        data => "Data" "data";
        data_checksum => "DataChecksum" "dataChecksum" ["checksum.Checksum"];
    }
}

impl V3 {
    /// What the kubelet reads into.
    pub(super) fn begun() -> Self {
        Self { older: Body::begun(), data: String::new(), data_checksum: 0 }
    }
}

impl Outer for V3 {
    fn data(&self) -> (&str, u64) {
        (&self.data, self.data_checksum)
    }
}

/// The data of format V3.
pub(super) struct Data(pub(super) Body);

structure! {
    Data: "state" "MemoryManagerCheckpointData" {
        0.policy => "PolicyName" "policyName";
        0.nodes => "MachineState" "machineState" ["state.NUMANodeMap"];
        0.entries => "Entries" "entries" ["state.ContainerMemoryAssignments"] left_out;
        0.pods => "PodEntries" "podEntries" ["state.PodMemoryAssignments"] left_out;
    }
}

/// Every member of any format: what it does not have, no known format has.
#[derive(Default)]
pub(super) struct Any {
    body: Body,
    data: String,
    data_checksum: u64,
}

structure! {
    Any: "state" "MemoryManagerCheckpoint" {
        body.policy => "PolicyName" "policyName";
        body.nodes => "MachineState" "machineState" ["state.NUMANodeMap"];
        body.entries => "Entries" "entries" ["state.ContainerMemoryAssignments"];
        body.pods => "PodEntries" "podEntries" ["state.PodMemoryAssignments"];
        body.checksum => "Checksum" "checksum" ["checksum.Checksum"];
        data => "Data" "data";
        data_checksum => "DataChecksum" "dataChecksum" ["checksum.Checksum"];
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
