//! What was looked at on the way to a verdict: for every unit what it asked, what each node could give, and the
//! merged hint.

use alloc::vec::Vec;

use numa_bitmask::NodeMask;
use pod_spec::{ContainerName, ResourceName, Unit};
use topology_hint::{Answer, Answers};
use topology_policy::Merged;

use crate::ledger::Ledger;
use crate::node::Node;

/// The whole way of one attempt.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The units in the order in which they were served; those after a refusal are missing.
    pub units: Vec<UnitTrace>,
}

/// Which unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UnitName {
    /// One container.
    Container(ContainerName),
    /// The pod as a whole.
    Pod,
}

/// One merge.
#[derive(Clone, Debug)]
pub struct UnitTrace {
    /// Whom it was made for.
    pub unit: UnitName,
    /// One row for each resource with a NUMA affinity that the unit asks for.
    pub resources: Vec<ResourceTrace>,
    /// The merged hint; `None` if the merge had no answer or the policy is `none`.
    pub merged: Option<Merged>,
}

/// One resource of a unit.
#[derive(Clone, Debug)]
pub struct ResourceTrace {
    /// Its name.
    pub resource: ResourceName,
    /// How much is asked and what the nodes have; `None` for a provider of your own, which tells no amounts.
    pub amounts: Option<Amounts>,
    /// The single nodes that the provider accepts.
    pub accepted: NodeMask,
    /// The size of the smallest node set that it accepts; `None` if it accepts none, or has no opinion.
    pub narrowest: Option<u32>,
}

/// Amounts of one resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Amounts {
    /// How much is asked.
    pub asked: u64,
    /// What each node has, by position.
    pub nodes: Vec<Cell>,
}

/// What one node has of one resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cell {
    /// What a pod could still get there.
    pub free: u64,
    /// What pods could get there if the node were empty.
    pub allocatable: u64,
}

impl UnitTrace {
    pub(crate) fn new(
        node: &Node,
        ledger: &Ledger,
        unit: Unit<'_>,
        answers: &Answers,
        merged: Option<Merged>,
    ) -> Self {
        let name = match unit {
            Unit::Container(_, container) => UnitName::Container(container.name.clone()),
            Unit::Pod(_) => UnitName::Pod,
        };
        let resources = answers.iter().map(|(resource, answer)| {
            let accepts = |single: NodeMask| match answer {
                Answer::NoOpinion => true,
                Answer::Impossible => false,
                Answer::Family(family) => family.accepts(single).is_some(),
                Answer::List(list) => {
                    list.iter().any(|listed| listed.hint.affinity.nodes().is_none_or(|mask| mask == single))
                }
            };
            ResourceTrace {
                resource: resource.clone(),
                amounts: cpu_amounts(node, ledger, unit).filter(|_| resource.as_str() == "cpu"),
                accepted: node.nodes.all().iter().filter(|single| accepts((*single).into())).collect(),
                narrowest: match answer {
                    Answer::NoOpinion | Answer::Impossible => None,
                    Answer::Family(family) => family.narrowest(),
                    Answer::List(list) => list.iter().filter_map(|listed| listed.width()).min(),
                },
            }
        });
        Self { unit: name, resources: resources.collect(), merged }
    }
}

fn cpu_amounts(node: &Node, ledger: &Ledger, unit: Unit<'_>) -> Option<Amounts> {
    let (policy, held) = (node.cpus.as_ref()?, ledger.cpus.as_ref()?);
    let mut nodes = alloc::vec![Cell::default(); node.nodes.len()];
    for on_node in policy.on_nodes(held, &unit.pod().uid) {
        for index in on_node.node {
            if let Some(cell) = nodes.get_mut(index.get()) {
                *cell = Cell { free: on_node.free as u64, allocatable: on_node.allocatable as u64 };
            }
        }
    }
    Some(Amounts { asked: policy.asked(unit)? as u64, nodes })
}
