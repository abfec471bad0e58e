//! Memory kept for the system, node by node.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use k8s_quantity::{Format, Quantity};
use pod_spec::{ResourceList, ResourceName};
use thiserror::Error;
use topology_model::{NodeId, Nodes};

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

/// Why there is no policy for this machine and configuration. The texts are the kubelet's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Memory of a node that the machine lacks is reserved.
    #[error(
        "the reserved memory configuration references a NUMA node {0} that does not exist on this machine"
    )]
    UnknownNode(NodeId),
    /// The reservations do not sum to what the node keeps for itself.
    #[error(transparent)]
    OtherSum(#[from] OtherSums),
    /// A reserved amount is no 64-bit integer in the form in which it is written.
    #[error("could not covert a variable of type Quantity to int64")]
    NotInt64,
    /// No memory is reserved.
    #[error("[memorymanager] you should specify the system reserved memory")]
    NothingReserved,
}

impl ConfigError {
    /// Every error that the kubelet could report instead, this one first: of several wrong sums it tells any.
    #[must_use]
    pub fn alternatives(self) -> Vec<Self> {
        match self {
            Self::OtherSum(OtherSums(sums)) => {
                sums.into_iter().map(|sum| Self::OtherSum(OtherSums(vec![sum]))).collect()
            }
            only => vec![only],
        }
    }
}

/// Every resource of which that is so, at least one. The kubelet tells any, here the first.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{}", self.shown())]
pub struct OtherSums(Vec<OtherSum>);

impl OtherSums {
    /// The resources with their sums.
    pub fn iter(&self) -> impl Iterator<Item = &OtherSum> {
        self.0.iter()
    }

    fn shown(&self) -> String {
        self.0.first().map(ToString::to_string).unwrap_or_default()
    }
}

/// The reservations of a resource do not sum to what the node keeps of it. The text is the kubelet's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "the total amount \"{sum}\" of type \"{resource}\" is not equal to the value \"{expected}\" determined by Node Allocatable feature"
)]
pub struct OtherSum {
    /// The resource.
    pub resource: ResourceName,
    /// What the reservations sum to.
    pub sum: Quantity,
    /// What the node keeps.
    pub expected: Quantity,
}

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

    fn check_sums(&self, node_allocatable: &ResourceList) -> Result<(), OtherSums> {
        let zero = || Quantity::from_units(0, Format::DecimalSi);
        // Each sum starts from the newest amount, so it is written as the last one is.
        let mut sums = ResourceList::new();
        for (_, resource, amount) in self.limits() {
            let older = sums.get(resource).cloned().unwrap_or_else(zero);
            sums.insert(resource.clone(), amount + &older);
        }
        let kept = node_allocatable.keys().filter(|resource| is_memory(resource));
        let (memory, others): (BTreeSet<_>, _) = kept
            .chain(sums.keys())
            .partition(|resource| node_allocatable.contains_key(*resource) && is_memory(resource));
        let mut wrong = Vec::new();
        for resource in memory.into_iter().chain(others) {
            let of = |list: &ResourceList| list.get(resource).cloned().unwrap_or_else(zero);
            let (sum, expected) = (of(&sums), of(node_allocatable));
            if sum != expected {
                wrong.push(OtherSum { resource: resource.clone(), sum, expected });
            }
        }
        if wrong.is_empty() { Ok(()) } else { Err(OtherSums(wrong)) }
    }

    fn limits(&self) -> impl Iterator<Item = (NodeId, &ResourceName, &Quantity)> {
        self.0
            .iter()
            .flat_map(|kept| kept.limits.iter().map(move |(resource, amount)| (kept.node, resource, amount)))
    }
}
