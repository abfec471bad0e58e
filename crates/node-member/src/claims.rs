//! The devices that an API server has allocated to the claims of a pod, on a node where CPUs and memory follow them.
//!
//! kube-scheduler writes the allocation before it binds the pod, so that both are there when the pod comes. As for a kubelet, which
//! cannot prepare claims without the API server, the pod waits until that answers. Where it does not let the node read claims the
//! pod comes without hints, and its decision says why.

use cluster_node::{ClaimKind, ClaimListError, Cluster};
use node_input::{AllocatedClaims, LoadedNode, ObjectText, claim_names};
use pod_spec::Pod;
use serde_json::Value;

/// The pod with the places of its claims' devices. `name` is that of the node.
///
/// # Errors
/// The API server does not answer, or not as one; in one sentence.
pub(super) fn placed(cluster: &Cluster, name: &str, node: &LoadedNode, pod: Pod) -> Result<Pod, String> {
    if !node.node.has_claim_hints() || pod.constraints.claims.is_empty() {
        return Ok(pod);
    }
    let lists = match cluster.claims_of_node(name, &claim_names([&pod])) {
        Ok(lists) => lists,
        Err(error @ (ClaimListError::MissingRights(_) | ClaimListError::NotServed { .. })) => {
            return Ok(AllocatedClaims::unknown(&error.to_string()).placed(pod));
        }
        Err(error) => return Err(format!("failed to read the claims of the pod: {error}")),
    };
    let server = cluster.server();
    let text = |(kind, list): &(ClaimKind, Value)| {
        ObjectText::of_list(format!("{} of {server}", kind.resource()), list)
    };
    let objects = lists.pages.iter().map(text).collect::<anyhow::Result<Vec<_>>>();
    match objects.and_then(|texts| ObjectText::objects(&texts)) {
        Ok(objects) => Ok(AllocatedClaims::on(node, &objects, Some(name)).placed(pod)),
        Err(error) => Ok(AllocatedClaims::unknown(&format!("{error:#}")).placed(pod)),
    }
}
