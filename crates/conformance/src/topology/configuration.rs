//! The configuration and the nodes that a case describes.

use std::collections::BTreeMap;

use node_config::{
    DistanceRows, FeatureGates, NodeCountCheck, Rules, TopologyConfig, TopologyConfigError, TopologyFacts,
    TopologyPolicyName,
};
use serde_json::{Value, json};

use crate::case::{Case, text};

/// Node ids and distance rows of a case, in its order.
pub(super) fn nodes_of(case: &Case) -> Vec<(i64, Option<Vec<u64>>)> {
    let row = |node: &Value| {
        node["distances"].as_array().map(|row| row.iter().filter_map(Value::as_u64).collect::<Vec<_>>())
    };
    let nodes = case.input["nodes"].as_array().into_iter().flatten();
    nodes.map(|node| (node["id"].as_i64().unwrap_or_default(), row(node))).collect()
}

/// What a checked configuration reports: under policy `none` no scope is in force.
pub(super) fn named(config: TopologyConfig) -> Value {
    let none = config.policy == TopologyPolicyName::None;
    let scope = if none { "none" } else { config.scope.name() };
    json!({ "policy": config.policy.name(), "scope": scope })
}

pub(super) fn config(
    case: &Case,
    scope: &str,
    nodes: &[(i64, Option<Vec<u64>>)],
) -> Result<TopologyConfig, Vec<TopologyConfigError>> {
    let option = |(name, value): (&String, &Value)| (name.clone(), text(value).to_owned());
    let options: BTreeMap<_, _> =
        case.input["options"].as_object().into_iter().flatten().map(option).collect();
    let complete = nodes.iter().all(|(_, row)| row.is_some());
    let distances = if complete { DistanceRows::Complete } else { DistanceRows::Missing };
    let facts = TopologyFacts { nodes: nodes.len(), distances };
    let rules = Rules::of(case.release);
    let changed = case.input["gates"].as_object().into_iter().flatten();
    let changed = changed.filter_map(|(name, value)| Some((name.clone(), value.as_bool()?))).collect();
    let gates = FeatureGates::check(rules.gates, &changed).unwrap_or_else(|_| FeatureGates::new(rules.gates));
    let policy = text(&case.input["policy"]);
    TopologyConfig::check(policy, scope, &options, &gates, &rules, facts, NodeCountCheck::Kubelet)
}
