//! What has to be changed for one finding to go away: as few fields of the proposal as are enough.

use std::collections::BTreeMap;

use node_config::KubeletConfiguration;
use serde_json::Value;

use super::fields::{changes, copy};

/// The fields that are changed together when `field` is at fault; `field` is the first.
pub(super) fn group(field: &'static str) -> Vec<&'static str> {
    // What is reserved on nodes has to be what is reserved in all.
    const MEMORY: [&str; 4] = ["reservedMemory", "systemReserved", "kubeReserved", "evictionHard"];
    const ENFORCED: [&str; 4] =
        ["enforceNodeAllocatable", "cgroupsPerQOS", "systemReservedCgroup", "kubeReservedCgroup"];
    let others: &[&'static str] = match field {
        "topologyManagerPolicyOptions" => &["topologyManagerPolicy"],
        // A list of CPUs and cgroups exclude each other.
        "reservedSystemCPUs" => &["systemReserved", "kubeReserved"],
        own if MEMORY.contains(&own) => &MEMORY,
        own if ENFORCED.contains(&own) => &ENFORCED,
        _ => &[],
    };
    let others = others.iter().copied().filter(|other| *other != field);
    std::iter::once(field).chain(others).collect()
}

/// The smallest group of the proposal's fields, in the order in which they are tried, without which the finding stays:
/// `is_there` tells whether a configuration has it. A field that the proposal leaves out is `null`. Empty: the proposal
/// has the finding too.
pub(super) fn remedy(
    config: &KubeletConfiguration,
    proposal: &KubeletConfiguration,
    field: &'static str,
    is_there: impl Fn(&KubeletConfiguration) -> bool,
) -> anyhow::Result<BTreeMap<String, Value>> {
    let mut values: BTreeMap<String, Value> = changes(config, proposal)?
        .into_iter()
        .map(|change| (change.field, change.to.unwrap_or(Value::Null)))
        .collect();
    let first = group(field);
    let related = first.iter().map(|name| (*name).to_owned()).filter(|name| values.contains_key(name));
    let mut order: Vec<String> = related.collect();
    order.extend(values.keys().filter(|name| !first.contains(&name.as_str())).cloned());
    let with = |fields: &[String]| {
        let mut mended = config.clone();
        for field in fields {
            copy(&mut mended, proposal, field);
        }
        mended
    };
    let Some(enough) =
        (1..=order.len()).find(|count| !is_there(&with(order.get(..*count).unwrap_or_default())))
    else {
        return Ok(BTreeMap::new());
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
    Ok(values)
}
