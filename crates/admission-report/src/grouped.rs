//! Memory that is free and cannot be allocated, since its NUMA nodes serve other pods alone or in a group.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use memory_manager::{Bound, Enough, HeldBack};
use numa_bitmask::NodeMask;
use topology_admission::{ResourceTrace, Standing, UnitTrace};
use topology_model::{NodeId, NodeIds};

use crate::closed::Closed;
use crate::facts::{Facts, NamedPod};
use crate::resource::Resource;
use crate::words::{and_more, verb};

/// So many pods of one group, and so many groups, are named.
const MOST_NAMED: usize = 3;

/// Nodes in use that other requests cannot have: `NUMA 1 is grouped with NUMA 0 by pod large`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BoundNodes {
    /// The nodes in question.
    pub nodes: NodeIds,
    /// With which they serve together; empty: they serve alone.
    pub grouped_with: NodeIds,
    /// The pods that have memory there.
    pub pods: Vec<NamedPod>,
}

/// Nodes with enough free memory that they do not give alone, since each belongs to a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupedMemory {
    /// The groups; at least one.
    pub groups: Vec<BoundNodes>,
}

/// Nodes that have enough free memory for a request, and may not serve it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeldBackMemory {
    /// The nodes.
    pub nodes: NodeIds,
    /// Whether one is enough.
    pub sufficiency: Sufficiency,
    /// Who uses them; at least one.
    pub bound: Vec<BoundNodes>,
}

/// Whether one of some nodes has enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sufficiency {
    /// Each has enough alone.
    Each,
    /// All have enough together, and none alone.
    Together,
}

impl Facts<'_> {
    /// Where there is enough memory for the refused unit, and who is in the way.
    pub(crate) fn held_back(&self) -> Option<HeldBackMemory> {
        let HeldBack { enough, bound } = self.trace.held_back.as_ref()?;
        let (nodes, sufficiency) = match *enough {
            Enough::EachOf(nodes) => (nodes, Sufficiency::Each),
            Enough::Together(nodes) => (nodes, Sufficiency::Together),
        };
        let bound = bound.iter().map(|bound| self.bound_nodes(bound, *enough)).collect();
        Some(HeldBackMemory { nodes: self.listed(nodes), sufficiency, bound })
    }

    /// The groups of nodes with free memory that `unit` asks for and that they do not give alone.
    pub(crate) fn grouped_memory(&self, unit: &UnitTrace) -> Option<GroupedMemory> {
        let is_memory = |row: &&ResourceTrace| Resource::from(*row).is_memory();
        let rows: Vec<&ResourceTrace> = unit.resources.iter().filter(is_memory).collect();
        let is_closed = |node| rows.iter().any(|row| unit.standing(row, node) == Standing::Closed);
        let closed: NodeMask =
            self.nodes().iter().map(|(index, _)| index).filter(|index| is_closed(*index)).collect();
        // The group can be one of this pod's own containers.
        let found = [self.before, self.after].map(|ledger| ledger.memory().map(|held| held.bound(closed)));
        let bound = found.into_iter().flatten().find(|bound| bound.iter().any(is_group))?;
        let groups = bound.iter().filter(|bound| is_group(bound));
        let groups = groups.map(|bound| self.bound_nodes(bound, Enough::EachOf(closed)));
        Some(GroupedMemory { groups: groups.collect() })
    }

    fn bound_nodes(&self, bound: &Bound, enough: Enough) -> BoundNodes {
        let wanted = match enough {
            Enough::EachOf(nodes) => bound.nodes & nodes,
            Enough::Together(_) => bound.nodes,
        };
        let partners = match bound.nodes.first() {
            _ if !is_group(bound) => NodeMask::EMPTY,
            // That one is grouped with the others is as true the other way round.
            Some(first) if wanted == bound.nodes => NodeMask::single(first),
            _ => bound.nodes - wanted,
        };
        BoundNodes {
            nodes: self.listed(bound.nodes - partners),
            grouped_with: self.listed(partners),
            pods: bound.pods.iter().map(|pod| self.named(pod)).collect(),
        }
    }
}

fn is_group(bound: &Bound) -> bool {
    bound.nodes.len() > 1
}

impl GroupedMemory {
    /// What keeps the memory of a node from serving alone.
    pub(crate) fn closed(&self, node: NodeId) -> Option<Closed> {
        let bound = self
            .groups
            .iter()
            .find(|bound| bound.nodes.iter().chain(bound.grouped_with.iter()).any(|other| other == node))?;
        let others = bound.nodes.iter().chain(bound.grouped_with.iter()).filter(|other| *other != node);
        let others: NodeIds = others.collect();
        Some(if others.is_empty() { Closed::UsedAlone } else { Closed::Grouped(others) })
    }
}

impl fmt::Display for BoundNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nodes, grouped_with, pods } = self;
        write!(f, "NUMA {nodes} {} ", verb(nodes.len(), "is", "are"))?;
        if grouped_with.is_empty() {
            f.write_str("used alone")?;
        } else {
            write!(f, "grouped with NUMA {grouped_with}")?;
        }
        if pods.is_empty() {
            return Ok(());
        }
        write!(f, " by {} {}", verb(pods.len(), "pod", "pods"), and_more(pods, MOST_NAMED, " and "))
    }
}

impl fmt::Display for GroupedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups = and_more(&self.groups, MOST_NAMED, ", ");
        write!(f, "{groups}; memory of a group serves only requests that need all its NUMA nodes")
    }
}

impl fmt::Display for HeldBackMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nodes, sufficiency, bound } = self;
        let have = verb(nodes.len(), "has", "have");
        let rule = match sufficiency {
            Sufficiency::Each => alloc::format!(
                "enough{} alone, but nodes over which a pod's memory is spread are a group, and serve only requests that need them all",
                verb(nodes.len(), "", " each")
            ),
            Sufficiency::Together => String::from("enough together, but a node in use joins no others"),
        };
        write!(f, "NUMA {nodes} {have} {rule}: {}", and_more(bound, MOST_NAMED, ", "))
    }
}
