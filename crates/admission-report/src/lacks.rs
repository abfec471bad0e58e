//! What each NUMA node lacks for a unit that no node can serve alone.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use numa_bitmask::NodeIndex;
use topology_admission::{ResourceTrace, Standing, UnitTrace};
use topology_model::{NodeId, NodeIds};

use crate::facts::Facts;
use crate::resource::Resource;
use crate::words::{joined, verb};

/// So many groups are listed, those that lack the fewest resources first.
const MOST_GROUPS: usize = 3;

/// What the nodes lack, those that lack the same together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lacks {
    /// Nodes that have some of what is asked for; those that lack the fewest resources first.
    pub groups: Vec<NodeGroup>,
    /// Nodes that have nothing of it.
    pub without: NodeIds,
}

/// Nodes that lack the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeGroup {
    /// The nodes.
    pub nodes: NodeIds,
    /// What each of them lacks. Amounts are those of the first node; the others' are shown alike.
    pub lacks: Vec<Lack>,
}

/// A resource that a node cannot serve alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lack {
    /// Which.
    pub resource: Resource,
    /// Why not.
    pub deficit: Deficit,
}

/// Why a node cannot serve a resource alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deficit {
    /// It has so much too little: CPUs, bytes or devices.
    Amount(u64),
    /// It has enough devices, and they are near other nodes too.
    NotNear,
    /// It has enough CPUs, and init containers have left some elsewhere, which are counted first.
    HandedOn,
    /// It has enough memory, in a group of nodes that serve together only.
    Grouped,
}

impl Lacks {
    /// What the nodes lack now.
    pub(crate) fn new(facts: &Facts<'_>, unit: &UnitTrace) -> Self {
        Self::of(facts, unit, |row, index| unit.standing(row, index))
    }

    /// What the nodes would lack if nothing ran.
    pub(crate) fn on_empty_node(facts: &Facts<'_>, unit: &UnitTrace) -> Self {
        let standing = |row: &ResourceTrace, index: NodeIndex| {
            let lack = row.amounts.as_ref().map_or(0, |amounts| {
                let here = amounts.nodes.get(index.get()).map_or(0, |cell| cell.allocatable);
                amounts.asked.saturating_sub(here.saturating_add(amounts.elsewhere.allocatable))
            });
            if lack == 0 { Standing::Fits } else { Standing::Lacks(lack) }
        };
        Self::of(facts, unit, standing)
    }

    /// Whether each node lacks something.
    pub(crate) fn are_everywhere(&self) -> bool {
        self.groups.iter().all(|group| !group.lacks.is_empty())
    }

    fn of(
        facts: &Facts<'_>,
        unit: &UnitTrace,
        standing: impl Fn(&ResourceTrace, NodeIndex) -> Standing,
    ) -> Self {
        let rows = &unit.resources;
        let mut groups: Vec<(String, Vec<Lack>, Vec<NodeId>)> = Vec::new();
        let mut without: Vec<NodeId> = Vec::new();
        for (index, id) in facts.nodes().iter() {
            let standings: Vec<Standing> = rows.iter().map(|row| standing(row, index)).collect();
            if rows.iter().zip(&standings).all(|(row, standing)| has_none(row, *standing)) {
                without.push(id);
                continue;
            }
            let lacks: Vec<Lack> =
                rows.iter().zip(standings).filter_map(|(row, standing)| Lack::new(row, standing)).collect();
            // Amounts that are shown alike are alike.
            let text = joined(&lacks, " and ");
            match groups.iter_mut().find(|(same, ..)| *same == text) {
                Some((.., ids)) => ids.push(id),
                None => groups.push((text, lacks, [id].into())),
            }
        }
        groups.sort_by_key(|(_, lacks, _)| lacks.len());
        let groups =
            groups.into_iter().map(|(_, lacks, ids)| NodeGroup { nodes: ids.into_iter().collect(), lacks });
        Self { groups: groups.collect(), without: without.into_iter().collect() }
    }
}

/// Whether all that is asked for is missing.
fn has_none(row: &ResourceTrace, standing: Standing) -> bool {
    row.amounts.as_ref().is_some_and(|amounts| standing == Standing::Lacks(amounts.asked))
}

impl Lack {
    fn new(row: &ResourceTrace, standing: Standing) -> Option<Self> {
        let resource = Resource::from(row);
        let deficit = match (standing, &resource) {
            (Standing::Fits, _) => return None,
            (Standing::Lacks(lack), _) => Deficit::Amount(lack),
            (Standing::Closed, Resource::Extended(_) | Resource::Claims(_)) => Deficit::NotNear,
            (Standing::Closed, Resource::Cpu) => Deficit::HandedOn,
            (Standing::Closed, _) => Deficit::Grouped,
        };
        Some(Self { resource, deficit })
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, deficit } = self;
        match deficit {
            Deficit::Amount(amount) if matches!(resource, Resource::Claims(_)) => {
                f.write_str(&resource.counted(&amount.to_string()))
            }
            Deficit::Amount(amount) => write!(f, "{} {resource}", resource.amount(*amount)),
            Deficit::NotNear => write!(f, "{resource} that are near enough"),
            Deficit::HandedOn => write!(f, "the {resource} that init containers left"),
            Deficit::Grouped => write!(f, "{resource} that is not bound together with other NUMA nodes"),
        }
    }
}

impl fmt::Display for NodeGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nodes, lacks } = self;
        let lack = verb(nodes.len(), "lacks", "each lack");
        write!(f, "NUMA {nodes} {lack} {}", joined(lacks, " and "))
    }
}

impl fmt::Display for Lacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { groups, without } = self;
        let mut parts: Vec<String> = groups.iter().take(MOST_GROUPS).map(NodeGroup::to_string).collect();
        let more: usize = groups.iter().skip(MOST_GROUPS).map(|group| group.nodes.len()).sum();
        if more > 0 {
            parts.push(format!("{more} more lack other things"));
        }
        if !without.is_empty() {
            let have = verb(without.len(), "has", "have");
            parts.push(format!("NUMA {without} {have} nothing of it"));
        }
        f.write_str(&parts.join(", "))
    }
}
