//! CPU sets, node masks, distances and the CPU table as the kubelet computes them, and machines as cAdvisor reads
//! them.

pub(crate) mod cadvisor;
pub(crate) mod capacity;
pub(crate) mod machine;
pub(crate) mod masks;
mod memory;
mod sysfs;
mod tables;

use cpuset::{CpuId, CpuSet, ParseError};
use numa_bitmask::{NodeIndex, NodeMask, OutOfRange};
use serde_json::{Value, json};

use crate::case::{Case, Expected, Outcome, numbers, text};
use crate::corpus::Corpus;
use crate::runner::Runner;
use crate::topology;
use machine::{described_machine, distances_by_id, machine_nodes};
use masks::{bits_of, listed_combinations, mask_of};

pub(crate) fn runner(kind: &str) -> Option<Runner> {
    Some(match kind {
        "cpuset_parse" => cpuset_parse,
        "cpuset_ops" => cpuset_ops,
        "bitmask" => bitmask,
        "bitmask_cmp" => bitmask_cmp,
        "bitmask_iter" => bitmask_iter,
        "numa" => numa,
        "topomgr" => topology::manager,
        "discover" => tables::discover,
        "cpudetails" => tables::cpudetails,
        "alignment" => tables::alignment,
        "capacity" => capacity::capacity,
        "memory" => memory::memory,
        "sysfs" => sysfs::sysfs,
        _ => return None,
    })
}

fn cpuset_parse(_: &Corpus, case: &Case) -> Outcome {
    let parsed: Result<CpuSet, _> = text(&case.input["text"]).parse();
    case.compare(match parsed {
        Ok(set) => json!({ "error": null, "size": set.len(), "string": set.to_string() }),
        // No kernel numbers a CPU that high.
        Err(error @ ParseError::TooLarge(_)) => return Outcome::unanswered(error),
        Err(error) => json!({ "error": error.to_string(), "size": 0, "string": "" }),
    })
}

fn cpuset_ops(_: &Corpus, case: &Case) -> Outcome {
    let set = |name: &str| {
        numbers(&case.input[name]).into_iter().map(CpuId::try_from).collect::<Result<CpuSet, _>>()
    };
    // Only the kubelet's library can build negative ids.
    let (a, b) = match (set("a"), set("b")) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(error), _) | (_, Err(error)) => return Outcome::unanswered(error),
    };
    case.compare(json!({
        "a": a.to_string(),
        "a_empty": a.is_empty(),
        "a_list": a.iter().map(CpuId::get).collect::<Vec<_>>(),
        "a_size": a.len(),
        "a_subset_of_b": a.is_subset(&b),
        "b": b.to_string(),
        "b_subset_of_a": b.is_subset(&a),
        "difference": (&a - &b).to_string(),
        "equals": a == b,
        "intersection": (&a & &b).to_string(),
        "reverse_difference": (&b - &a).to_string(),
        "union": (&a | &b).to_string(),
        "union_none": a.to_string(),
    }))
}

fn contains(mask: NodeMask, bit: i64) -> bool {
    NodeIndex::try_from(bit).is_ok_and(|node| mask.contains(node))
}

fn bitmask(_: &Corpus, case: &Case) -> Outcome {
    let mut mask = NodeMask::EMPTY;
    let mut results = Vec::new();
    for step in case.input["steps"].as_array().into_iter().flatten() {
        let bits = mask_of(&step["bits"]);
        let mut others = Vec::new();
        for other in step["with"].as_array().into_iter().flatten() {
            match mask_of(other) {
                Ok(other) => others.push(other),
                Err(OutOfRange) => return Outcome::Skipped,
            }
        }
        let mut extra = None;
        let changed = match text(&step["op"]) {
            "new" => bits,
            "add" => bits.map(|bits| mask | bits),
            "remove" => bits.map(|bits| mask - bits),
            "and" => Ok(others.into_iter().fold(mask, |all, other| all & other)),
            "or" => Ok(others.into_iter().fold(mask, |all, other| all | other)),
            "clear" => Ok(NodeMask::EMPTY),
            "fill" => Ok(!NodeMask::EMPTY),
            "is_set" => {
                // Nothing asked is answered with nothing, not with an empty list.
                let set = step["bits"].as_array().map(|_| {
                    numbers(&step["bits"]).into_iter().map(|bit| contains(mask, bit)).collect::<Vec<_>>()
                });
                extra = Some(("is_set", json!(set)));
                Ok(mask)
            }
            "any_set" => {
                let any = numbers(&step["bits"]).into_iter().any(|bit| contains(mask, bit));
                extra = Some(("any_set", json!(any)));
                Ok(mask)
            }
            _ => return Outcome::Skipped,
        };
        mask = changed.unwrap_or(mask);
        let mut result = json!({
            "bits": bits_of(mask),
            "count": mask.len(),
            "empty": mask.is_empty(),
            "error": changed.err().map(|error| error.to_string()),
            "string": mask.bits().to_string(),
        });
        if let Some((name, value)) = extra {
            result[name] = value;
        }
        results.push(result);
    }
    case.compare(Value::Array(results))
}

fn bitmask_cmp(_: &Corpus, case: &Case) -> Outcome {
    let (a, b) = (mask_of(&case.input["a"]), mask_of(&case.input["b"]));
    let (Ok(a), Ok(b)) = (a, b) else {
        let error = |mask: Result<NodeMask, OutOfRange>| mask.err().map(|error| error.to_string());
        return case.compare(json!({ "a_error": error(a), "b_error": error(b) }));
    };
    case.compare(json!({
        "a": a.bits().to_string(),
        "a_after": bits_of(a),
        "and": bits_of(a & b),
        "and_alone": bits_of(a),
        "b": b.bits().to_string(),
        "equal": a == b,
        "greater": a > b,
        "less": a < b,
        "narrower": a.cmp_narrow(b).is_lt(),
        "or": bits_of(a | b),
    }))
}

fn bitmask_iter(_: &Corpus, case: &Case) -> Outcome {
    case.compare(listed_combinations(&case.input["bits"]))
}

fn numa(corpus: &Corpus, case: &Case) -> Outcome {
    let info = match described_machine(corpus, case) {
        Ok(info) => info,
        Err(fault) => return fault,
    };
    let nodes = machine_nodes(&info);
    if nodes.iter().any(|(_, row)| row.is_none()) {
        return case.compare(json!({ "error": "error getting NUMA distances from cadvisor" }));
    }
    let distances = distances_by_id(&nodes);
    let masks = case.input["masks"].as_array().into_iter().flatten().map(mask_of);
    let masks = match masks.collect::<Result<Vec<_>, _>>() {
        Ok(masks) => masks,
        Err(error) => return case.compare(json!({ "error": error.to_string() })),
    };
    let averages: Vec<Value> = masks
        .iter()
        .map(|mask| match distances.average(*mask) {
            Ok(average) => json!({ "bits": format!("{:016x}", average.to_bits()) }),
            Err(missing) => json!({ "panic": missing.to_string() }),
        })
        .collect();
    let pairs: Vec<Value> = masks
        .windows(2)
        .map(|pair| {
            let narrowest = if pair[0].cmp_narrow(pair[1]).is_lt() { pair[0] } else { pair[1] };
            let closest = match distances.closest(pair[0], pair[1]) {
                Ok(mask) => json!(bits_of(mask)),
                Err(missing) => json!({ "panic": missing.to_string() }),
            };
            json!({ "closest": closest, "narrowest": bits_of(narrowest) })
        })
        .collect();
    let got = json!({ "averages": averages, "pairs": pairs });
    let Expected::Result(expected) = &case.expected else { return case.compare(got) };
    match agree(expected, &got) {
        Agreement::No => Outcome::Failed { got },
        Agreement::Yes => Outcome::Passed,
        Agreement::WhereItDoesNotCrash => Outcome::Passed.crashed_beside(got),
    }
}

/// How far two results agree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Agreement {
    Yes,
    WhereItDoesNotCrash,
    No,
}

/// Compares part by part; `avg` by its bits alone, and a crash of the kubelet against anything.
fn agree(expected: &Value, got: &Value) -> Agreement {
    match (expected, got) {
        (Value::Object(fields), _) if fields.contains_key("panic") => Agreement::WhereItDoesNotCrash,
        (Value::Object(fields), Value::Object(own)) => fields
            .iter()
            .filter(|(name, _)| *name != "avg")
            .map(|(name, value)| own.get(name).map_or(Agreement::No, |own| agree(value, own)))
            .max()
            .unwrap_or(Agreement::Yes),
        (Value::Array(items), Value::Array(own)) if items.len() == own.len() => {
            items.iter().zip(own).map(|(item, own)| agree(item, own)).max().unwrap_or(Agreement::Yes)
        }
        _ if expected == got => Agreement::Yes,
        _ => Agreement::No,
    }
}
