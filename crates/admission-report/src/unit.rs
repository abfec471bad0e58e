//! One merge of topology hints: what was asked, what each NUMA node has of it, and the merged node set.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use pod_spec::ContainerName;
use serde::{Serialize, Serializer};
use topology_admission::{self as admission, ResourceTrace, Standing, UnitName, UnitTrace};
use topology_model::{NodeId, NodeIds};

use crate::closed::Closed;
use crate::facts::{Facts, NamedPod};
use crate::grouped::GroupedMemory;
use crate::handed_on::HandedOnCpus;
use crate::json;
use crate::merge::MergeReport;
use crate::resource::Resource;
use crate::unchecked::UncheckedResource;
use crate::words::joined;

/// One merge: for a container, or for the pod as a whole.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UnitReport {
    /// `None`: the pod as a whole.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::some_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub container: Option<ContainerName>,
    /// The merged node set; `None` if any will do, or if the merge had no answer.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::some_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub nodes: Option<NodeIds>,
    /// Whether the merged hint is preferred.
    pub preferred: bool,
    /// What it asks for, in the order in which the managers were asked.
    pub resources: Vec<ResourceReport>,
    /// What it asks for and no device plugin has registered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_checked: Vec<UncheckedResource>,
    /// CPUs that it has to use before others, as init containers left them; `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::some_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub handed_on: Option<HandedOnCpus>,
    /// Why nodes with enough free memory do not give it alone; `None` if there are no such nodes.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::some_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub bound_memory: Option<GroupedMemory>,
    /// How the merge came out; `None` unless the trace has [`Detail::Merges`](admission::Detail).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<MergeReport>,
}

/// One resource of a unit.
#[derive(Clone, Debug)]
pub struct ResourceReport {
    /// Which.
    pub resource: Resource,
    /// CPUs, bytes or devices.
    pub asked: u64,
    /// What each node has, by ascending id.
    pub nodes: Vec<NodeCell>,
    /// Devices that are near several nodes at once, or near none; `None` if there are none.
    pub elsewhere: Option<Cell>,
}

/// One resource of a unit.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ResourceReport"))]
#[serde(rename_all = "camelCase")]
struct ResourceFields<'a> {
    /// Which.
    resource: &'a Resource,
    /// CPUs, bytes or devices.
    asked: u64,
    /// What each node has, by ascending id; of devices that are near several nodes or none only the nodes that have some.
    nodes: Vec<&'a NodeCell>,
    /// Devices that are near several nodes at once, or near none; `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    elsewhere: Option<&'a Cell>,
}

json::written_as!(ResourceReport, ResourceFields<'static>);

impl Serialize for ResourceReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_shown = |node: &&NodeCell| self.elsewhere.is_none() || node.cell.allocatable > 0;
        let fields = ResourceFields {
            resource: &self.resource,
            asked: self.asked,
            nodes: self.nodes.iter().filter(is_shown).collect(),
            elsewhere: self.elsewhere.as_ref(),
        };
        fields.serialize(serializer)
    }
}

/// What one NUMA node has of a resource.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeCell {
    /// Its id.
    #[serde(serialize_with = "json::node")]
    #[cfg_attr(feature = "schema", schemars(with = "i64"))]
    pub node: NodeId,
    /// Whether it could serve the unit alone; JSON has only whether it could, as `fits`.
    #[serde(rename = "fits", serialize_with = "json::fits")]
    #[cfg_attr(feature = "schema", schemars(with = "bool"))]
    pub standing: Standing,
    /// The amounts.
    #[serde(flatten)]
    pub cell: Cell,
    /// Why it does not serve the unit alone though it has enough; `None` if it serves it, or has too little.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json::some_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub closed: Option<Closed>,
}

/// What there is of a resource in one place.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Cell {
    /// What the pod could get now.
    pub free: u64,
    /// What pods could get if nothing ran.
    pub allocatable: u64,
    /// The other pods that hold what is not free there.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "json::texts")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub held_by: Vec<NamedPod>,
}

impl UnitReport {
    pub(crate) fn new(facts: &Facts<'_>, unit: &UnitTrace) -> Self {
        let hint = unit.merged.map(|merged| merged.hint);
        let bound_memory = facts.grouped_memory(unit);
        Self {
            container: match &unit.unit {
                UnitName::Container(name) => Some(name.clone()),
                UnitName::Pod => None,
            },
            nodes: hint.and_then(|hint| hint.affinity.nodes()).map(|mask| facts.listed(mask)),
            preferred: hint.is_some_and(topology_hint::Hint::is_preferred),
            resources: unit
                .resources
                .iter()
                .filter_map(|row| ResourceReport::new(facts, (unit, bound_memory.as_ref()), row))
                .collect(),
            not_checked: facts.unchecked_of_unit(&unit.unit),
            handed_on: unit.handed_on.as_ref().map(|handed_on| HandedOnCpus::new(facts, handed_on)),
            bound_memory,
            merge: unit.merge.as_ref().map(|merge| MergeReport::new(facts, merge)),
        }
    }

    /// How the merge came out: `NUMA 1, preferred: it alone is preferred by all`; `None` if the trace does not have it.
    #[must_use]
    pub fn outcome(&self) -> Option<String> {
        let merge = self.merge.as_ref()?;
        let why = merge.why.text();
        let preferred = if self.preferred { "preferred" } else { "not preferred" };
        Some(match (&self.nodes, merge.accepted) {
            (Some(nodes), true) => format!("NUMA {nodes}, {preferred}: {why}"),
            (None, true) => format!("any NUMA node, {preferred}: {why}"),
            (Some(nodes), false) => {
                format!("refused: the best answer is NUMA {nodes}, {preferred} ({why})")
            }
            (None, false) => format!("refused: {why}"),
        })
    }
}

impl ResourceReport {
    /// `None` for a provider of one's own, which has no amounts, and for devices of an unknown number.
    fn new(
        facts: &Facts<'_>,
        (unit, memory): (&UnitTrace, Option<&GroupedMemory>),
        row: &ResourceTrace,
    ) -> Option<Self> {
        let (resource, amounts) = (Resource::from(row), row.amounts.as_ref()?);
        // Which devices there are only their plugin knows: "none" would be wrong.
        let is_extended = matches!(resource, Resource::Extended(_));
        if is_extended && !facts.before.inventory().is_registered(&row.resource) {
            return None;
        }
        let nodes = facts.nodes().iter().zip(&amounts.nodes).map(|((index, node), cell)| {
            let standing = unit.standing(row, index);
            let why = || match &resource {
                Resource::Cpu => {
                    let handed_on = unit.handed_on.as_ref()?;
                    Some(Closed::HandedOn(facts.listed(handed_on.nodes)))
                }
                Resource::Memory | Resource::HugePages(_) => memory?.closed(node),
                Resource::Extended(_) => Some(Closed::NotNear),
                Resource::Claims(_) | Resource::Other(_) => None,
            };
            let closed = if standing == Standing::Closed { why() } else { None };
            NodeCell { node, standing, cell: Cell::new(facts, cell), closed }
        });
        Some(Self {
            nodes: nodes.collect(),
            resource: resource.clone(),
            asked: amounts.asked,
            elsewhere: (amounts.elsewhere.allocatable > 0).then(|| Cell::new(facts, &amounts.elsewhere)),
        })
    }

    /// What there is in one place: `2 free of 4 (held by web and 3 more)`, or `none`. Holders of CPUs, memory and huge pages
    /// are named where not enough is free.
    #[must_use]
    pub fn stock(&self, cell: &Cell) -> String {
        let [_, free] = self.resource.compared([self.asked, cell.free]);
        let is_named = matches!(self.resource, Resource::Extended(_)) || cell.free < self.asked;
        cell.of(&free, &self.resource, if is_named { &cell.held_by } else { &[] })
    }

    /// What is asked for, so that it is no text of another amount that is free somewhere.
    #[must_use]
    pub fn asked_amount(&self) -> String {
        let cells = self.nodes.iter().map(|node| &node.cell).chain(&self.elsewhere);
        let rounded = self.resource.amount(self.asked).to_string();
        let shown = cells.map(|cell| {
            let [asked, _] = self.resource.compared([self.asked, cell.free]);
            asked
        });
        shown.into_iter().find(|asked| *asked != rounded).unwrap_or(rounded)
    }
}

impl Cell {
    fn new(facts: &Facts<'_>, cell: &admission::Cell) -> Self {
        Self {
            free: cell.free,
            allocatable: cell.allocatable,
            held_by: cell.holders.iter().map(|pod| facts.named(pod)).collect(),
        }
    }

    /// So much of `resource`: `2 free of 4`, or `none`.
    #[must_use]
    pub fn stock(&self, resource: &Resource) -> String {
        self.of(&resource.amount(self.free).to_string(), resource, &[])
    }

    fn of(&self, free: &str, resource: &Resource, holders: &[NamedPod]) -> String {
        if self.allocatable == 0 {
            return String::from("none");
        }
        let held = match holders {
            [] => String::new(),
            [first, rest @ ..] if rest.len() > 1 => format!(" (held by {first} and {} more)", rest.len()),
            few => format!(" (held by {})", joined(few, " and ")),
        };
        format!("{free} free of {}{held}", resource.amount(self.allocatable))
    }
}
