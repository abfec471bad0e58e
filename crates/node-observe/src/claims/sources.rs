//! What the sources say of the claims of a node's pods.

use std::collections::{BTreeMap, BTreeSet};

use claim_explanation::CPU_DRIVER;
use device_plugin::PodEntry;
use dra_model::{ResourceClaim, ResourceSlice};
use kubelet_checkpoint::claims::PreparedClaim;

use crate::pinners::CpuDriver;

/// Namespace and name of a `ResourceClaim`.
pub(super) type ClaimName = (String, String);

/// The claims of the kubelet's file; `Err`: why they are not known.
pub(super) type Prepared = Result<Vec<PreparedClaim>, String>;

/// What each source says.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct SourceAnswers {
    /// What the kubelet has prepared.
    pub(super) prepared: Prepared,
    /// What the pod resources service lists; `None`: it was not asked, or does not answer.
    pub(super) listed: Option<Vec<PodEntry>>,
    /// What the API server has; `Err`: why that is not known.
    pub(super) cluster: Result<ClusterClaims, String>,
}

impl SourceAnswers {
    /// What the sources have of the CPU driver.
    pub(super) fn cpu_driver(&self) -> CpuDriver {
        let has_claims = self.prepared.iter().flatten().any(|claim| claim.drivers.contains_key(CPU_DRIVER));
        let slices = self.cluster.iter().flat_map(|cluster| &cluster.slices);
        let has_slices =
            slices.filter(|slice| slice.driver == *CPU_DRIVER).any(|slice| !slice.devices().is_empty());
        match (has_claims, has_slices) {
            (true, _) => CpuDriver::HasClaims,
            (false, true) => CpuDriver::HasSlices,
            (false, false) => CpuDriver::NotKnown,
        }
    }
}

impl Default for SourceAnswers {
    fn default() -> Self {
        let cluster = Err("no API server is asked (--kubeconfig FILE or --in-cluster)".to_owned());
        Self { prepared: Ok(Vec::new()), listed: None, cluster }
    }
}

/// What an API server has.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct ClusterClaims {
    /// The slices of the node.
    pub(super) slices: Vec<ResourceSlice>,
    /// The claims that it was asked for.
    pub(super) asked: BTreeSet<ClaimName>,
    /// Those of them that exist.
    pub(super) claims: BTreeMap<ClaimName, ResourceClaim>,
}
