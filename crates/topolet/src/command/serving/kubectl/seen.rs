//! What an API server tells of a node.

use node_daemon::cluster_node::{Cluster, ClusterError};
use node_input::SeenNode;

use super::agent::NoAnswer;

/// Looks at all that an API server has of a node. `why` no agent answers is the first thing that was not seen.
///
/// # Errors
/// The API server cannot be reached, or accepts no credentials.
pub(super) fn look(cluster: &Cluster, name: &str, why: &NoAnswer) -> anyhow::Result<SeenNode> {
    let mut seen = SeenNode::new(name, &why.0);
    match cluster.node(name) {
        Ok(node) => seen.object(Ok(&serde_json::to_value(node)?)),
        Err(error @ (ClusterError::Unreachable { .. } | ClusterError::Unauthorized { .. })) => {
            return Err(error.into());
        }
        Err(error) => seen.object(Err(&error)),
    }
    match cluster.pods_on(name) {
        Ok(pods) => seen.bound(Ok(&pods)),
        Err(error) => seen.bound(Err(&error)),
    }
    match cluster.node_resource_topology(name) {
        Ok(object) => seen.published(Ok(Some(object))),
        Err(ClusterError::NotFound(_)) => seen.published(Ok(None)),
        Err(error) => seen.published(Err(&error)),
    }
    seen.configuration(cluster.kubelet_configuration(name).map_err(|error| error.to_string()));
    Ok(seen)
}
