//! A slice of a pool of devices.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use k8s_quantity::Quantity;

use crate::{
    CounterName, CounterSetName, Device, DriverName, Metadata, NodeSelection, PoolName, QualifiedName,
};

/// A `ResourceSlice`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ResourceSlice {
    /// `metadata`.
    pub metadata: Metadata,
    /// Who published it.
    pub driver: DriverName,
    /// The pool that it is a part of.
    pub pool: Pool,
    /// The nodes that can use its devices.
    pub nodes: NodeSelection,
    /// `perDeviceNodeSelection`: each device says its nodes.
    pub per_device_node_selection: Option<bool>,
    /// Its devices; `None` if the field is absent.
    pub devices: Option<Vec<Device>>,
    /// Counters that devices of the pool draw on; `None` if the field is absent. A slice has devices or counters.
    pub shared_counters: Option<Vec<CounterSet>>,
    /// `partitionTypeAttribute`: the attribute that names the type of a partition.
    pub partition_type: Option<QualifiedName>,
    /// `skipNodeOperations`: what a kubelet need not do for the devices.
    pub skip_node_operations: Vec<String>,
}

/// `spec.pool`: what a slice says of its pool.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pool {
    /// Name of the pool.
    pub name: PoolName,
    /// Only slices of the highest generation count.
    pub generation: i64,
    /// `resourceSliceCount`: how many slices the pool has in this generation.
    pub slice_count: i64,
}

/// A set of counters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CounterSet {
    /// Its name in the pool.
    pub name: CounterSetName,
    /// What each counter has.
    pub counters: BTreeMap<CounterName, Quantity>,
}

impl ResourceSlice {
    /// Its devices; none if it has counters.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        self.devices.as_deref().unwrap_or_default()
    }

    /// Its counters; none if it has devices.
    #[must_use]
    pub fn shared_counters(&self) -> &[CounterSet] {
        self.shared_counters.as_deref().unwrap_or_default()
    }

    /// Whether each device says its nodes.
    #[must_use]
    pub fn selects_nodes_per_device(&self) -> bool {
        self.per_device_node_selection == Some(true)
    }
}
