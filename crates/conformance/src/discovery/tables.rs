//! The CPU table, what it answers, and the nodes that merges run over.

use std::collections::{BTreeMap, BTreeSet};

use cpuset::{CpuId, CpuSet};
use node_config::{
    DistanceRows, FeatureGates, NodeCountCheck, Rules, Scope, TopologyConfig, TopologyFacts,
    TopologyPolicyName,
};
use serde_json::{Map, Value, json};
use topology_hint::Answers;
use topology_model::{CpuRow, CpuTable, CpuTableError, MachineInfo, MachineNode, NodeId, Nodes};
use topology_policy::{Admit, KubeletPolicy};

use super::cadvisor;
use super::machine::described_machine;
use crate::case::{Case, Expected, Outcome, numbers, text};
use crate::corpus::Corpus;

fn machine(corpus: &Corpus, case: &Case) -> Result<MachineInfo, Outcome> {
    described_machine(corpus, case).map(|info| cadvisor::machine_info(&info))
}

/// The table, or the outcome of a case that asks for what there is none of.
fn table(case: &Case, info: &MachineInfo) -> Result<CpuTable, Outcome> {
    CpuTable::new(info).map_err(|error| match error {
        CpuTableError::CpuOutOfRange(_) | CpuTableError::NegativeCount(_) => Outcome::unanswered(error),
        error => case.compare(json!({ "error": error.to_string() })),
    })
}

/// The CPU table and the nodes of a machine, and a merge of no hints.
pub(crate) fn discover(corpus: &Corpus, case: &Case) -> Outcome {
    let info = match machine(corpus, case) {
        Ok(info) => info,
        Err(fault) => return fault,
    };
    let listed = info.topology.as_deref().unwrap_or_default();
    let order: Vec<i64> = listed.iter().map(|node| node.id).collect();
    let nodes = match Nodes::new(order.iter().copied().map(NodeId)) {
        Ok(nodes) => nodes,
        Err(error) => return Outcome::unanswered(error),
    };
    let ids = |mask| nodes.ids_of(mask).map(|id| id.0).collect::<Vec<_>>();
    let merged = KubeletPolicy::BestEffort.merge(nodes.all(), &Answers::new());
    let merged = match merged {
        Ok(merged) => json!({
            "admit": merged.admit == Admit::Yes,
            "affinity": merged.hint.affinity.nodes().map(ids),
            "preferred": merged.hint.is_preferred(),
        }),
        Err(error) => json!({ "error": error.to_string() }),
    };
    let mut got = json!({
        "numa_info": { "default_affinity": ids(nodes.all()), "merge_nothing": merged, "nodes": order },
        "numa_info_prefer_closest": closest(listed, &order),
    });
    match CpuTable::new(&info) {
        Ok(table) => got["topology"] = described(&table),
        Err(error @ (CpuTableError::CpuOutOfRange(_) | CpuTableError::NegativeCount(_))) => {
            return Outcome::unanswered(error);
        }
        Err(error) => got["error"] = json!(error.to_string()),
    }
    let Expected::Result(expected) = &case.expected else { return case.compare(got) };
    if expected["numa_info"]["merge_nothing"].get("panic").is_none() {
        return case.compare(got);
    }
    let own = got.clone();
    // The kubelet has no mask of all nodes here and crashes at the first pod; everything else is compared.
    got["numa_info"] = expected["numa_info"].clone();
    got["numa_info"]["nodes"] = json!(order);
    case.compare(got).crashed_beside(own)
}

/// Nodes and distances with `prefer-closest-numa-nodes` on.
fn closest(listed: &[MachineNode], order: &[i64]) -> Value {
    let options = BTreeMap::from([("prefer-closest-numa-nodes".to_owned(), "true".to_owned())]);
    let complete = listed.iter().all(|node| node.distances.is_some());
    let distances = if complete { DistanceRows::Complete } else { DistanceRows::Missing };
    // The number of nodes is checked later, and not asked here.
    let facts = TopologyFacts { nodes: 0, distances };
    let policy = TopologyPolicyName::BestEffort.name();
    let (rules, scope) = (Rules::default(), Scope::Container.name());
    let gates = FeatureGates::new(rules.gates);
    let checked =
        TopologyConfig::check(policy, scope, &options, &gates, &rules, facts, NodeCountCheck::Kubelet);
    if let Err(faults) = checked {
        let text = faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        return json!({ "error": text.trim_start_matches("cannot discover NUMA topology: ") });
    }
    let rows = listed.iter().map(|node| (node.id.to_string(), json!(node.distances)));
    json!({ "distances": Value::Object(rows.collect()), "nodes": order })
}

fn described(table: &CpuTable) -> Value {
    let row = |row: &CpuRow| json!([row.cpu.get(), row.node.0, row.socket.0, row.core.0, row.cache.0]);
    json!({
        "cpu_details": table.rows().map(row).collect::<Vec<_>>(),
        "cpus_per_core": table.cpus_per_core(),
        "cpus_per_socket": table.cpus_per_socket(),
        "cpus_per_uncore": table.cpus_per_cache(),
        "num_cores": table.num_cores(),
        "num_cpus": table.num_cpus(),
        "num_numa_nodes": table.num_nodes(),
        "num_sockets": table.num_sockets(),
        "num_uncore_cache": table.num_caches(),
    })
}

/// Every question to the table, `ids` taken as ids of whatever is asked for.
pub(crate) fn cpudetails(corpus: &Corpus, case: &Case) -> Outcome {
    let whole = match machine(corpus, case).and_then(|info| table(case, &info)) {
        Ok(table) => table,
        Err(outcome) => return outcome,
    };
    let kept = match case.input["keep"].as_str().map(str::parse::<CpuSet>) {
        Some(Ok(keep)) => whole.keep(&keep),
        Some(Err(error)) => return Outcome::unreadable(error),
        None => whole.clone(),
    };
    let ids = numbers(&case.input["ids"]);
    let cpu = |row: &CpuRow| i64::try_from(row.cpu.get()).unwrap_or(i64::MAX);
    let core = |row: &CpuRow| row.core.0;
    let node = |row: &CpuRow| row.node.0;
    let socket = |row: &CpuRow| row.socket.0;
    let cache = |row: &CpuRow| row.cache.0;
    let all = |of: &dyn Fn(&CpuRow) -> i64| printed(kept.rows().map(of).collect());
    let within = |of: &dyn Fn(&CpuRow) -> i64, by: &dyn Fn(&CpuRow) -> i64| {
        printed(kept.rows().filter(|row| ids.contains(&by(row))).map(of).collect())
    };
    let mut got = json!({
        "cores": all(&core),
        "cores_in_numa_nodes": within(&core, &node),
        "cores_in_sockets": within(&core, &socket),
        "cpus": all(&cpu),
        "cpus_in_cores": within(&cpu, &core),
        "cpus_in_numa_nodes": within(&cpu, &node),
        "cpus_in_sockets": within(&cpu, &socket),
        "cpus_in_uncore_caches": within(&cpu, &cache),
        "numa_nodes": all(&node),
        "numa_nodes_in_sockets": within(&node, &socket),
        "sockets": all(&socket),
        "sockets_in_numa_nodes": within(&socket, &node),
        "uncore_caches": all(&cache),
        "uncore_in_numa_nodes": within(&cache, &node),
    });
    if let Some(first) = ids.first() {
        got["cpu_lookup"] = lookup(&whole, *first);
    }
    let mut own = None;
    match case.input["n"].as_i64().map(usize::try_from) {
        None => {}
        Some(Ok(count)) => {
            let cores: BTreeSet<i64> =
                kept.rows().filter(|row| ids.contains(&row.cache.0)).map(core).collect();
            got["cores_needed_in_uncore_cache"] = json!(printed(cores.into_iter().take(count).collect()));
        }
        Some(Err(_)) => {
            // A negative number of cores crashes the kubelet and cannot be expressed here.
            own = Some(got.clone());
            if let Expected::Result(expected) = &case.expected {
                got["cores_needed_in_uncore_cache"] = expected["cores_needed_in_uncore_cache"].clone();
            }
        }
    }
    let outcome = case.compare(got);
    match own {
        Some(own) => outcome.crashed_beside(own),
        None => outcome,
    }
}

/// Core, node and socket of one CPU.
fn lookup(table: &CpuTable, id: i64) -> Value {
    let row = CpuId::try_from(id).ok().and_then(|cpu| table.get(cpu));
    let answer = |value: Option<i64>| {
        let error = value.is_none().then(|| format!("unknown CPU ID: {id}"));
        json!({ "error": error, "value": value.unwrap_or(-1) })
    };
    let mut shown = Map::new();
    shown.insert("core".into(), answer(row.map(|row| row.core.0)));
    shown.insert("cpu".into(), json!(id));
    shown.insert("numa".into(), answer(row.map(|row| row.node.0)));
    shown.insert("socket".into(), answer(row.map(|row| row.socket.0)));
    Value::Object(shown)
}

/// Ids as the kubelet prints sets of integers.
fn printed(ids: BTreeSet<i64>) -> String {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for id in ids {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == id => *last = id,
            _ => runs.push((id, id)),
        }
    }
    let run = |(first, last): (i64, i64)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    runs.into_iter().map(run).collect::<Vec<_>>().join(",")
}

/// Whether some CPUs share one cache.
pub(crate) fn alignment(corpus: &Corpus, case: &Case) -> Outcome {
    let table = match machine(corpus, case).and_then(|info| table(case, &info)) {
        Ok(table) => table,
        Err(outcome) => return outcome,
    };
    let cpus = match text(&case.input["cpus"]).parse::<CpuSet>() {
        Ok(cpus) => cpus,
        // Past the last CPU that a kernel has.
        Err(error @ cpuset::ParseError::TooLarge(_)) => return Outcome::unanswered(error),
        Err(error) => return Outcome::unreadable(error),
    };
    let aligned = table.is_in_one_cache(&cpus);
    case.compare(json!({ "text": format!("{cpus} aligned=<uncore:{aligned}>"), "uncore_cache": aligned }))
}
