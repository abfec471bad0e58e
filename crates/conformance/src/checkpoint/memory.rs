//! `memory_manager_state`.

use kubelet_checkpoint::memory::{
    Block, MemoryFile, MemoryFormat, MemoryState, MemoryTable, NodeState, PodEntry,
};
use kubelet_checkpoint::{EmbeddedFault, FileError, Forms, PodLevel};
use kubelet_release::Rules;
use pod_spec::{ContainerName, PodUid, ResourceName};
use serde_json::{Value, json};
use topology_model::NodeId;

use super::members::{checksum, list, map};
use crate::case::{Case, Outcome, text};
use crate::corpus::Corpus;

pub(super) fn checkpoint(_: &Corpus, case: &Case) -> Outcome {
    let input = &case.input;
    let format = match input["version"].as_u64() {
        Some(3) => MemoryFormat::V3,
        Some(2) => MemoryFormat::V2,
        _ => MemoryFormat::V1,
    };
    if input["op"] == "write" {
        let state = state(&input["state"], text(&input["policy"]));
        let file = state.encode(format);
        let mut got = json!({ "checksum": checksum(&file, "checksum"), "hash_input": state.hashed(format) });
        if format == MemoryFormat::V3 {
            got["data_checksum"] = checksum(&file, "dataChecksum");
            got["data_hash_input"] = json!(state.hashed_data());
        }
        got["file"] = json!(file);
        return case.compare(got);
    }
    let pod_level = match input["gates"]["PodLevelResourceManagers"].as_bool() {
        Some(true) => PodLevel::On,
        _ => PodLevel::Off,
    };
    let forms = Forms { checkpoint: Rules::of(case.release).checkpoints, ..Forms::plain(pod_level) };
    let file = text(&input["file"]);
    match MemoryFile::read_as(format, file.as_bytes(), forms) {
        Ok(read) if format == MemoryFormat::V3 => match shown(file, &read) {
            Some((checkpoint, data)) => case.compare(json!({ "checkpoint": checkpoint, "data": data })),
            None => Outcome::unreadable("our file is not JSON"),
        },
        Ok(read) => {
            // Written again it is what the kubelet's structure has, but for a checksum that was taken unseen.
            let Ok(mut checkpoint) = serde_json::from_str::<Value>(&read.state.encode(format)) else {
                return Outcome::unreadable("our file is not JSON");
            };
            checkpoint["checksum"] = json!(read.checksum);
            case.compare(json!({ "checkpoint": checkpoint }))
        }
        Err(FileError::Embedded { fault, .. }) => {
            let at = if matches!(*fault, EmbeddedFault::Corrupt { .. }) { "checksum" } else { "decode" };
            case.compare(json!({ "at": at, "error": fault.to_string() }))
        }
        Err(error) => {
            let at = if matches!(error, FileError::Json(_)) { "decode" } else { "checksum" };
            case.compare(json!({ "at": at, "error": error.to_string() }))
        }
    }
}

/// What the kubelet's structure of format V3 has, and its data, both as JSON.
fn shown(file: &str, read: &MemoryFile) -> Option<(Value, Value)> {
    let of = |state: &MemoryState, format, from: &str| {
        let mut shown: Value = serde_json::from_str(&state.encode(format)).ok()?;
        shown.as_object_mut()?.remove("checksum");
        // The cases read into a structure without maps, where the kubelet has empty ones.
        let from: Value = serde_json::from_str(from).ok()?;
        let is_named = |name: &String| name.eq_ignore_ascii_case("machineState");
        if !from.as_object().is_some_and(|members| members.keys().any(is_named)) {
            shown["machineState"] = Value::Null;
        }
        Some(shown)
    };
    let embedded = read.embedded.as_ref()?;
    let mut checkpoint = of(&embedded.older, MemoryFormat::V1, file)?;
    checkpoint["checksum"] = json!(read.checksum);
    checkpoint["data"] = json!(embedded.data);
    checkpoint["dataChecksum"] = json!(embedded.data_checksum);
    Some((checkpoint, of(&read.state, MemoryFormat::V2, &embedded.data)?))
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
