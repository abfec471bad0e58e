//! What is kept for the system, what is left for pods, and which CPUs that takes.

use std::collections::BTreeSet;

use node_config::{Amounts, TopologyPolicyName, allocatable, reserved_too_much};
use serde_json::{Map, Value, json};

use super::node::{Machine, configuration, is_among, root_file_system};
use crate::case::{Case, Expected, Outcome};
use crate::corpus::Corpus;
use crate::cpu::setup::Made;

pub(super) fn reserved(corpus: &Corpus, case: &Case) -> Outcome {
    let machine = match Machine::new(corpus, case) {
        Ok(machine) => machine,
        Err(fault) => return fault,
    };
    let config = match configuration(case) {
        Ok(config) => config,
        Err(error) => return case.compare(json!({ "unreadable": error })),
    };
    let Ok(gates) = config.gates() else {
        return case.compare(json!({ "unreadable": "gates" }));
    };
    let expected = match &case.expected {
        Expected::Result(expected) => expected,
        Expected::Crash(_) | Expected::Hang => &Value::Null,
    };
    let reservation = match machine.reservation(&config) {
        Ok(reservation) => reservation,
        Err(errors) if is_among(&expected["error"], &errors) => {
            return case.compare(json!({ "error": expected["error"] }));
        }
        Err(errors) => return case.compare(json!({ "error": errors })),
    };
    let for_managers = reservation.amounts(&machine.capacity(&config, None));
    let capacity = machine.capacity(&config, Some(root_file_system(case)));
    let reserved = reservation.amounts(&capacity);
    let mut got = json!({
        "managerReservation": listed(&for_managers),
        "reservation": listed(&reserved),
        "capacity": listed(&capacity),
        "allocatable": listed(&allocatable(&capacity, &reserved)),
    });
    let too_much = reserved_too_much(&capacity, &reserved);
    if !too_much.is_empty() {
        // The kubelet prints internals in place of amounts.
        let own: BTreeSet<&str> = too_much.iter().map(|error| error.resource.as_str()).collect();
        let same = expected["startError"].as_str().filter(|error| resources(error) == own);
        got["startError"] = json!(same.map_or_else(|| too_much[0].to_string(), str::to_owned));
    }
    if config.cpu_policy() == "static" {
        let cpus = (reservation.cpus.clone(), for_managers.get("cpu"));
        match machine.cpu_manager(&config, &gates, TopologyPolicyName::None, cpus) {
            Ok(Made::Manager(made)) => {
                got["defaultCPUSet"] = json!(made.policy.initial().shared().to_string());
                got["allocatableCPUs"] = json!(made.policy.allocatable().to_string());
                got["reservedCPUs"] = json!(made.policy.reserved().to_string());
            }
            Ok(Made::Nothing(_)) => {}
            Err(errors) if is_among(&expected["cpuManagerError"], &errors) => {
                got["cpuManagerError"] = expected["cpuManagerError"].clone();
            }
            Err(errors) => got["cpuManagerError"] = json!(errors),
        }
    }
    case.compare(got)
}

/// The resources that a text says too much is kept of.
fn resources(error: &str) -> BTreeSet<&str> {
    error.split("Resource \"").skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

pub(super) fn listed(amounts: &Amounts) -> Value {
    let each = amounts.iter().map(|(name, amount)| (name.clone(), json!(amount.canonical().to_string())));
    Value::Object(each.collect::<Map<_, _>>())
}
