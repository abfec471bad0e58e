//! Memory kept for the system, node by node.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use k8s_quantity::{Format, Quantity};
use pod_spec::{ResourceList, ResourceName};
use topology_model::{NodeId, Nodes};

use crate::policy::{ConfigError, OtherSum};

/// What is kept of one node: one entry of the kubelet's `reservedMemory`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reservation {
    /// The node.
    pub node: NodeId,
    /// How much of `memory` and of each size of huge pages.
    pub limits: ResourceList,
}

/// The whole list, in its order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reservations(pub Vec<Reservation>);

/// Whether a memory manager cares about the resource.
pub(crate) fn is_memory(resource: &ResourceName) -> bool {
    resource.as_str() == "memory" || resource.is_hugepages()
}

impl Reservations {
    /// Checks the list against a machine and what the node keeps for itself, and gives bytes per node and resource.
    /// Of two entries for one node and resource the sum counts both, and the node loses the last alone.
    pub(crate) fn amounts(
        &self,
        nodes: &Nodes,
        node_allocatable: &ResourceList,
    ) -> Result<BTreeMap<(NodeId, ResourceName), u64>, ConfigError> {
        if let Some(missing) = self.0.iter().find(|kept| nodes.index_of(kept.node).is_none()) {
            return Err(ConfigError::UnknownNode(missing.node));
        }
        self.check_sums(node_allocatable)?;
        let mut amounts = BTreeMap::new();
        for (node, resource, amount) in self.limits() {
            let bytes = amount.as_int64().ok_or(ConfigError::NotInt64)?;
            amounts.insert((node, resource.clone()), bytes.cast_unsigned());
        }
        let memory = amounts.iter().filter(|((_, resource), _)| resource.as_str() == "memory");
        if memory.fold(0_u64, |sum, (_, bytes)| sum.wrapping_add(*bytes)) == 0 {
            return Err(ConfigError::NothingReserved);
        }
        Ok(amounts)
    }

    fn check_sums(&self, node_allocatable: &ResourceList) -> Result<(), ConfigError> {
        let zero = || Quantity::from_units(0, Format::DecimalSi);
        // Each sum starts from the newest amount, so it is written as the last one is.
        let mut sums = ResourceList::new();
        for (_, resource, amount) in self.limits() {
            let older = sums.get(resource).cloned().unwrap_or_else(zero);
            sums.insert(resource.clone(), amount + &older);
        }
        let expected = node_allocatable.iter().filter(|(resource, _)| is_memory(resource));
        for (resource, amount) in expected {
            sums.entry(resource.clone()).or_insert_with(zero);
            let sum = &sums[resource];
            if sum != amount {
                return Err(mismatch(resource, sum.clone(), amount.clone()));
            }
        }
        for (resource, sum) in &sums {
            if !(node_allocatable.contains_key(resource) && is_memory(resource)) {
                let expected = node_allocatable.get(resource).cloned().unwrap_or_else(zero);
                if *sum != expected {
                    return Err(mismatch(resource, sum.clone(), expected));
                }
            }
        }
        Ok(())
    }

    fn limits(&self) -> impl Iterator<Item = (NodeId, &ResourceName, &Quantity)> {
        self.0
            .iter()
            .flat_map(|kept| kept.limits.iter().map(move |(resource, amount)| (kept.node, resource, amount)))
    }
}

fn mismatch(resource: &ResourceName, sum: Quantity, expected: Quantity) -> ConfigError {
    ConfigError::OtherSum(Box::new(OtherSum { resource: resource.clone(), sum, expected }))
}
