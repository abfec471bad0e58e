//! `NodeResourceTopology`, `topology.node.k8s.io/v1alpha2`, as values.

use alloc::collections::BTreeMap;
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
    /// The policies of the node, the fingerprint of its pods, and how the placement of containers is encoded.
    #[serde(default)]
    pub attributes: Vec<Attribute>,
    /// One for each NUMA node, in ascending order of id.
    pub zones: Vec<Zone>,
}

/// The name of the object, and its annotation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Metadata {
    /// That of the node in its cluster.
    pub name: String,
    /// The fingerprint, if it is of all pods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
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
    /// Which containers are placed here, and what amounts do not say: memory groups and free whole cores.
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
