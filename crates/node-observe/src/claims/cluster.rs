//! Claims and slices at the API server.

use std::collections::BTreeMap;

use anyhow::Context as _;
use cluster_node::{ClaimListError, Cluster, Connector, NodeInCluster};
use node_input::ObjectText;

use super::sources::{ClaimName, ClusterClaims};

/// Reads them.
pub(super) struct ClusterReader {
    node: String,
    connector: Connector,
    /// The connection; `None`: there is none, or it was lost.
    cluster: Option<Cluster>,
}

impl ClusterReader {
    pub(super) fn of(node: &NodeInCluster) -> Self {
        Self { node: node.node.clone(), connector: Connector::from(node.access.clone()), cluster: None }
    }

    /// The slices of the node, and those of these claims that exist.
    ///
    /// # Errors
    /// The API server cannot be reached or does not answer in time, a right is missing, or an object cannot be decoded.
    pub(super) fn ask(&mut self, names: &[ClaimName]) -> anyhow::Result<ClusterClaims> {
        let cluster = match self.cluster.take() {
            Some(cluster) => cluster,
            None => self.connector.connect()?,
        };
        // Names of a file may be anything; those of objects are parts of an address.
        let names: Vec<ClaimName> =
            names.iter().filter(|(namespace, name)| is_name(namespace) && is_name(name)).cloned().collect();
        let lists = match cluster.claims_of_node(&self.node, &names) {
            Ok(lists) => lists,
            Err(error) => {
                let is_lost = matches!(&error, ClaimListError::Cluster(error) if error.is_lost());
                if !is_lost {
                    self.cluster = Some(cluster);
                }
                return Err(error.into());
            }
        };
        let server = cluster.server().to_owned();
        self.cluster = Some(cluster);
        let text = |(kind, list): &(cluster_node::ClaimKind, _)| {
            ObjectText::of_list(format!("{} of {server}", kind.resource()), list)
        };
        let texts = lists.pages.iter().map(text).collect::<anyhow::Result<Vec<_>>>()?;
        let objects = ObjectText::objects(&texts).context("an object cannot be decoded")?;
        let claims = objects
            .claims
            .into_iter()
            .map(|claim| ((claim.metadata.namespace.clone(), claim.metadata.name.clone()), claim));
        let claims: BTreeMap<ClaimName, _> = claims.collect();
        Ok(ClusterClaims { slices: objects.slices, asked: names.into_iter().collect(), claims })
    }
}

/// Whether an object can be called so.
fn is_name(text: &str) -> bool {
    let is_of_name =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    !text.is_empty() && text.bytes().all(is_of_name) && !text.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn nothing_else_than_a_name_becomes_a_part_of_an_address() {
        for (text, expected) in [
            ("train-gpu-x7k2p", true),
            ("a.b", true),
            ("", false),
            ("..", false),
            ("a/b", false),
            ("a?b", false),
        ] {
            assert_eq!(is_name(text), expected, "{text}");
        }
    }
}
