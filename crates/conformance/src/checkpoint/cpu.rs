//! `cpu_manager_state`.

use std::collections::BTreeMap;

use cpuset::{CpuSet, ParseError};
use kubelet_checkpoint::cpu::{ContainerIds, CpuFile, CpuFormat, CpuState};
use kubelet_checkpoint::{Baselines, Forms, PodLevel};
use kubelet_release::Rules;
use pod_spec::{ContainerName, PodUid};
use serde_json::{Map, Value, json};

use super::members::checksum;
use crate::case::{Case, Outcome, text};
use crate::corpus::Corpus;

pub(super) fn checkpoint(_: &Corpus, case: &Case) -> Outcome {
    let mut state = match state(case) {
        Ok(state) => state,
        Err(error) => return Outcome::unreadable(error),
    };
    let is_on = |gate: &str| case.input["gates"][gate].as_bool() == Some(true);
    let forms = Forms {
        checkpoint: Rules::of(case.release).checkpoints,
        pod_level: if is_on("PodLevelResourceManagers") { PodLevel::On } else { PodLevel::Off },
        baselines: if is_on("InPlacePodVerticalScalingExclusiveCPUs") {
            Baselines::On
        } else {
            Baselines::Off
        },
    };
    if forms.pod_level == PodLevel::Off {
        state.pods.clear();
    }
    let format = forms.cpu();
    let file = state.encode(format);
    let read = CpuFile::read(file.as_bytes(), forms, &ContainerIds::new());
    let mut got = json!({
        "checksum": checksum(&file, "checksum"),
        "file": file,
        "hashed": state.hashed(format),
    });
    if format == CpuFormat::V4 {
        got["dataChecksum"] = checksum(&file, "dataChecksum");
        got["dataHashed"] = json!(state.hashed_data());
    }
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
    state.containers = by_pod(&stored["assignments"])?;
    state.baselines = by_pod(&stored["baselines"])?;
    for (pod, cpus) in members(&stored["podAssignments"]) {
        state.pods.insert(PodUid::new(pod), set(cpus)?);
    }
    Ok(state)
}

/// CPUs by pod and container.
type ByPod = BTreeMap<PodUid, BTreeMap<ContainerName, CpuSet>>;

fn by_pod(pods: &Value) -> Result<ByPod, ParseError> {
    let of_pod = |containers| {
        let each = members(containers).map(|(name, cpus)| Ok((ContainerName::new(name), set(cpus)?)));
        each.collect::<Result<_, ParseError>>()
    };
    members(pods).map(|(pod, containers)| Ok((PodUid::new(pod), of_pod(containers)?))).collect()
}

fn shown_by_pod(pods: &ByPod) -> Value {
    let of_pod = |of: &BTreeMap<ContainerName, CpuSet>| -> Map<String, Value> {
        of.iter().map(|(name, cpus)| (name.to_string(), json!(cpus.to_string()))).collect()
    };
    Value::Object(pods.iter().map(|(pod, of)| (pod.to_string(), Value::Object(of_pod(of)))).collect())
}

fn shown(state: &CpuState) -> Value {
    let mut shown = Map::new();
    shown.insert("default".into(), json!(state.shared.to_string()));
    if !state.containers.is_empty() {
        shown.insert("assignments".into(), shown_by_pod(&state.containers));
    }
    if !state.baselines.is_empty() {
        shown.insert("baselines".into(), shown_by_pod(&state.baselines));
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
