//! The kubelet's document of a Talos configuration of several documents.
//!
//! From Talos 1.14 a document of kind `KubeletConfig` and version `v1alpha1` has what `machine.kubelet` of the machine configuration
//! had (`KubeletConfigV1Alpha1` in `pkg/machinery/config/types/k8s/kubelet.go` of siderolabs/talos). It is read as that part.

use super::kind::names;
use crate::node::{Entry, Field, Node, Value};
use crate::{ManifestError, Problem, Source};

/// Whether a document is the kubelet's of a Talos configuration.
pub(super) fn is_of_kubelet(document: &Field<'_>) -> bool {
    names(document) == ("KubeletConfig", "v1alpha1")
}

/// The documents with the kubelet's as a part of the machine configuration among them, or of one that has nothing else.
///
/// # Errors
/// Both configure the kubelet, which Talos refuses.
pub(super) fn with_kubelet(source: &Source<'_>, nodes: Vec<Node>) -> Result<Vec<Node>, ManifestError> {
    let (own, mut others): (Vec<Node>, Vec<Node>) =
        nodes.into_iter().partition(|node| is_of_kubelet(&Field::document(source, node)));
    for document in own {
        let span = document.span.clone();
        let machine =
            others.iter_mut().find_map(|other| entries(other)?.iter_mut().find(|own| own.key == "machine"));
        let kubelet = entry("kubelet", part(document));
        match machine {
            Some(Entry { value, .. }) if value.value.get("kubelet").is_some() => {
                let what =
                    "a KubeletConfig of Talos beside machine.kubelet, of which Talos takes one".to_owned();
                let document = Node { value: Value::Null, span };
                let problem = Problem::OtherForm { what, instead: "one of the two" };
                return Err(Field::document(source, &document).fail(problem));
            }
            Some(Entry { value, .. }) => {
                if let Value::Map(entries) = &mut value.value {
                    entries.push(kubelet);
                }
            }
            None => {
                let machine = entry("machine", Node { value: Value::Map(vec![kubelet]), span: span.clone() });
                others.push(Node { value: Value::Map(vec![machine]), span });
            }
        }
    }
    Ok(others)
}

/// The document as `machine.kubelet` has it.
fn part(mut document: Node) -> Node {
    for entry in entries(&mut document).into_iter().flatten() {
        if entry.key == "config" {
            "extraConfig".clone_into(&mut entry.key);
        }
    }
    if let Some(entries) = entries(&mut document) {
        entries.retain(|entry| !matches!(entry.key.as_str(), "apiVersion" | "kind"));
    }
    document
}

fn entries(node: &mut Node) -> Option<&mut Vec<Entry>> {
    match &mut node.value {
        Value::Map(entries) => Some(entries),
        _ => None,
    }
}

fn entry(key: &str, value: Node) -> Entry {
    Entry { key: key.to_owned(), key_span: value.span.clone(), value }
}
