//! Pools from which nothing can be allocated: incomplete, of an older generation, or inconsistent.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use dra_model::{Features, Implementation, Node, PoolState, ResourceSlice, node_pools};
use pod_claims::ClusterObjects;

use crate::devices::{is_newest, is_of_pool};
use crate::findings::Warning;

/// Warnings about the pool of a slice.
pub(crate) fn warnings(objects: &ClusterObjects, slice: &ResourceSlice, features: Features) -> Vec<Warning> {
    let pool = format!("pool {}/{}", slice.driver, slice.pool.name);
    let generation = slice.pool.generation;
    if !is_newest(objects, slice) {
        let text = format!(
            "{pool} has slices of a higher generation than {generation}: kube-scheduler does not look at this one"
        );
        return Vec::from([Warning::new("spec.pool.generation", text)]);
    }
    let of_pool: Vec<&ResourceSlice> = objects
        .slices
        .iter()
        .filter(|other| is_of_pool(slice, other) && other.pool.generation == generation)
        .collect();
    let counts: BTreeSet<i64> = of_pool.iter().map(|other| other.pool.slice_count).collect();
    if counts.len() > 1 {
        let text = format!(
            "slices of {pool} in generation {generation} announce different numbers of slices: which one counts depends on \
             their order in kube-scheduler"
        );
        return Vec::from([Warning::new("spec.pool.resourceSliceCount", text)]);
    }
    if i64::try_from(of_pool.len()) != Ok(slice.pool.slice_count) {
        let text = format!(
            "{pool} is incomplete: {} of {} slices of generation {generation} are there. kube-scheduler allocates none of its \
             devices, and stops every pod that asks for all devices of any driver",
            of_pool.len(),
            slice.pool.slice_count
        );
        return Vec::from([Warning::new("spec.pool.resourceSliceCount", text)]);
    }
    let name = slice.nodes.node_name.clone().unwrap_or_default();
    let node = Node { name, ..Node::default() };
    let pools = node_pools(&of_pool, &node, features, Implementation::of(features)).unwrap_or_default();
    let invalid = pools.into_iter().filter_map(|found| match found.state {
        PoolState::Invalid(fault) => Some(Warning::new(
            "spec.pool",
            format!("{pool} is invalid: {fault}. kube-scheduler allocates none of its devices"),
        )),
        PoolState::Incomplete | PoolState::Complete(_) => None,
    });
    invalid.collect()
}
