//! `memory_manager_state`.

use kubelet_checkpoint::memory::{
    Block, MemoryFile, MemoryFormat, MemoryState, MemoryTable, NodeState, PodEntry,
};
use kubelet_checkpoint::{FileError, PodLevel};
use pod_spec::{ContainerName, PodUid, ResourceName};
use serde_json::{Value, json};
use topology_model::NodeId;

use super::{checksum, list, map, unreadable};
use crate::case::{Case, Outcome, text};
use crate::corpus::Corpus;

pub(super) fn checkpoint(_: &Corpus, case: &Case) -> Outcome {
    let input = &case.input;
    let format = match input["version"].as_u64() {
        Some(2) => MemoryFormat::V2,
        _ => MemoryFormat::V1,
    };
    if input["op"] == "write" {
        let state = state(&input["state"], text(&input["policy"]));
        let file = state.encode(format);
        return case.compare(
            json!({ "checksum": checksum(&file), "file": file, "hash_input": state.hashed(format) }),
        );
    }
    let pod_level = match input["gates"]["PodLevelResourceManagers"].as_bool() {
        Some(true) => PodLevel::On,
        _ => PodLevel::Off,
    };
    match MemoryFile::read_as(format, text(&input["file"]).as_bytes(), pod_level) {
        Ok(read) => {
            // Written again it is what the kubelet's structure has, but for a checksum that was taken unseen.
            let Ok(mut checkpoint) = serde_json::from_str::<Value>(&read.state.encode(format)) else {
                return unreadable("our file is not JSON");
            };
            checkpoint["checksum"] = json!(read.checksum);
            case.compare(json!({ "checkpoint": checkpoint }))
        }
        Err(error) => {
            let at = if matches!(error, FileError::Json(_)) { "decode" } else { "checksum" };
            case.compare(json!({ "at": at, "error": error.to_string() }))
        }
    }
}

fn state(stored: &Value, policy: &str) -> MemoryState {
    let of_pod = |containers: &Value| map(containers, |name, of| (ContainerName::new(name), blocks(of)));
    MemoryState {
        policy: policy.to_owned(),
        nodes: Some(map(&stored["machineState"], node).unwrap_or_default()),
        entries: map(&stored["entries"], |pod, of| (PodUid::new(pod), of_pod(of))).unwrap_or_default(),
        pod_entries: map(&stored["podEntries"], |pod, of| {
            (PodUid::new(pod), PodEntry { blocks: blocks(&of["memoryBlocks"]) })
        })
        .unwrap_or_default(),
    }
}

fn node(id: &str, node: &Value) -> (NodeId, Option<NodeState>) {
    let table = |table: &Value| {
        let bytes = |name: &str| table[name].as_u64().unwrap_or_default();
        MemoryTable {
            total: bytes("total"),
            system_reserved: bytes("systemReserved"),
            allocatable: bytes("allocatable"),
            reserved: bytes("reserved"),
            free: bytes("free"),
        }
    };
    let state = NodeState {
        assignments: node["numberOfAssignments"].as_i64().unwrap_or_default(),
        memory: map(&node["memoryMap"], |name, of| {
            (ResourceName::new(name), (!of.is_null()).then(|| table(of)))
        }),
        cells: ids(&node["cells"]),
    };
    (NodeId(id.parse().unwrap_or_default()), (!node.is_null()).then_some(state))
}

fn blocks(value: &Value) -> Option<Vec<Block>> {
    list(value, |block| Block {
        nodes: ids(&block["numaAffinity"]),
        resource: ResourceName::new(text(&block["type"])),
        size: block["size"].as_u64().unwrap_or_default(),
    })
}

fn ids(value: &Value) -> Option<Vec<NodeId>> {
    list(value, |id| NodeId(id.as_i64().unwrap_or_default()))
}
