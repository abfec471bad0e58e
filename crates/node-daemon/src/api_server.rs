//! A node as an API server knows it.

use std::collections::BTreeMap;

use cluster_node::Access;
use kubelet_status::ContainerReports;

/// A node as an API server knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeInCluster {
    /// How the API server is reached.
    pub access: Access,
    /// The node's name there.
    pub node: String,
}

/// What a node brings with it that is a member of a cluster by itself, without a kubelet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Membership {
    /// Labels of the node beside a kubelet's.
    pub labels: BTreeMap<String, String>,
    /// Who starts containers.
    pub containers: ContainerReports,
}
