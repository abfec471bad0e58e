//! What the memory manager makes of a machine before anything runs on it.

use k8s_quantity::ParseError;
use memory_manager::{
    Config, PodLevel, Readmission, Reservation, Reservations, Static, StoredTable, UnevenGroup, WrappedTables,
};
use pod_spec::{ResourceList, ResourceName};
use serde_json::{Value, json};
use topology_model::{NodeId, NodeMemory, Nodes};

use super::cadvisor;
use super::machine::described_machine;
use crate::case::{Case, Outcome, text};
use crate::corpus::Corpus;
use crate::memory::sums;

pub(crate) fn memory(corpus: &Corpus, case: &Case) -> Outcome {
    let info = match described_machine(corpus, case) {
        Ok(info) => cadvisor::machine_info(&info),
        Err(fault) => return fault,
    };
    let memory: Vec<_> = info.topology.iter().flatten().map(NodeMemory::from).collect();
    let nodes = match Nodes::new(memory.iter().map(|node| node.id)) {
        Ok(nodes) => nodes,
        Err(error) => return Outcome::unanswered(error),
    };
    let reserved = match reservations(&case.input["reserved"]) {
        Ok(reserved) => reserved,
        Err(error) => return Outcome::unreadable(error),
    };
    // The kubelet refuses other nodes when it checks its configuration. Cases go straight to the tables, which pass
    // over them.
    let all = reserved.len();
    let known: Vec<_> = reserved.into_iter().filter(|kept| nodes.index_of(kept.node).is_some()).collect();
    let passed_over = all - known.len();
    let config = Config {
        node_allocatable: sums(&known),
        reserved: Reservations(known),
        pod_level: PodLevel::Ignored,
        wrapped_tables: WrappedTables::Wrap,
        readmission: Readmission::BookAgain,
        uneven_group: UnevenGroup::Crash,
        empty_request: kubelet_release::Rules::of(case.release).empty_memory_request,
    };
    let policy = match Static::new(&nodes, &memory, &config) {
        Ok(policy) => policy,
        Err(error) => {
            // Nothing is reserved but on nodes that are not there: ours is the refusal that would have come before.
            return match case.compare(json!({ "error": error.to_string() })) {
                Outcome::Failed { .. } if passed_over > 0 => Outcome::unanswered(error),
                played => played,
            };
        }
    };
    let stored = policy.stored(&policy.initial());
    let state = stored.nodes.iter().map(|(id, node)| {
        let memory = node.memory.iter().map(|(resource, sizes)| (resource.to_string(), table(sizes)));
        let shown = json!({
            "assignments": node.assignments,
            "cells": node.cells.iter().map(|id| id.0).collect::<Vec<_>>(),
            "memory": Value::Object(memory.collect()),
        });
        (id.to_string(), shown)
    });
    let allocatable = policy.allocatable().map(|(node, resource, size)| {
        let ids: Vec<i64> = nodes.id(node).into_iter().map(|id| id.0).collect();
        json!({ "numa_affinity": ids, "size": size, "type": resource.as_str() })
    });
    case.compare(json!({
        "allocatable": allocatable.collect::<Vec<_>>(),
        "machine_state": Value::Object(state.collect()),
    }))
}

fn table(table: &StoredTable) -> Value {
    json!({
        "allocatable": table.allocatable,
        "free": table.free,
        "reserved": table.reserved,
        "system_reserved": table.system_reserved,
        "total": table.total,
    })
}

/// Node ids, each with amounts by resource.
fn reservations(reserved: &Value) -> Result<Vec<Reservation>, ParseError> {
    let mut all = Vec::new();
    for (id, amounts) in reserved.as_object().into_iter().flatten() {
        let mut limits = ResourceList::new();
        for (resource, amount) in amounts.as_object().into_iter().flatten() {
            limits.insert(ResourceName::new(resource), text(amount).parse()?);
        }
        all.push(Reservation { node: NodeId(id.parse().unwrap_or_default()), limits });
    }
    Ok(all)
}
