//! The machine of a case, its nodes and the distances between them.

use serde_json::{Value, json};
use topology_policy::{DistanceIndex, Distances};

use crate::case::{Case, Outcome};
use crate::corpus::Corpus;

/// The machine of a case in cAdvisor's JSON: named, or described in the case itself.
pub(crate) fn described_machine(corpus: &Corpus, case: &Case) -> Result<Value, Outcome> {
    match case.input["machine"].as_str() {
        Some(name) => corpus
            .machine_info(name)
            .map_err(|error| Outcome::Failed { got: json!({ "unreadable machine": error.to_string() }) }),
        None => Ok(case.input["machineinfo"].clone()),
    }
}

/// Node ids and distance rows of a machine in cAdvisor's JSON.
pub(crate) fn machine_nodes(info: &Value) -> Vec<(i64, Option<Vec<u64>>)> {
    let row =
        |node: &Value| node["distances"].as_array().map(|row| row.iter().filter_map(Value::as_u64).collect());
    let nodes = info["topology"].as_array().into_iter().flatten();
    nodes.map(|node| (node["node_id"].as_i64().unwrap_or_default(), row(node))).collect()
}

/// The kubelet's distances, with node ids as positions, since it looks a distance up by id.
pub(crate) fn distances_by_id(nodes: &[(i64, Option<Vec<u64>>)]) -> Distances {
    let row = |id: i64| nodes.iter().find(|(node, _)| *node == id).and_then(|(_, row)| row.clone());
    Distances::new((0..64).map(|id| (id, row(id))), DistanceIndex::ByNodeId)
}
