//! `cpu_manager_state`.

use std::collections::BTreeMap;

use cpuset::{CpuSet, ParseError};
use kubelet_checkpoint::PodLevel;
use kubelet_checkpoint::cpu::{ContainerIds, CpuFile, CpuFormat, CpuState};
use pod_spec::{ContainerName, PodUid};
use serde_json::{Map, Value, json};

use super::{checksum, unreadable};
use crate::case::{Case, Outcome, text};
use crate::corpus::Corpus;

pub(super) fn checkpoint(_: &Corpus, case: &Case) -> Outcome {
    let state = match state(case) {
        Ok(state) => state,
        Err(error) => return unreadable(&error.to_string()),
    };
    let pod_level = match case.input["gates"]["PodLevelResourceManagers"].as_bool() {
        Some(true) => PodLevel::On,
        _ => PodLevel::Off,
    };
    let format = CpuFormat::from(pod_level);
    let file = state.encode(format);
    let read = CpuFile::read(file.as_bytes(), pod_level, &ContainerIds::new());
    let mut got = json!({
        "checksum": checksum(&file),
        "file": file,
        "hashed": state.hashed(format),
    });
    match read.and_then(|read| read.restore(&state.policy)) {
        Ok(restored) => got["restored"] = shown(&restored),
        Err(error) => got["error"] = json!(error.to_string()),
    }
    case.compare(got)
}

fn state(case: &Case) -> Result<CpuState, ParseError> {
    let stored = &case.input["state"];
    let mut state = CpuState {
        policy: text(&case.input["policy"]).to_owned(),
        shared: set(&stored["default"])?,
        ..CpuState::default()
    };
    for (pod, containers) in members(&stored["assignments"]) {
        let mut of_pod = BTreeMap::new();
        for (name, cpus) in members(containers) {
            of_pod.insert(ContainerName::new(name), set(cpus)?);
        }
        state.containers.insert(PodUid::new(pod), of_pod);
    }
    for (pod, cpus) in members(&stored["podAssignments"]) {
        state.pods.insert(PodUid::new(pod), set(cpus)?);
    }
    Ok(state)
}

fn shown(state: &CpuState) -> Value {
    let mut shown = Map::new();
    shown.insert("default".into(), json!(state.shared.to_string()));
    if !state.containers.is_empty() {
        let of_pod = |of: &BTreeMap<ContainerName, CpuSet>| -> Map<String, Value> {
            of.iter().map(|(name, cpus)| (name.to_string(), json!(cpus.to_string()))).collect()
        };
        let pods = state.containers.iter().map(|(pod, of)| (pod.to_string(), Value::Object(of_pod(of))));
        shown.insert("assignments".into(), Value::Object(pods.collect()));
    }
    if !state.pods.is_empty() {
        let pods = state.pods.iter().map(|(pod, cpus)| (pod.to_string(), json!(cpus.to_string())));
        shown.insert("podAssignments".into(), Value::Object(pods.collect()));
    }
    Value::Object(shown)
}

fn set(value: &Value) -> Result<CpuSet, ParseError> {
    text(value).parse()
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}
