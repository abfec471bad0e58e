//! `NodeState` objects: what agents publish of their nodes, so that schedulers decide as the nodes do.
//!
//! What a node is and what its pods hold are written apart, by two field managers: the second changes with every pod.

use std::collections::BTreeMap;
use std::fmt;

use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use serde::Serialize;
use serde_json::{Value, json};
use thiserror::Error;

use crate::connection::Cluster;
use crate::error::ClusterError;

const VERSION: &str = "topolet.dev/v1alpha1";
const KIND: &str = "NodeState";

/// Why a state was not written.
#[derive(Debug, Error)]
pub enum StateError {
    /// The kind is not installed.
    #[error(
        "the API server has no NodeState (topolet.dev/v1alpha1); `kubectl apply -f \
         deploy/crd/topolet.dev_nodestates.yaml` installs it"
    )]
    NoDefinition,
    /// The API server did not answer as asked.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

/// A part of a node's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatePart {
    /// What it is.
    Node,
    /// What its pods hold.
    Holdings,
}

impl StatePart {
    const fn field(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Holdings => "holdings",
        }
    }

    const fn manager(self) -> &'static str {
        match self {
            Self::Node => "topolet-node",
            Self::Holdings => "topolet-holdings",
        }
    }
}

/// Whether an object was there before it was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// It was.
    There,
    /// It has been made, so that it has nothing but what was written.
    Missing,
}

/// An object that is written by one field.
#[derive(Serialize)]
struct Part<'a, T> {
    #[serde(rename = "apiVersion")]
    version: &'static str,
    kind: &'static str,
    metadata: Value,
    #[serde(flatten)]
    field: BTreeMap<&'static str, &'a T>,
}

impl<T> fmt::Debug for Part<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part").field("metadata", &self.metadata).finish_non_exhaustive()
    }
}

impl Cluster {
    /// Writes a part of the state of the node of that name, in JSON an object. No other program writes it.
    ///
    /// # Errors
    /// The kind is not installed, the right to patch `nodestates` of `topolet.dev` is missing, or the API server cannot be
    /// reached.
    pub fn write_state<T: Serialize>(
        &self,
        node: &str,
        part: StatePart,
        value: &T,
    ) -> Result<Found, StateError> {
        let object = Part {
            version: VERSION,
            kind: KIND,
            metadata: json!({ "name": node }),
            field: std::iter::once((part.field(), value)).collect(),
        };
        let (parameters, patch) = (PatchParams::apply(part.manager()).force(), Patch::Apply(&object));
        let objects: Api<DynamicObject> = Api::all_with(self.client.clone(), &kind());
        let written = match self.ask(objects.patch_metadata(node, &parameters, &patch))? {
            Ok(written) => written,
            // An object that is missing is made, so what is missing is its kind.
            Err(kube::Error::Api(status)) if status.code == 404 => return Err(StateError::NoDefinition),
            Err(error) => return Err(ClusterError::of(&self.server, error).into()),
        };
        Ok(if written.metadata.generation == Some(1) { Found::Missing } else { Found::There })
    }
}

/// `NodeState`.
pub(crate) fn kind() -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("topolet.dev", "v1alpha1", KIND), "nodestates")
}
