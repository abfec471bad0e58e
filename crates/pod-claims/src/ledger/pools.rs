//! Pools of a node from which nothing can be allocated: incomplete or invalid ones.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use dra_model::{Features, Implementation, Node, PoolState, ResourceSlice, node_pools};

/// A sentence for each. An error while pools are gathered is empty here: the decision reports it.
pub(super) fn unusable(
    slices: &[ResourceSlice],
    node: &Node,
    features: Features,
    implementation: Implementation,
) -> Vec<String> {
    let listed: Vec<&ResourceSlice> = slices.iter().collect();
    let pools = node_pools(&listed, node, features, implementation).unwrap_or_default();
    let unusable = pools.into_iter().filter_map(|pool| {
        let name = format!("pool {}/{}", pool.driver, pool.name);
        match &pool.state {
            PoolState::Complete(_) => None,
            PoolState::Invalid(fault) => {
                Some(format!("{name} is invalid: {fault}; none of its devices is allocated"))
            }
            PoolState::Incomplete => {
                let of_pool =
                    || slices.iter().filter(|slice| slice.driver == *pool.driver && slice.pool.name == *pool.name);
                let generation = of_pool().map(|slice| slice.pool.generation).max().unwrap_or_default();
                let mut newest = of_pool().filter(|slice| slice.pool.generation == generation);
                let announced = newest.clone().next().map_or(0, |slice| slice.pool.slice_count);
                let found = newest.by_ref().count();
                Some(format!(
                    "{name} is incomplete: {found} of {announced} slices of generation {generation} are there; none of its \
                     devices is allocated"
                ))
            }
        }
    });
    unusable.collect()
}
