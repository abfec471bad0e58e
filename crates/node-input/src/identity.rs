//! What a node is called, its labels and taints: what pods demand of it besides resources.

use std::collections::BTreeMap;

use node_output::manifest_error;
use pod_spec::{Container, Pod};
use topology_admission::Identity;
use topology_manifest::{NodeObject, Source, check_node_name, read_node};

use crate::node::LoadedNode;
use crate::sources::IdentitySource;

impl IdentitySource {
    /// The identity that is given; `None`: none.
    ///
    /// # Errors
    /// The file cannot be read, or a name or label is wrong.
    fn read(&self) -> anyhow::Result<Option<Identity>> {
        if let Some(path) = &self.node {
            let text = crate::files::read(path)?;
            let node = Source::from_bytes(&path.display().to_string(), &text)
                .and_then(|source| read_node(&source))
                .map_err(manifest_error)?;
            let NodeObject { name, labels, taints, .. } = node;
            return Ok(Some(Identity { name, labels, taints }));
        }
        let Some(name) = self.node_name.clone() else { return Ok(None) };
        // A kubelet gives itself these.
        let own = [("kubernetes.io/hostname", name.as_str()), ("kubernetes.io/os", "linux")];
        let own = own.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let labels = own.into_iter().chain(self.labels()?).collect();
        Ok(Some(Identity { name, labels, taints: Vec::new() }))
    }

    /// The labels that are given beside those that a kubelet gives itself.
    ///
    /// # Errors
    /// One is no label, or the name that is given is none of a node.
    pub fn labels(&self) -> anyhow::Result<BTreeMap<String, String>> {
        if let Some(name) = &self.node_name
            && let Err(wrong) = check_node_name(name)
        {
            anyhow::bail!("--node-name {name} cannot be a node's name: {wrong}");
        }
        let labels = self.node_labels.iter().map(|label| {
            let Some((key, value)) = label.split_once('=').filter(|(key, _)| !key.is_empty()) else {
                anyhow::bail!("--node-labels has {label:?}; expected KEY=VALUE, several with commas between");
            };
            Ok((key.to_owned(), value.to_owned()))
        });
        labels.collect()
    }
}

impl LoadedNode {
    /// The node with the identity that is given, if one is.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn with_identity(mut self, given: &IdentitySource) -> anyhow::Result<Self> {
        if let Some(identity) = given.read()? {
            self.node = self.node.as_ref().clone().with_identity(identity).into();
        }
        Ok(self)
    }

    /// What these pods demand and nobody knows of the node, as text to be shown.
    pub fn not_looked_at<'p>(&self, pods: impl IntoIterator<Item = &'p Pod>) -> Vec<String> {
        let (mut selectors, mut affinity, mut storage) = (false, false, false);
        let asks_storage = |container: &Container| container.requests.contains_key("ephemeral-storage");
        for pod in pods {
            selectors |= !pod.constraints.node_selector.is_empty();
            affinity |= pod.constraints.node_affinity.is_some();
            storage |= pod.containers.iter().any(asks_storage);
        }
        let of_identity = [(selectors, "nodeSelector"), (affinity, "nodeAffinity")];
        let demands: Vec<&str> =
            of_identity.into_iter().filter(|(is_there, _)| *is_there).map(|(_, what)| what).collect();
        let mut notes = Vec::new();
        if self.node.identity().is_none() && !demands.is_empty() {
            notes.push(format!(
                "not looked at: {}, since the node's name and labels are not known; --node takes them from \
                 `kubectl get node NODE -o yaml`",
                demands.join(", ")
            ));
        }
        if storage {
            notes.push("not looked at: ephemeral-storage, since the node's disk is not known".to_owned());
        }
        notes
    }
}
