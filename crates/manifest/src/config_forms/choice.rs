//! Which of a file's documents is the kubelet's configuration.
//!
//! `kubeadm` takes files with several documents, of which one is a `KubeletConfiguration`; `kubectl get -o yaml` prints
//! lists. Several `NodeConfig` are laid over each other, as `nodeadm` does.

use super::{is_configuration, names};
use crate::kubelet_arguments::KubeletArgument;
use crate::merge::merge;
use crate::node::{Field, Node, Value};
use crate::{ManifestError, Problem, Source};

/// The document that is read, and which of the file's others are not.
pub(crate) struct Chosen {
    pub(crate) document: Node,
    /// The kinds of those that are not looked at, in their order.
    pub(crate) others: Vec<String>,
    /// The flags that those set.
    pub(crate) flags: Vec<KubeletArgument>,
}

/// The one document with a configuration; if there is a single document, that one.
pub(crate) fn chosen(source: &Source<'_>, nodes: Vec<Node>) -> Result<Chosen, ManifestError> {
    let nodes: Vec<Node> = match <[Node; 1]>::try_from(nodes) {
        Ok([one]) => match items(&one) {
            Some(items) => items,
            None => return Ok(Chosen { document: one, others: Vec::new(), flags: Vec::new() }),
        },
        Err(several) => several,
    };
    let is_one = |node: &Node| is_configuration(&Field::document(source, node));
    let (own, others): (Vec<Node>, Vec<Node>) = nodes.into_iter().partition(is_one);
    let mut flags = Vec::new();
    for other in others.iter().filter(|other| matches!(other.value, Value::Map(_))) {
        flags.extend(super::flags(&Field::document(source, other))?);
    }
    let others: Vec<String> = others.iter().map(|node| kind(source, node)).collect();
    let mut own = own.into_iter();
    let Some(mut document) = own.next() else {
        return Err(no_configuration(source, &others));
    };
    for next in own {
        let field = Field::document(source, &next);
        if kind(source, &document) != "NodeConfig" || names(&field).0 != "NodeConfig" {
            let problem = Problem::Unexpected {
                found: "another configuration".to_owned(),
                expected: "one configuration: split the file",
            };
            return Err(field.fail(problem));
        }
        merge(&mut document, next);
    }
    Ok(Chosen { document, others, flags })
}

/// The members of a `List`.
fn items(node: &Node) -> Option<Vec<Node>> {
    let is_list = matches!(&node.value.get("kind")?.value, Value::Text(kind) if kind.ends_with("List"));
    let items = node.value.get("items").filter(|_| is_list)?;
    Some(items.clone().into_items())
}

fn kind(source: &Source<'_>, node: &Node) -> String {
    let (kind, _) = names(&Field::document(source, node));
    if kind.is_empty() { "no kind".to_owned() } else { kind.to_owned() }
}

/// None of several documents is a configuration: what is wrong with the first, or which there are.
fn no_configuration(source: &Source<'_>, others: &[String]) -> ManifestError {
    let problem = Problem::OtherForm {
        what: format!("a file with {}, none of which is a kubelet's configuration", others.join(", ")),
        instead: super::CONFIGZ,
    };
    ManifestError::at(source, "", &(0..0), problem)
}
