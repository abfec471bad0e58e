//! What a CPU manager holds, answers and refuses, as cases write it.

use cpu_manager::{AllocateError, Holdings};
use numa_bitmask::NodeMask;
use serde_json::{Map, Value, json};
use topology_hint::{Answer, ListedHint};
use topology_model::Nodes;

pub(super) fn state(held: &Holdings) -> Value {
    let mut assignments = Map::new();
    for (pod, container, cpus) in held.iter() {
        let of_pod = assignments.entry(pod.as_str()).or_insert_with(|| json!({}));
        of_pod[container.as_str()] = json!(cpus.to_string());
    }
    let whole: Map<_, _> =
        held.whole_pods().map(|(pod, cpus)| (pod.to_string(), json!(cpus.to_string()))).collect();
    let mut baselines = Map::new();
    for (pod, container, cpus) in held.baselines() {
        let of_pod = baselines.entry(pod.as_str()).or_insert_with(|| json!({}));
        of_pod[container.as_str()] = json!(cpus.to_string());
    }
    let mut state = Map::new();
    if !baselines.is_empty() {
        state.insert("baselines".into(), Value::Object(baselines));
    }
    if !whole.is_empty() {
        state.insert("podAssignments".into(), Value::Object(whole));
    }
    state.insert("default".into(), json!(held.shared().to_string()));
    if !assignments.is_empty() {
        state.insert("assignments".into(), Value::Object(assignments));
    }
    Value::Object(state)
}

pub(super) fn insert_error(got: &mut Map<String, Value>, error: AllocateError) {
    got.insert("error".into(), json!(error.to_string()));
    let kind = match error {
        AllocateError::WholeCores(_) => "SMTAlignmentError",
        AllocateError::EmptySharedPool(_) => "EmptyPodSharedPoolError",
        _ => return,
    };
    got.insert("errorType".into(), json!(kind));
}

/// Of more NUMA nodes the sets are not listed: the kubelet's list of them takes gigabytes.
const MOST_NODES: u32 = 22;

/// The list that the kubelet would give, in node ids.
pub(crate) fn listed(nodes: &Nodes, answer: Answer<'_>) -> Value {
    let show = |hint: &ListedHint| {
        let mask = hint.hint.affinity.nodes().unwrap_or_default();
        let ids: Vec<i64> = nodes.ids_of(mask).map(|id| id.0).collect();
        json!({ "nodes": ids, "preferred": hint.hint.is_preferred() })
    };
    match answer {
        Answer::NoOpinion => Value::Null,
        Answer::Impossible => json!([]),
        Answer::List(list) => list.iter().map(show).collect(),
        Answer::Family(family) => {
            // No other node is in any of its sets; all of a large machine's would never end.
            let masks = family.masks().iter().fold(NodeMask::EMPTY, |all, (mask, _)| all | *mask);
            let own = masks | family.within().unwrap_or_default();
            if own.len() > MOST_NODES {
                return json!({ "sets": format!("of {} NUMA nodes", own.len()) });
            }
            family.listed(own).map(|hint| show(&hint)).collect()
        }
    }
}
