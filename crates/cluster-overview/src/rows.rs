//! What is known of each node.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use node_resource_topology::{NodeResourceTopology, ZoneAmounts};
use pod_spec::ResourceName;
use scheduler_extender::{NodeFacts, StateVersion, View, Zones};
use serde::Serialize;
use serde_json::Value;
use topology_admission::{Ledger, Node, Room};

use crate::objects::ClusterObjects;
use crate::states::{ReadState, StateReader};

/// A node.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeRow {
    /// Its name.
    pub node: String,
    /// How it is known.
    pub basis: RowBasis,
    /// What is free of each resource that is allocated by NUMA node; empty: not known.
    pub free: Vec<FreeResource>,
    /// Positions in `asked` of what fits. Of a node of which nothing is known nothing is.
    pub fits: Vec<usize>,
    /// Pods that it refused in the last hour, by its kubelet's reasons; absent: pods could not be listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<BTreeMap<String, usize>>,
    /// What is wrong with it, as `NotReady` or `cordoned`.
    pub conditions: Vec<String>,
}

/// How a node is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum RowBasis {
    /// By its own state: what fits is its kubelet's answer.
    Exact,
    /// By amounts that another program publishes: its kubelet may decide otherwise.
    Approximate,
    /// Nothing is published of it.
    Unknown,
}

/// What is free of a resource.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FreeResource {
    /// Its name.
    pub resource: String,
    /// On each NUMA node that has any.
    pub numa: Vec<FreeAmount>,
    /// Devices that are on several NUMA nodes at once, or on none.
    pub elsewhere: u64,
}

/// What is free on a NUMA node: CPUs, bytes or devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FreeAmount {
    /// Its number.
    pub node: i64,
    /// What a pod can still get.
    pub free: u64,
    /// What pods could get if nothing ran.
    pub allocatable: u64,
}

impl FreeResource {
    /// On all NUMA nodes and beside them.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.numa.iter().map(|here| here.free).fold(self.elsewhere, u64::saturating_add)
    }

    /// On the NUMA node with the most.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.numa.iter().map(|here| here.free).max().unwrap_or(0)
    }
}

/// A node while its objects are read.
pub(crate) struct NodeFound {
    pub(crate) name: String,
    basis: RowBasis,
    free: Vec<FreeResource>,
    pub(crate) refused: Option<BTreeMap<String, usize>>,
    conditions: Vec<String>,
}

impl NodeFound {
    fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            basis: RowBasis::Unknown,
            free: Vec::new(),
            refused: None,
            conditions: Vec::new(),
        }
    }

    /// What its `Node` says.
    pub(crate) fn of_object(node: &Value) -> Self {
        let mut found = Self::named(name_of(node));
        if node["spec"]["unschedulable"].as_bool() == Some(true) {
            found.conditions.push("cordoned".to_owned());
        }
        for condition in node["status"]["conditions"].as_array().into_iter().flatten() {
            let field = |name: &str| condition[name].as_str().unwrap_or_default();
            let (kind, status) = (field("type"), field("status"));
            let is_good = status == if kind == "Ready" { "True" } else { "False" };
            found.conditions.extend((!is_good).then(|| match (kind, status) {
                ("Ready", _) => "NotReady".to_owned(),
                (kind, "True") => kind.to_owned(),
                (kind, _) => format!("{kind} unknown"),
            }));
        }
        found
    }

    /// The row; whether each of what was asked for fits.
    pub(crate) fn row(self, fits: Vec<bool>) -> NodeRow {
        let Self { name, basis, free, refused, conditions } = self;
        let is_known = basis != RowBasis::Unknown;
        let fits = fits.into_iter().enumerate().filter(|(_, fits)| *fits && is_known);
        NodeRow { node: name, basis, free, fits: fits.map(|(at, _)| at).collect(), refused, conditions }
    }
}

fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Amounts that any program publishes.
pub(crate) fn read_topologies(
    objects: &ClusterObjects,
    found: &mut BTreeMap<String, NodeFound>,
    view: &mut View,
    not_seen: &mut Vec<String>,
) {
    let topologies = match &objects.topologies {
        Ok(topologies) => topologies,
        Err(why) => return not_seen.push(format!("amounts by NUMA node: {why}")),
    };
    for object in topologies {
        let Some(node) = found.get_mut(name_of(object)) else { continue };
        let read = serde_json::from_value::<NodeResourceTopology>(object.clone());
        let read = read.map_err(|error| error.to_string()).and_then(|object| {
            let amounts = object.amounts().map_err(|error| error.to_string())?;
            Ok((amounts, Zones::read(&object).map_err(|error| error.to_string())?))
        });
        match read {
            Ok((amounts, zones)) => {
                node.basis = RowBasis::Approximate;
                node.free = of_amounts(&amounts);
                update(view, &node.name, NodeFacts::Approximate(zones));
            }
            Err(why) => unreadable(not_seen, "NodeResourceTopology", &node.name, &why),
        }
    }
}

/// What agents publish of their nodes.
pub(crate) fn read_states(
    objects: &ClusterObjects,
    found: &mut BTreeMap<String, NodeFound>,
    view: &mut View,
    not_seen: &mut Vec<String>,
) {
    let states = match &objects.states {
        Ok(states) => states,
        Err(why) => {
            return not_seen.push(format!(
                "states of nodes: {why}; so amounts are compared, which is not the kubelet's answer"
            ));
        }
    };
    let mut reader = StateReader::default();
    for object in states {
        let Some(found) = found.get_mut(name_of(object)) else { continue };
        match reader.read(object.clone()) {
            Ok(ReadState { node, ledger, .. }) => {
                found.basis = RowBasis::Exact;
                found.free = of_ledger(&node, &ledger);
                // An object that was published by another program counts less.
                view.remove(&found.name);
                update(view, &found.name, NodeFacts::Exact { node, ledger });
            }
            Err(why) => unreadable(not_seen, "NodeState", &found.name, &format!("{why:#}")),
        }
    }
}

fn unreadable(not_seen: &mut Vec<String>, kind: &str, node: &str, why: &dyn Display) {
    not_seen.push(format!("the {kind} of {node} cannot be read: {why}"));
}

fn update(view: &mut View, name: &str, facts: NodeFacts) {
    let version = StateVersion::default();
    view.update(name, scheduler_extender::NodeState { version, facts, told: BTreeSet::new() });
}

fn of_amounts(amounts: &ZoneAmounts) -> Vec<FreeResource> {
    let resource = |name| FreeResource {
        resource: ToString::to_string(name),
        numa: amounts
            .of(name)
            .filter_map(|(node, amount)| {
                let amount = amount?;
                Some(FreeAmount { node: node.0, free: amount.available, allocatable: amount.allocatable })
            })
            .collect(),
        elsewhere: 0,
    };
    amounts.resources().into_iter().map(resource).collect()
}

fn of_ledger(node: &Node, ledger: &Ledger) -> Vec<FreeResource> {
    let rooms = node.room(ledger);
    let resource = |(name, room): (ResourceName, Room)| FreeResource {
        resource: name.to_string(),
        numa: node
            .nodes()
            .iter()
            .zip(&room.nodes)
            .filter(|(_, cell)| cell.allocatable > 0)
            .map(|((_, id), cell)| FreeAmount { node: id.0, free: cell.free, allocatable: cell.allocatable })
            .collect(),
        elsewhere: room.elsewhere.free,
    };
    rooms.into_iter().map(resource).collect()
}
