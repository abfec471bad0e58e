//! What has to be changed for one finding to go away: as few fields of the proposal as are enough.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::iter;

use node_config::KubeletConfiguration;
use serde_json::Value;

use crate::changes::{changes, copy};

/// The fields that are changed together when `field` is at fault; `field` is the first.
pub(crate) fn group(field: &'static str) -> Vec<&'static str> {
    // What is reserved on nodes has to be what is reserved in all.
    const MEMORY: [&str; 4] = ["reservedMemory", "systemReserved", "kubeReserved", "evictionHard"];
    const ENFORCED: [&str; 4] =
        ["enforceNodeAllocatable", "cgroupsPerQOS", "systemReservedCgroup", "kubeReservedCgroup"];
    let others: &[&'static str] = match field {
        "topologyManagerPolicyOptions" => &["topologyManagerPolicy"],
        // A list of CPUs and cgroups exclude each other.
        "reservedSystemCPUs" => &[
            "systemReservedCgroup",
            "kubeReservedCgroup",
            "enforceNodeAllocatable",
            "systemReserved",
            "kubeReserved",
        ],
        own if MEMORY.contains(&own) => &MEMORY,
        own if ENFORCED.contains(&own) => &ENFORCED,
        _ => &[],
    };
    let others = others.iter().copied().filter(|other| *other != field);
    iter::once(field).chain(others).collect()
}

/// The fewest fields of the proposal, in the order in which they are tried, that make the finding go away; `is_there`
/// says whether a configuration has it. A field that the proposal leaves out is `null`. Empty if the proposal has the
/// finding too.
pub(crate) fn remedy(
    config: &KubeletConfiguration,
    proposal: &KubeletConfiguration,
    field: &'static str,
    is_there: impl Fn(&KubeletConfiguration) -> bool,
) -> BTreeMap<String, Value> {
    let mut values: BTreeMap<String, Value> = changes(config, proposal)
        .into_iter()
        .map(|change| (change.field, change.to.unwrap_or(Value::Null)))
        .collect();
    let first = group(field);
    let related = first.iter().map(|name| (*name).to_owned()).filter(|name| values.contains_key(name));
    let mut order: Vec<String> = related.collect();
    order.extend(values.keys().filter(|name| !first.contains(&name.as_str())).cloned());
    let with = |fields: &[String]| {
        let mut repaired = config.clone();
        for field in fields {
            copy(&mut repaired, proposal, field);
        }
        repaired
    };
    let Some(enough) =
        (1..=order.len()).find(|count| !is_there(&with(order.get(..*count).unwrap_or_default())))
    else {
        return BTreeMap::new();
    };
    order.truncate(enough);
    // What was tried before the last one may not have been needed.
    let mut at = 0;
    while order.len() > 1 && at < order.len() {
        let mut fewer = order.clone();
        fewer.remove(at);
        if is_there(&with(&fewer)) {
            at += 1;
        } else {
            order = fewer;
        }
    }
    values.retain(|name, _| order.contains(name));
    values
}
