//! Merges, masks and the construction of the Topology Manager.

mod admit;
mod configuration;
mod hints;

use node_config::{Scope, TieBreak, TopologyConfig, TopologyPolicyName};
use numa_bitmask::{NodeIndex, NodeMask, OutOfRange};
use serde_json::{Value, json};
use topology_hint::Answers;
use topology_model::{NodeId, Nodes};
use topology_policy::{Admit, DistanceIndex, Distances, KubeletPolicy, MergeError, Ties};

use crate::case::{Case, Expected, Outcome, text};
use crate::corpus::Corpus;
use crate::discovery::machine::{described_machine, distances_by_id, machine_nodes};
use crate::discovery::masks::{bits_of, listed_combinations, mask_of};
use crate::runner::Runner;
use configuration::{config, named, nodes_of};
use hints::{listed, push};

pub(crate) fn runner(kind: &str) -> Option<Runner> {
    Some(match kind {
        "merge" => merge,
        "admit" => admit::admit,
        "construct" => construct,
        "numainfo" => numainfo,
        "bitmask" => bitmask,
        "hintcmp" => hintcmp,
        "iterate" => |_, case| case.compare(json!({ "masks": listed_combinations(&case.input["bits"]) })),
        _ => return None,
    })
}

/// The construction of the Topology Manager on a machine that cAdvisor describes.
pub(crate) fn manager(corpus: &Corpus, case: &Case) -> Outcome {
    let info = match described_machine(corpus, case) {
        Ok(info) => info,
        Err(fault) => return fault,
    };
    match config(case, text(&case.input["scope"]), &machine_nodes(&info)) {
        Ok(config) => case.compare(named(config)),
        Err(faults) => {
            one_of(case, faults.iter().map(|fault| json!({ "error": fault.to_string() })).collect())
        }
    }
}

const fn policy_of(config: TopologyConfig) -> KubeletPolicy {
    match config.policy {
        TopologyPolicyName::None => KubeletPolicy::None,
        TopologyPolicyName::BestEffort => KubeletPolicy::BestEffort,
        TopologyPolicyName::Restricted => KubeletPolicy::Restricted,
        TopologyPolicyName::SingleNumaNode => KubeletPolicy::SingleNumaNode,
    }
}

fn merge(_: &Corpus, case: &Case) -> Outcome {
    let mut parts = nodes_of(case);
    let config = match config(case, Scope::Container.name(), &parts) {
        Ok(config) => config,
        Err(faults) => {
            let texts = faults.iter().map(ToString::to_string);
            return one_of(case, texts.map(|text| json!({ "error": text })).collect());
        }
    };
    parts.sort_by_key(|(id, _)| *id);
    let nodes = match Nodes::new(parts.iter().map(|(id, _)| NodeId(*id))) {
        Ok(nodes) => nodes,
        Err(error) => return Outcome::unanswered(error),
    };
    let distances = Distances::new(parts, DistanceIndex::ByNodeId);
    let ties = match config.ties {
        TieBreak::Closest => Ties::Closest(&distances),
        TieBreak::LowestNumber => Ties::LowestNumber,
    };
    let mut answers = Answers::new();
    for provider in case.input["providers"].as_array().into_iter().flatten() {
        match provider.as_object() {
            Some(resources) if !resources.is_empty() => {
                for (resource, list) in resources {
                    push(&mut answers, resource, list, &nodes);
                }
            }
            _ => answers.push_no_opinion(""),
        }
    }
    match policy_of(config).merge_with(nodes.all(), &answers, ties.into()) {
        Ok(merged) => case.compare(json!({
            "mask": merged.hint.affinity.nodes().map(|mask| nodes.ids_of(mask).map(|id| id.0).collect::<Vec<_>>()),
            "preferred": merged.hint.is_preferred(),
            "admit": merged.admit == Admit::Yes,
        })),
        Err(error @ MergeError::MissingDistance(_)) if matches!(case.expected, Expected::Crash(_)) => {
            case.compare(json!({ "error": error.to_string() }))
        }
        Err(error) => Outcome::Failed { got: json!({ "error": error.to_string() }) },
    }
}

/// Passes if the kubelet's answer is one of `answers`.
fn one_of(case: &Case, answers: Vec<Value>) -> Outcome {
    match &case.expected {
        Expected::Result(expected) if answers.contains(expected) => Outcome::Passed,
        Expected::Result(_) => Outcome::Failed { got: Value::Array(answers) },
        Expected::Crash(_) | Expected::Hang => case.compare(Value::Array(answers)),
    }
}

fn construct(_: &Corpus, case: &Case) -> Outcome {
    let nodes = nodes_of(case);
    match config(case, text(&case.input["scope"]), &nodes) {
        Ok(config) => {
            let mut report = named(config);
            report["ok"] = json!(true);
            case.compare(report)
        }
        Err(faults) => {
            let own: Vec<String> = faults.iter().map(ToString::to_string).collect();
            let Expected::Result(expected) = &case.expected else { return case.compare(json!(own)) };
            let listed: Vec<&str> = expected["errors"].as_array().into_iter().flatten().map(text).collect();
            if own.iter().all(|fault| listed.contains(&fault.as_str())) {
                Outcome::Passed
            } else {
                Outcome::Failed { got: json!({ "ok": false, "errors": own }) }
            }
        }
    }
}

fn numainfo(_: &Corpus, case: &Case) -> Outcome {
    let nodes = nodes_of(case);
    let distances = distances_by_id(&nodes);
    let (a, b) = match (mask_of(&case.input["a"]), mask_of(&case.input["b"])) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(error), _) | (_, Err(error)) => return Outcome::unanswered(error),
    };
    let all: Result<NodeMask, OutOfRange> = nodes.iter().map(|(id, _)| NodeIndex::try_from(*id)).collect();
    let (Ok(all), Ok(average_a), Ok(average_b), Ok(closest)) =
        (all, distances.average(a), distances.average(b), distances.closest(a, b))
    else {
        return case.compare(json!({ "error": "a distance is not known" }));
    };
    let narrowest = if a.cmp_narrow(b).is_lt() { a } else { b };
    let got = json!({
        "average_a": average_a,
        "average_b": average_b,
        "closest": bits_of(closest),
        "default": bits_of(all),
        "narrowest": bits_of(narrowest),
    });
    let Expected::Result(expected) = &case.expected else { return case.compare(got) };
    // Averages are written in shortest form, so 10.0 comes as the integer 10.
    let same = expected.as_object().is_some_and(|fields| {
        fields.len() == 5
            && fields.iter().all(|(name, value)| match value.as_f64() {
                Some(average) => got[name].as_f64().is_some_and(|own| own.to_bits() == average.to_bits()),
                None => *value == got[name],
            })
    });
    if same { Outcome::Passed } else { Outcome::Failed { got } }
}

fn bitmask(_: &Corpus, case: &Case) -> Outcome {
    let (mut a, b) = match (mask_of(&case.input["a"]), mask_of(&case.input["b"])) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(error), _) | (_, Err(error)) => return case.compare(json!({ "error": error.to_string() })),
    };
    let mut errors = Vec::new();
    for step in case.input["ops"].as_array().into_iter().flatten() {
        let bits = mask_of(&step["bits"]);
        let changed = match text(&step["op"]) {
            "add" => bits.map(|bits| a | bits),
            "remove" => bits.map(|bits| a - bits),
            "and" => bits.map(|bits| a & bits),
            "or" => bits.map(|bits| a | bits),
            "clear" => Ok(NodeMask::EMPTY),
            "fill" => Ok(!NodeMask::EMPTY),
            _ => return Outcome::Skipped,
        };
        a = changed.unwrap_or(a);
        errors.push(changed.err().map_or_else(String::new, |error| error.to_string()));
    }
    let is_set = [-1, 0, 63, 64].map(|bit: i64| NodeIndex::try_from(bit).is_ok_and(|node| a.contains(node)));
    case.compare(json!({
        "and": bits_of(a & b),
        "any_set": a.meets(b),
        "bits": bits_of(a),
        "count": a.len(),
        "empty": a.is_empty(),
        "equal": a == b,
        "greater": a > b,
        "is_set": is_set,
        "less": a < b,
        "narrower": a.cmp_narrow(b).is_lt(),
        "op_errors": errors,
        "or": bits_of(a | b),
        "string": a.bits().to_string(),
        "string_b": b.bits().to_string(),
    }))
}

fn hintcmp(_: &Corpus, case: &Case) -> Outcome {
    let nodes = Nodes::new((0..64).map(NodeId));
    let Ok(nodes) = nodes else { return Outcome::Skipped };
    let (a, b) = (listed(&case.input["ha"], &nodes).hint, listed(&case.input["hb"], &nodes).hint);
    case.compare(match a.is_less(b) {
        Some(less) => json!({ "equal": a == b, "less": less }),
        None => json!({ "equal": a == b, "less_panics": true }),
    })
}
