//! The registration of a node: its object is made, or the one that is there becomes its own.

use kubelet_status::{NodeFacts, Readiness, node_status, registered, relabelled};
use serde_json::{Value, json};
use thiserror::Error;

use crate::connection::Cluster;
use crate::error::ClusterError;
use crate::lease::{OtherHolder, in_seconds};

/// A node that is registered.
#[derive(Clone, PartialEq, Debug)]
pub struct RegisteredNode {
    /// The UID of its object; empty if the API server gives none.
    pub uid: String,
    /// The status that the object has.
    pub status: Value,
}

/// Why a node is not registered.
#[derive(Debug, Error)]
pub enum RegistrationError {
    /// Another agent renews the Lease of the node, whose object is left alone.
    #[error("{} renews the Lease of the node", .0.holder)]
    Taken(OtherHolder),
    /// A call failed.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

impl Cluster {
    /// Registers a node for the agent that renews its Lease as `holder`. Conditions of an object that is there keep the
    /// times of their transitions, and labels and taints of others stay.
    ///
    /// # Errors
    /// Another agent of that name lives, the API server cannot be reached, or the right to get leases, or to get, create or
    /// patch nodes and their status is missing.
    pub fn register_node(
        &self,
        facts: &NodeFacts<'_>,
        readiness: &Readiness,
        holder: &str,
    ) -> Result<RegisteredNode, RegistrationError> {
        if let Some(other) = self.other_holder(facts.name, holder)? {
            return Err(RegistrationError::Taken(other));
        }
        let found = self.node_object(facts.name)?;
        let before = found.as_ref().map(|object| json!({ "conditions": object["status"]["conditions"] }));
        let now = in_seconds(self.clock.since_1970());
        let status = node_status(facts, readiness, &before.unwrap_or_default(), &now);
        let object = if let Some(object) = found {
            if let Some(labels) = relabelled(facts, &object) {
                self.patch_node(facts.name, &labels)?;
            }
            self.patch_node_status(facts.name, &status)?;
            object
        } else {
            self.create_node(&registered(facts, &status))?
        };
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        Ok(RegisteredNode { uid, status })
    }
}
