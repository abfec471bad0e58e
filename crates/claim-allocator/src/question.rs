//! What is asked: the claims of one pod, on one node.

use alloc::string::String;

use dra_model::{DeviceClass, Features, Implementation, Node, ResourceClaim, ResourceSlice};

/// A question: one node, and the cluster's objects as far as they matter.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The node.
    pub node: &'a Node,
    /// `status.declaredFeatures` of the node.
    pub declared_features: &'a [String],
    /// The gates that are on.
    pub features: Features,
    /// Which copy of the allocator decides; `None`: the first that has the features.
    pub implementation: Option<Implementation>,
    /// All classes.
    pub classes: &'a [DeviceClass],
    /// All slices of the cluster, in the order in which kube-scheduler has them.
    pub slices: &'a [ResourceSlice],
    /// The cluster's claims; those with an allocation hold devices.
    pub allocated: &'a [ResourceClaim],
    /// The pod's claims without allocation, in order.
    pub claims: &'a [ResourceClaim],
}

impl Question<'_> {
    /// Whether the node's kubelet can leave out operations for devices.
    pub(crate) fn skips_operations(&self) -> bool {
        self.declared_features.iter().any(|feature| feature == "DRAOptionalNodeOperations")
    }
}
