//! Kubelet configurations: decoding, checks, what unwritten fields mean, and whether the managers start.

use std::collections::BTreeMap;

use node_config::{GateError, KubeletConfiguration, TopologyPolicyName};
use serde_json::{Value, json};

use super::node::{Machine, configuration, is_among};
use crate::case::{Case, Expected, Outcome};
use crate::corpus::Corpus;

pub(super) fn config(corpus: &Corpus, case: &Case) -> Outcome {
    let config = match configuration(case) {
        Ok(config) => config,
        Err(error) => return case.compare(json!({ "decodeError": error })),
    };
    // Gates that cannot be set crash the kubelet while it decodes.
    if let Err(faults) = config.gates() {
        return crashes_with_gates(case, &faults);
    }
    let Expected::Result(expected) = &case.expected else {
        return Outcome::Failed { got: json!({ "refused": [] }) };
    };
    let mut faults: Vec<String> = config.validate().iter().map(ToString::to_string).collect();
    if !faults.is_empty() {
        let mut got = json!({ "ok": false });
        if expected["errorsSorted"].as_bool() == Some(true) {
            faults.sort();
            got["errorsSorted"] = json!(true);
        }
        got["errors"] = json!(faults);
        return case.compare(got);
    }
    let mut got = json!({ "ok": true, "effective": effective(&config, &expected["effective"]) });
    if !case.input["machine"].is_null() {
        let machine = match Machine::new(corpus, case) {
            Ok(machine) => machine,
            Err(fault) => return fault,
        };
        let started = machine.start(case, &config).map_or_else(|errors| errors, |_| vec!["ok".to_owned()]);
        // Which of several errors is reported is left to chance, and so is which of them were seen.
        let one = expected.get("start").filter(|error| is_among(error, &started));
        let some = expected["startOneOf"].as_array();
        let some = some.filter(|errors| errors.iter().any(|error| is_among(error, &started)));
        match (one, some) {
            (Some(one), _) => got["start"] = one.clone(),
            (None, Some(some)) => got["startOneOf"] = json!(some),
            (None, None) => got["start"] = json!(started),
        }
    }
    case.compare(got)
}

/// Compares what a kubelet crashes with that cannot set its gates.
pub(super) fn crashes_with_gates(case: &Case, faults: &[GateError]) -> Outcome {
    let faults = faults.iter().map(ToString::to_string).collect::<Vec<_>>();
    let is_said = matches!(&case.expected, Expected::Crash(text) if is_of(text, &faults));
    let got = json!({ "refused": faults });
    if is_said { case.compare(got) } else { Outcome::Failed { got } }
}

const PREFIX: &str =
    "failed to merge global and in-flight KubeletConfiguration while setting defaults, error: ";

/// Whether a crash names exactly these errors of a start, each with the words of the crash.
pub(crate) fn names_all(crash: &str, errors: &[String]) -> bool {
    let faults = errors.iter().filter_map(|error| error.strip_prefix(PREFIX)).map(str::to_owned);
    let faults: Vec<String> = faults.collect();
    !faults.is_empty() && is_of(crash, &faults)
}

/// Whether a crash names exactly these faults, of which several are listed in any order.
fn is_of(crash: &str, faults: &[String]) -> bool {
    let Some(named) = crash.strip_prefix(PREFIX) else { return false };
    let brackets_and_commas = if faults.len() > 1 { 2 * faults.len() } else { 0 };
    let length: usize = faults.iter().map(String::len).sum();
    faults.iter().all(|fault| named.contains(fault)) && named.len() == length + brackets_and_commas
}

/// Every field with its default. An absent map and an empty one are the same here, though not in the kubelet's print.
fn effective(config: &KubeletConfiguration, expected: &Value) -> Value {
    let map = |name: &str, map: &BTreeMap<String, String>| {
        if map.is_empty() && expected[name].is_null() { Value::Null } else { json!(map) }
    };
    let policy = TopologyPolicyName::from_name(config.topology_policy()).map(TopologyPolicyName::name);
    json!({
        "cgroupsPerQOS": config.has_cgroups_per_qos(),
        "cpuManagerPolicy": config.cpu_policy(),
        "cpuManagerPolicyOptions": map("cpuManagerPolicyOptions", &config.cpu_manager_policy_options),
        "cpuManagerReconcilePeriod": config.reconcile_period().to_string(),
        "enforceNodeAllocatable": config.enforced(),
        "evictionHard": config.eviction(),
        "kubeReserved": map("kubeReserved", &config.kube_reserved),
        "maxPods": config.pod_limit(),
        "memoryManagerPolicy": config.memory_policy(),
        "podsPerCore": config.pods_per_core.unwrap_or_default(),
        "reservedSystemCPUs": config.reserved_cpus(),
        "systemReserved": map("systemReserved", &config.system_reserved),
        "topologyManagerPolicy": policy,
        "topologyManagerPolicyOptions":
            map("topologyManagerPolicyOptions", &config.topology_manager_policy_options),
        "topologyManagerScope": config.topology_scope(),
    })
}
