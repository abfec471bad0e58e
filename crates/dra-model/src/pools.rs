//! Pools of devices as a node sees them: which slices count, whether a pool is complete, and what is wrong with it.
//!
//! A pool is what one driver publishes under one name. Its slices have a generation; only those of the highest count, and
//! each says how many there are. The rule is that of kube-scheduler's allocator:
//!
//! 1. Slices that are not for the node are passed over, and of a pool's others all but those of the highest generation.
//!    Those that name the node come before those for several nodes.
//! 2. A pool is complete if it has as many of these as the first of them says. If not, all slices of the cluster are looked
//!    at: one of a newer generation, on whichever node, means that the pool is being replaced, and it is ignored. Else the
//!    pool is complete if all slices of its generation are as many; those for other nodes are kept apart.
//! 3. A complete pool is invalid if names of devices or counter sets are there twice, or a device draws on counters that do
//!    not exist. Incomplete pools are not looked at.
//! 4. Pools come in the order of driver and name. Those in which any device has binding conditions come last.

mod build;
mod bad_selector;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::fmt;

pub use self::bad_selector::BadSelection;
use crate::{
    CounterName, CounterSet, CounterSetName, Device, DeviceName, DriverName, Feature, Features,
    Implementation, Node, PoolName, ResourceSlice,
};

/// A pool with devices for a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodePool<'a> {
    /// Its driver.
    pub driver: &'a DriverName,
    /// Its name.
    pub name: &'a PoolName,
    /// What can be done with it.
    pub state: PoolState<'a>,
}

/// What can be done with a pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PoolState<'a> {
    /// Slices are missing or left over: none of its devices is allocated.
    Incomplete,
    /// Its slices contradict each other: none of its devices is allocated.
    Invalid(PoolFault),
    /// Its devices can be allocated.
    Complete(PoolDevices<'a>),
}

/// What a complete pool has.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PoolDevices<'a> {
    /// Slices with devices for the node, in the order of their names; with `stable` as they are listed. Of a slice whose
    /// devices say their nodes, some may be for others.
    pub slices: Vec<&'a ResourceSlice>,
    /// Slices with devices for other nodes, which draw on the same counters. Known only if the pool has any.
    pub elsewhere: Vec<&'a ResourceSlice>,
    /// Counter sets of the pool.
    pub counter_sets: BTreeMap<&'a CounterSetName, &'a CounterSet>,
}

/// Why a pool is invalid. Displays as the allocator's reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PoolFault {
    /// Two devices for the node have this name.
    DuplicateDevice(DeviceName),
    /// Two counter sets have this name.
    DuplicateCounterSet(CounterSetName),
    /// A device draws on a set that there is not.
    NoCounterSet(CounterSetName),
    /// A device draws on a counter that its set does not have.
    NoCounter {
        /// The counter.
        counter: CounterName,
        /// The set.
        set: CounterSetName,
    },
}

impl fmt::Display for PoolFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateDevice(name) => write!(f, "duplicate device name {name}"),
            Self::DuplicateCounterSet(name) => write!(f, "duplicate counter set name {name}"),
            Self::NoCounterSet(name) => write!(f, "counter set {name} not found"),
            Self::NoCounter { counter, set } => write!(f, "counter {counter} not found in counter set {set}"),
        }
    }
}

impl<'a> PoolDevices<'a> {
    /// Devices of [`Self::slices`], with their slices, in the order in which they are tried.
    pub fn devices(&self) -> impl Iterator<Item = (&'a ResourceSlice, &'a Device)> + '_ {
        self.slices.iter().flat_map(|slice| slice.devices().iter().map(move |device| (*slice, device)))
    }

    fn has_binding_conditions(&self) -> bool {
        self.devices().any(|(_, device)| device.has_binding_conditions())
    }
}

/// The pools of a node among the slices of a cluster, which are in the order in which they are listed: by driver and name, or
/// for [`Implementation::Stable`] in the order in which their slices are seen, which is the one of its orders that is most
/// frequent.
///
/// # Errors
/// [`BadSelection`]: a node selector cannot be parsed, which stops the pod on every node.
pub fn node_pools<'a>(
    slices: &[&'a ResourceSlice],
    node: &Node,
    features: Features,
    implementation: Implementation,
) -> Result<Vec<NodePool<'a>>, BadSelection> {
    let view = View { slices, features, implementation };
    let mut pools: Vec<NodePool<'a>> = Vec::new();
    for ((driver, name), of_node) in view.of_node(node)? {
        let state = view.state(driver, name, of_node);
        pools.extend(state.map(|state| NodePool { driver, name, state }));
    }
    if implementation == Implementation::Stable {
        // That copy walks a Go map from an entry at random. One of at most eight entries is walked round in the order in
        // which they were added; from the first of them at least as often as from each other.
        pools.sort_by_cached_key(|pool| view.first_of(pool, node));
    } else {
        // The sort is stable: both groups keep the order of names.
        pools.sort_by_key(
            |pool| matches!(&pool.state, PoolState::Complete(devices) if devices.has_binding_conditions()),
        );
    }
    Ok(pools)
}

/// The devices that slices have for a node, each with its slice: of each pool those of the highest generation among the slices for
/// the node, whether or not the pool can be allocated from. A slice with a node selector that cannot be parsed is passed over.
#[must_use]
pub fn node_devices<'a>(
    slices: &'a [ResourceSlice],
    node: &Node,
    features: Features,
) -> Vec<(&'a ResourceSlice, &'a Device)> {
    let slices: Vec<&ResourceSlice> = slices.iter().collect();
    let view = View { slices: &slices, features, implementation: Implementation::of(features) };
    let Ok::<_, Infallible>(pools) = view.newest(node, |slice| Ok(view.is_for(slice, node).unwrap_or(false)));
    let devices = pools.into_values().flatten().flat_map(|slice| {
        let is_here = |device: &&Device| {
            let nodes = if slice.selects_nodes_per_device() { &device.nodes } else { &slice.nodes };
            nodes.matches(node) == Ok(true)
        };
        slice.devices().iter().filter(is_here).map(move |device| (slice, device))
    });
    devices.collect()
}

/// The slices of a cluster, as one copy of the allocator looks at them.
struct View<'s, 'a> {
    slices: &'s [&'a ResourceSlice],
    features: Features,
    implementation: Implementation,
}

type SlicesByPool<'a> = BTreeMap<(&'a DriverName, &'a PoolName), Vec<&'a ResourceSlice>>;

impl<'a> View<'_, 'a> {
    /// The slices for a node, of each pool those of the highest generation.
    fn of_node(&self, node: &Node) -> Result<SlicesByPool<'a>, BadSelection> {
        self.newest(node, |slice| self.is_for(slice, node))
    }

    /// The slices of which `is_for` says that they are for a node, of each pool those of the highest generation among them.
    fn newest<E>(
        &self,
        node: &Node,
        is_for: impl Fn(&ResourceSlice) -> Result<bool, E>,
    ) -> Result<SlicesByPool<'a>, E> {
        let mut pools = SlicesByPool::new();
        for slice in self.in_order(node) {
            if !self.passes_over(slice) && is_for(slice)? {
                let pool = pools.entry((&slice.driver, &slice.pool.name)).or_default();
                let generation = pool.first().map_or(slice.pool.generation, |first| first.pool.generation);
                if slice.pool.generation > generation {
                    pool.clear();
                }
                if slice.pool.generation >= generation {
                    pool.push(slice);
                }
            }
        }
        Ok(pools)
    }

    /// At which place of the list the first slice of a pool is that is for a node.
    fn first_of(&self, pool: &NodePool<'_>, node: &Node) -> Option<usize> {
        let is_first = |slice: &&ResourceSlice| {
            slice.driver == *pool.driver
                && slice.pool.name == *pool.name
                && !self.passes_over(slice)
                && self.is_for(slice, node) == Ok(true)
        };
        self.slices.iter().position(is_first)
    }

    /// The slices that may be for a node. All copies but `stable` look at those that name the node first.
    fn in_order(&self, node: &Node) -> Vec<&'a ResourceSlice> {
        if self.implementation == Implementation::Stable {
            return self.slices.to_vec();
        }
        let name = |slice: &&&'a ResourceSlice| slice.nodes.node_name.as_deref().unwrap_or_default();
        let named = self.slices.iter().filter(|slice| !name(slice).is_empty() && name(slice) == node.name);
        let shared = self.slices.iter().filter(|slice| name(slice).is_empty());
        named.chain(shared).copied().collect()
    }

    /// Slices with what is not enabled do not exist.
    fn passes_over(&self, slice: &ResourceSlice) -> bool {
        let is_partitioned = slice.per_device_node_selection.is_some() || !slice.shared_counters().is_empty();
        (is_partitioned && !self.features.has(Feature::PartitionableDevices))
            || self.has_unknown_groups(slice)
    }

    fn has_unknown_groups(&self, slice: &ResourceSlice) -> bool {
        let consumes = slice.devices().iter().flat_map(|device| &device.consumes);
        !self.features.has(Feature::DeviceCompatibilityGroups)
            && consumes.into_iter().any(|consumption| !consumption.compatibility_groups.is_empty())
    }

    fn is_for(&self, slice: &ResourceSlice, node: &Node) -> Result<bool, BadSelection> {
        // Counters are those of all nodes.
        if self.implementation == Implementation::Stable && !slice.shared_counters().is_empty() {
            return Ok(true);
        }
        if slice.nodes.selects() {
            return slice.nodes.matches(node).map_err(|error| BadSelection::of_slice(slice, error));
        }
        if !slice.selects_nodes_per_device() {
            return Ok(false);
        }
        for device in slice.devices() {
            if device.nodes.matches(node).map_err(|error| BadSelection::of_device(slice, device, error))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What can be done with a pool of which a node has these slices; `None`: it is being replaced.
    fn state(
        &self,
        driver: &DriverName,
        name: &PoolName,
        of_node: Vec<&'a ResourceSlice>,
    ) -> Option<PoolState<'a>> {
        let first = of_node.first()?;
        let (generation, count) = (first.pool.generation, first.pool.slice_count);
        let is_whole = |slices: &[&ResourceSlice]| i64::try_from(slices.len()) == Ok(count);
        if is_whole(&of_node) {
            return Some(self.build(of_node, &[]));
        }
        let of_pool = |slice: &&&ResourceSlice| slice.driver == *driver && slice.pool.name == *name;
        let mut all: Vec<&'a ResourceSlice> = self.slices.iter().filter(of_pool).copied().collect();
        if all.iter().any(|slice| slice.pool.generation > generation) {
            return None;
        }
        all.retain(|slice| slice.pool.generation == generation && !self.has_unknown_groups(slice));
        Some(if is_whole(&all) { self.build(of_node, &all) } else { PoolState::Incomplete })
    }
}

#[cfg(test)]
mod tests;
