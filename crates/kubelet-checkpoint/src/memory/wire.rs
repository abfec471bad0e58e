//! The structures of both formats, as Go declares them.

use alloc::collections::BTreeMap;

use super::{Block, MemoryState, MemoryTable, NodeState, PodEntry, begun};
use crate::go::{items, pointed_to, structure};

/// Members of both formats.
pub(super) struct Body {
    pub(super) state: MemoryState,
    pub(super) checksum: u64,
}

impl Body {
    /// What the kubelet reads into.
    pub(super) fn begun() -> Self {
        Self { state: MemoryState { pod_entries: Some(BTreeMap::new()), ..begun() }, checksum: 0 }
    }
}

pub(super) struct V1(pub(super) Body);
pub(super) struct V2(pub(super) Body);

structure! {
    V1: "state" "MemoryManagerCheckpointV1" {
        0.state.policy => "PolicyName" "policyName";
        0.state.nodes => "MachineState" "machineState" ["state.NUMANodeMap"];
        0.state.entries => "Entries" "entries" ["state.ContainerMemoryAssignments"] left_out;
        0.checksum => "Checksum" "checksum" ["checksum.Checksum"];
    }
}

structure! {
    V2: "state" "MemoryManagerCheckpoint" {
        0.state.policy => "PolicyName" "policyName";
        0.state.nodes => "MachineState" "machineState" ["state.NUMANodeMap"];
        0.state.entries => "Entries" "entries" ["state.ContainerMemoryAssignments"] left_out;
        0.state.pod_entries => "PodEntries" "podEntries" ["state.PodMemoryAssignments"] left_out;
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
