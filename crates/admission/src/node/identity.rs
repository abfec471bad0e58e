//! What the node is called and labelled: what pods demand of it besides resources.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use pod_spec::{Pod, SupplementalGroups, Taint};
use thiserror::Error;

/// What the node is called, its labels and taints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.labels`.
    pub labels: BTreeMap<String, String>,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
}

/// What a pod demands that the node is not. The texts are the kubelet's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// The pod's own label.
    #[error("Failed to admit pod as the `kubernetes.io/os` label doesn't match node label")]
    OsLabel,
    /// `spec.os`.
    #[error("Failed to admit pod as the OS field doesn't match node OS")]
    Os,
    /// The runtime cannot keep the groups of an image away.
    #[error("SupplementalGroupsPolicy=Strict is not supported in this node")]
    SupplementalGroups,
    /// Labels.
    #[error("Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector")]
    NodeAffinity,
    /// Name.
    #[error("Predicate NodeName failed: node(s) didn't match the requested node name")]
    NodeName,
    /// Another pod has a port.
    #[error("Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports")]
    NodePorts,
    /// A taint without toleration.
    #[error("Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate")]
    TaintToleration,
    /// Resources at pod level where they are switched off.
    #[error("PodLevelResources feature gate is disabled")]
    PodLevelResources,
}

impl Mismatch {
    /// The admission reason.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::OsLabel => "PodOSSelectorNodeLabelDoesNotMatch",
            Self::Os => "PodOSNotSupported",
            Self::SupplementalGroups => "SupplementalGroupsPolicyNotSupported",
            Self::NodeAffinity => "NodeAffinity",
            Self::NodeName => "NodeName",
            Self::NodePorts => "NodePorts",
            Self::TaintToleration => "TaintToleration",
            Self::PodLevelResources => "PodLevelResourcesNotSupported",
        }
    }
}

/// The operating system of every node that this is for.
const OS: &str = "linux";

/// What refuses a pod before its resources are looked at.
pub(crate) fn operating_system(pod: &Pod) -> Result<(), Mismatch> {
    let other = |os: &Option<String>| os.as_ref().is_some_and(|os| os != OS);
    match &pod.constraints {
        constraints if other(&constraints.os_label) => Err(Mismatch::OsLabel),
        constraints if other(&constraints.os) => Err(Mismatch::Os),
        constraints if constraints.supplemental_groups == SupplementalGroups::Strict => {
            Err(Mismatch::SupplementalGroups)
        }
        _ => Ok(()),
    }
}
