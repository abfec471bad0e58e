//! `NodeResourceTopology`, `topology.node.k8s.io/v1alpha2`, as values.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// The object, as JSON and YAML write it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeResourceTopology {
    /// `topology.node.k8s.io/v1alpha2`
    pub api_version: String,
    /// `NodeResourceTopology`
    pub kind: String,
    /// Which node it is.
    pub metadata: Metadata,
    /// Policy and scope in one word: `SingleNUMANodePodLevel`. Deprecated in favour of attributes, and read by older
    /// schedulers.
    #[serde(default)]
    pub topology_policies: Vec<String>,
    /// The policies of the node and the fingerprint of its pods.
    #[serde(default)]
    pub attributes: Vec<Attribute>,
    /// One for each NUMA node, in ascending order of id.
    pub zones: Vec<Zone>,
}

/// The name of the object.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Metadata {
    /// That of the node in its cluster.
    pub name: String,
}

/// A property of a node or a zone.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Attribute {
    /// `topologyManagerPolicy`
    pub name: String,
    /// `restricted`
    pub value: String,
}

/// A NUMA node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Zone {
    /// `node-0`
    pub name: String,
    /// `Node`
    #[serde(rename = "type")]
    pub kind: String,
    /// Distances to all zones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<Cost>,
    /// `topolet.dev/memoryGroup`: the NUMA nodes that memory of containers binds together with this one. They cannot
    /// serve a pod of one node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<Attribute>,
    /// Resources of which the zone has some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<Resource>,
}

/// The distance to a zone.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Cost {
    /// The zone.
    pub name: String,
    /// 10 for the zone itself.
    pub value: i64,
}

/// A resource of a zone. The amounts are Kubernetes quantities of CPUs, bytes or devices.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Resource {
    /// `cpu`, `memory`, `hugepages-1Gi`, `example.com/gpu`
    pub name: String,
    /// What the zone has.
    pub capacity: String,
    /// What pods may hold.
    pub allocatable: String,
    /// What no pod holds.
    pub available: String,
}
