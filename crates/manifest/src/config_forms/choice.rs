//! Which of a file's documents is the kubelet's configuration.
//!
//! `kubeadm` takes files with several documents, of which one is a `KubeletConfiguration`; `kubectl get -o yaml` prints
//! lists. Several `NodeConfig` are laid over each other, as `nodeadm` does.

use super::kind::{ConfigKind, names};
use super::kubeadm_patches::with_patches;
use super::machines::machines;
use super::node_files::refused_beside;
use super::node_groups::{group_lists, with_pods};
use super::object_choice::ObjectChoice;
use super::objects::picked;
use super::steps::{NodeFlags, PickedFlags, picked_flags, steps};
use super::{KUBEADM_CONFIG_MAP, is_configuration, kind_of, refused_form, talos};
use crate::kubelet_arguments::KubeletArgument;
use crate::merge::merge;
use crate::node::{Field, Node, Value};
use crate::problem::CONFIGZ;
use crate::warning::Warning;
use crate::{ManifestError, Problem, Source};

/// The document that is read, and which of the file's others are not.
pub(crate) struct Chosen {
    pub(crate) document: Node,
    /// The kinds of those that are not looked at, in their order.
    pub(crate) others: Vec<String>,
    /// The flags that the file's others set for the same nodes.
    pub(crate) flags: Vec<KubeletArgument>,
    /// Which of several objects for different nodes it is.
    pub(crate) choice: Option<ObjectChoice>,
    /// What in the others has no effect.
    pub(crate) warnings: Vec<Warning>,
    /// What in the others decides beside it, and is not read.
    pub(crate) unread: Vec<Warning>,
}

/// The one document with a configuration; if there is a single document, that one.
pub(crate) fn chosen(source: &Source<'_>, nodes: Vec<Node>) -> Result<Chosen, ManifestError> {
    let mut nodes = talos::with_kubelet(source, nodes)?;
    for node in &mut nodes {
        with_patches(source, node);
    }
    let nodes: Vec<Node> = match <[Node; 1]>::try_from(nodes) {
        Ok([one]) => match items(&one) {
            Some(items) => items,
            None if group_lists(&Field::document(source, &one)).is_empty()
                && machines(source, &one).is_empty()
                && steps(source, &one)?.is_empty()
                && !is_of_kubeadm(source, &one) =>
            {
                let mut document = one;
                with_pods(source, &mut document);
                return Ok(Chosen::alone(document));
            }
            None => vec![one],
        },
        Err(several) => several,
    };
    let is_one = |node: &Node| is_configuration(&Field::document(source, node));
    let (mut own, others): (Vec<Node>, Vec<Node>) = nodes.into_iter().partition(is_one);
    let (mut of_nodes, mut unread) = (Vec::new(), Vec::new());
    for other in &others {
        let other = Field::document(source, other);
        if !other.is_mapping() {
            of_nodes.push(NodeFlags::none());
            continue;
        }
        let refused = if own.is_empty() { refused_form(&other) } else { refused_beside(&other, &mut unread) };
        if let Some(error) = refused {
            return Err(error);
        }
        of_nodes.push(NodeFlags::of(&other)?);
    }
    let PickedFlags { flags, choice: of_flags, others: unseen } = picked_flags(of_nodes);
    if own.is_empty() {
        let kinds: Vec<String> = others.iter().map(|node| kind(source, node)).collect();
        // What kubeadm sets itself is in none of its other documents.
        let Some(first) = others.into_iter().find(|node| is_of_kubeadm(source, node)) else {
            return Err(no_configuration(source, &kinds));
        };
        return Ok(Chosen { choice: of_flags, ..Chosen::alone(first).with(flags) });
    }
    for document in &mut own {
        with_pods(source, document);
    }
    let mut warnings = Vec::new();
    let (document, choice) = if own.iter().all(|node| kind(source, node) == "NodeConfig") {
        let mut own = own.into_iter();
        let mut document = own.next().unwrap_or(Node { value: Value::Null, span: 0..0 });
        for next in own {
            merge(&mut document, next);
        }
        (document, None)
    } else {
        picked(source, own, &mut warnings)?
    };
    let choice = ObjectChoice::of_both(choice, of_flags);
    Ok(Chosen { document, others: unseen, flags, choice, warnings, unread })
}

impl Chosen {
    /// A document without others.
    fn alone(document: Node) -> Self {
        let (warnings, unread) = (Vec::new(), Vec::new());
        Self { document, others: Vec::new(), flags: Vec::new(), choice: None, warnings, unread }
    }

    /// With the flags of all documents in the place of its flags.
    fn with(mut self, flags: Vec<KubeletArgument>) -> Self {
        if let Value::Map(entries) = &mut self.document.value {
            entries.retain(|entry| entry.key != "nodeRegistration");
        }
        self.flags = flags;
        self
    }
}

/// Whether a document is one of kubeadm, for which it makes the kubelet's configuration.
fn is_of_kubeadm(source: &Source<'_>, node: &Node) -> bool {
    let field = Field::document(source, node);
    kind_of(&field) == ConfigKind::Part(KUBEADM_CONFIG_MAP)
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
        instead: CONFIGZ,
    };
    ManifestError::at(source, "", &(0..0), problem)
}
