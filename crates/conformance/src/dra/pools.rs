//! Pools as a node sees them.

use anyhow::Result;
use dra_model::{Implementation, NodePool, PoolDevices, PoolState, ResourceSlice, node_pools};
use serde_json::{Value, json};

use super::objects;
use crate::case::{Case, Outcome};
use crate::corpus::Corpus;

pub(super) fn pools(_: &Corpus, case: &Case) -> Outcome {
    match seen(&case.input) {
        Ok(seen) => case.compare(seen),
        Err(error) => Outcome::unreadable(error),
    }
}

fn seen(input: &Value) -> Result<Value> {
    let slices = objects::slices(&input["slices"])?;
    let features = objects::features(&input["features"])?;
    let implementation = objects::implementation(&input["implementation"], features)?;
    let slices: Vec<&ResourceSlice> = slices.iter().collect();
    Ok(match node_pools(&slices, &objects::node(&input["node"]), features, implementation) {
        Ok(pools) => {
            let mut pools: Vec<Value> = pools.iter().map(described).collect();
            if implementation == Implementation::Stable {
                // That copy goes through pools in random order; the recorded answer is sorted by its text.
                pools.sort_by_cached_key(ToString::to_string);
            }
            json!({ "pools": pools })
        }
        Err(error) => json!({ "error": format!("gather pool information: {error}") }),
    })
}

fn described(pool: &NodePool<'_>) -> Value {
    let mut described = json!({ "driver": pool.driver.as_str(), "pool": pool.name.as_str() });
    match &pool.state {
        PoolState::Incomplete => described["incomplete"] = json!(true),
        PoolState::Invalid(fault) => described["invalid"] = json!(fault.to_string()),
        PoolState::Complete(devices) => describe_devices(devices, &mut described),
    }
    described
}

fn describe_devices(pool: &PoolDevices<'_>, described: &mut Value) {
    let names = |slices: &[&ResourceSlice]| -> Vec<String> {
        let of_slice = |slice: &&ResourceSlice| -> Vec<String> {
            let name = &slice.metadata.name;
            slice.devices().iter().map(|device| format!("{name}:{}", device.name)).collect()
        };
        slices.iter().flat_map(of_slice).collect()
    };
    let sets: Vec<String> = pool.counter_sets.keys().map(ToString::to_string).collect();
    for (field, list) in
        [("devices", names(&pool.slices)), ("elsewhere", names(&pool.elsewhere)), ("counterSets", sets)]
    {
        if !list.is_empty() {
            described[field] = json!(list);
        }
    }
}
