//! `kubelet_internal_checkpoint`.

use kubelet_checkpoint::device::{DeviceEntry, DeviceFile, DeviceState};
use pod_spec::{ContainerName, PodUid, ResourceName};
use serde_json::{Value, json};

use super::members::{checksum, list, map};
use crate::case::{Case, Outcome, text};
use crate::corpus::Corpus;

pub(super) fn golden(_: &Corpus, case: &Case) -> Outcome {
    let data = &case.input["data"];
    if let Some(file) = data["file"].as_str() {
        let read = DeviceFile::read(file.as_bytes());
        return case.compare(json!({
            "entries": read.state.entries.as_ref().map_or(0, Vec::len),
            "registered": read.state.registered.as_ref().map_or(0, std::collections::BTreeMap::len),
            "error": read.fault.map(|fault| fault.to_string()),
            "hash_input": read.state.hashed(),
        }));
    }
    let state = DeviceState {
        entries: list(&data["entries"], entry),
        registered: map(&data["registered"], |name, ids| (ResourceName::new(name), list(ids, device))),
    };
    let file = state.encode();
    case.compare(json!({
        "checksum": checksum(&file, "Checksum"),
        "hash_input": state.hashed(),
        "mode": format!("{:04o}", kubelet_checkpoint::MODE),
        "read_back_error": DeviceFile::read(file.as_bytes()).fault.map(|fault| fault.to_string()),
        "file": file,
    }))
}

fn entry(entry: &Value) -> DeviceEntry {
    DeviceEntry {
        pod: PodUid::new(text(&entry["pod"])),
        container: ContainerName::new(text(&entry["container"])),
        resource: ResourceName::new(text(&entry["resource"])),
        devices: map(&entry["ids"], |node, ids| (node.parse().unwrap_or_default(), list(ids, device))),
        reply: entry["alloc_resp"].as_str().map(decoded),
    }
}

fn device(id: &Value) -> String {
    text(id).to_owned()
}

/// Bytes in base64 with padding.
fn decoded(text: &str) -> Vec<u8> {
    let value = |digit: u8| match digit {
        b'A'..=b'Z' => u32::from(digit - b'A'),
        b'a'..=b'z' => u32::from(digit - b'a') + 26,
        b'0'..=b'9' => u32::from(digit - b'0') + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    for group in text.trim_end_matches('=').as_bytes().chunks(4) {
        let number = group.iter().fold(0, |number, digit| number << 6 | value(*digit));
        let [_, all @ ..] = (number << (6 * (4 - group.len()))).to_be_bytes();
        bytes.extend(all.into_iter().take(group.len() - 1));
    }
    bytes
}
