//! Memory kept for the system, node by node.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;

use k8s_quantity::{Format, Quantity};
use pod_spec::{ResourceList, ResourceName};
use thiserror::Error;
use topology_model::{NodeId, Nodes};

use crate::policy::ConfigError;

/// What is kept of one node: one entry of the kubelet's `reservedMemory`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reservation {
    /// The node.
    pub node: NodeId,
    /// How much of `memory` and of each size of huge pages.
    pub limits: ResourceList,
}

/// The whole list. Displays as the kubelet shows its flag: `0:hugepages-2Mi=4Mi,memory=1Gi,1:memory=1Gi`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reservations(pub Vec<Reservation>);

/// What the kubelet's check of its configuration finds in a list, whatever the machine. The texts are the kubelet's.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Error)]
pub enum InvalidReservation {
    /// Neither memory nor huge pages.
    #[error(
        "invalid configuration: the limit type \"{resource}\" for NUMA node {node} is not supported, only [memory hugepages-<HugePageSize>] is accepted"
    )]
    Unsupported {
        /// The node.
        node: NodeId,
        /// What was to be kept of it.
        resource: ResourceName,
    },
    /// Nothing is kept.
    #[error(
        "invalid configuration: reserved memory may not be zero for NUMA node {node} and resource \"{resource}\""
    )]
    Zero {
        /// The node.
        node: NodeId,
        /// What was to be kept of it.
        resource: ResourceName,
    },
    /// Said before.
    #[error(
        "invalid configuration: the reserved memory has a duplicate value for NUMA node {node} and resource \"{resource}\""
    )]
    Repeated {
        /// The node.
        node: NodeId,
        /// What was to be kept of it.
        resource: ResourceName,
    },
}

/// Whether a memory manager cares about the resource.
pub(crate) fn is_memory(resource: &ResourceName) -> bool {
    resource.as_str() == "memory" || resource.is_hugepages()
}

impl Reservations {
    /// Everything that is wrong with the list itself, in its order. The kubelet does not start with any of it.
    #[must_use]
    pub fn problems(&self) -> Vec<InvalidReservation> {
        let mut problems = Vec::new();
        let mut seen: BTreeMap<(NodeId, &ResourceName), ()> = BTreeMap::new();
        for (node, resource, amount) in self.limits() {
            let name = || resource.clone();
            if !is_memory(resource) {
                problems.push(InvalidReservation::Unsupported { node, resource: name() });
            }
            if amount.is_zero() {
                problems.push(InvalidReservation::Zero { node, resource: name() });
            }
            if seen.insert((node, resource), ()).is_some() {
                problems.push(InvalidReservation::Repeated { node, resource: name() });
            }
        }
        problems
    }

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
    ConfigError::OtherSum { resource: resource.clone(), sum, expected }
}

impl fmt::Display for Reservations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown: Vec<_> = self.0.iter().map(alloc::string::ToString::to_string).collect();
        shown.sort_unstable();
        f.write_str(&shown.join(","))
    }
}

impl fmt::Display for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.node)?;
        let mut separator = "";
        for (resource, amount) in &self.limits {
            write!(f, "{separator}{resource}={amount}")?;
            separator = ",";
        }
        Ok(())
    }
}
