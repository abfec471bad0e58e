//! The slices of one node and some claims, for an agent there: no more than that node's kubelet reads.
//!
//! Slices that select nodes in another way than by name are of devices beside the nodes, such as a network, and are not listed: a
//! list of all slices of a cluster would be read by each of its nodes.

use kube::api::ListParams;
use serde_json::{Value, json};

use crate::claims::{ClaimKind, ClaimListError, ClaimLists, GROUP, Served, without_managers};
use crate::connection::Cluster;
use crate::error::ClusterError;

impl Cluster {
    /// The slices of the node of this name, and those of these claims, by namespace and name, that exist.
    ///
    /// # Errors
    /// As of [`Cluster::claim_lists`].
    pub fn claims_of_node(
        &self,
        node: &str,
        claims: &[(String, String)],
    ) -> Result<ClaimLists, ClaimListError> {
        let served = self.served_versions()?;
        let wanted = ListParams::default().fields(&format!("spec.nodeName={node}"));
        let slices =
            self.pages_where(ClaimKind::Slices, self.version_of(ClaimKind::Slices, &served)?, &wanted);
        let slices = slices.map_err(|error| missing(ClaimKind::Slices, error))?;
        let mut pages: Vec<(ClaimKind, Value)> =
            slices.into_iter().map(|page| (ClaimKind::Slices, page)).collect();
        if !claims.is_empty() {
            let version = self.version_of(ClaimKind::Claims, &served)?;
            let found =
                self.found_claims(version, claims).map_err(|error| missing(ClaimKind::Claims, error))?;
            pages.push((ClaimKind::Claims, found));
        }
        Ok(ClaimLists { pages, without_taint_rules: None })
    }

    /// Those of these claims that exist, as a list.
    fn found_claims(&self, version: &str, claims: &[(String, String)]) -> Result<Value, ClaimListError> {
        let api_version = format!("{GROUP}/{version}");
        let mut items = Vec::new();
        for (namespace, name) in claims {
            let address = format!("/apis/{api_version}/namespaces/{namespace}/resourceclaims/{name}");
            match self.read::<Value>(&address, &ListParams::default()) {
                Ok(claim) => items.push(without_managers(claim)),
                Err(ClusterError::NotFound(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(json!({ "apiVersion": api_version, "kind": "ResourceClaimList", "items": items }))
    }

    /// The newest version in which a kind is served.
    fn version_of(&self, kind: ClaimKind, served: &[Served]) -> Result<&'static str, ClaimListError> {
        kind.newest(served).ok_or_else(|| ClaimListError::not_served(self, kind, served))
    }
}

/// The error, as one of a missing right on a kind if it is one.
fn missing(kind: ClaimKind, error: ClaimListError) -> ClaimListError {
    match error {
        ClaimListError::Cluster(ClusterError::Forbidden(message)) => {
            ClaimListError::MissingRights(vec![crate::claims::MissingRight { kind, message }])
        }
        other => other,
    }
}
