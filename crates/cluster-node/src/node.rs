//! The object of a node, as its agent writes it.

use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::Value;

use crate::bound::WRITER;
use crate::connection::Cluster;
use crate::error::ClusterError;

impl Cluster {
    /// The object of the node; `None`: there is none of that name.
    ///
    /// # Errors
    /// The API server cannot be reached, or the right to get nodes is missing.
    pub fn node_object(&self, name: &str) -> Result<Option<Value>, ClusterError> {
        match self.wait(self.nodes().get_opt(name))? {
            Some(node) => value(&node).map(Some),
            None => Ok(None),
        }
    }

    /// Creates the object of a node. Gives it as the API server has it.
    ///
    /// # Errors
    /// There is one of that name ([`ClusterError::Refused`] with 409), the API server finds fault with it, or the right
    /// to create nodes is missing.
    pub(crate) fn create_node(&self, node: &Value) -> Result<Value, ClusterError> {
        let node: DynamicObject = parsed(node)?;
        let parameters = PostParams { field_manager: Some(WRITER.to_owned()), ..PostParams::default() };
        value(&self.wait(self.nodes().create(&parameters, &node))?)
    }

    /// Patches labels and the like of a node by a merge.
    ///
    /// # Errors
    /// There is no such node, or the right to patch nodes is missing.
    pub(crate) fn patch_node(&self, name: &str, patch: &Value) -> Result<(), ClusterError> {
        self.wait(self.nodes().patch(name, &PatchParams::default(), &Patch::Merge(patch))).map(drop)
    }

    /// Patches the status of a node by a strategic merge: conditions of others stay.
    ///
    /// # Errors
    /// There is no such node, or the right to patch `nodes/status` is missing.
    pub fn patch_node_status(&self, name: &str, status: &Value) -> Result<(), ClusterError> {
        let patch = serde_json::json!({ "status": status });
        self.wait(self.nodes().patch_status(name, &PatchParams::default(), &Patch::Strategic(&patch)))
            .map(drop)
    }

    fn nodes(&self) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &ApiResource::erase::<Node>(&()))
    }
}

fn value(object: &DynamicObject) -> Result<Value, ClusterError> {
    serde_json::to_value(object).map_err(ClusterError::NotAnObject)
}

fn parsed(object: &Value) -> Result<DynamicObject, ClusterError> {
    serde_json::from_value(object.clone()).map_err(ClusterError::NotAnObject)
}
