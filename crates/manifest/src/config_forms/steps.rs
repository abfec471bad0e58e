//! What kubeadm makes a cluster's first node with, and what the nodes get that join it: flags for different nodes, as documents of
//! kubeadm and within objects of Cluster API.
//!
//! As with other objects, what nodes get that may be workers is read, and the rest is named where it differs.

use super::kind::{INIT, JOIN, PLACES, names};
use super::object_choice::ObjectChoice;
use super::{CLUSTER_API, ConfigKind, flags, kind_of};
use crate::kubelet_arguments::KubeletArgument;
use crate::merge::at_mut;
use crate::node::{Field, Node, Value};
use crate::{ManifestError, Source};

const NO_KIND: &str = "no kind";

/// The flags that a document sets for its nodes.
pub(super) struct NodeFlags {
    kind: String,
    /// Whether it sets flags for nodes of kubeadm, or could.
    is_step: bool,
    is_control_plane: bool,
    flags: Vec<KubeletArgument>,
}

impl NodeFlags {
    pub(super) fn of(document: &Field<'_>) -> Result<Self, ManifestError> {
        let (kind, _) = names(document);
        Ok(Self {
            is_step: matches!(kind, "InitConfiguration" | "JoinConfiguration"),
            is_control_plane: kind == "InitConfiguration" || document.get("controlPlane")?.is_some(),
            kind: if kind.is_empty() { NO_KIND } else { kind }.to_owned(),
            flags: flags(document)?,
        })
    }

    /// Of a document that is no mapping.
    pub(super) fn none() -> Self {
        Self { kind: NO_KIND.to_owned(), is_step: false, is_control_plane: false, flags: Vec::new() }
    }

    /// The flags without their order.
    fn texts(&self) -> Vec<&str> {
        let mut texts: Vec<&str> = self.flags.iter().map(KubeletArgument::text).collect();
        texts.sort_unstable();
        texts
    }
}

/// Flags of several documents for different nodes.
pub(super) struct PickedFlags {
    pub(super) flags: Vec<KubeletArgument>,
    /// Which are read, where others set other ones.
    pub(super) choice: Option<ObjectChoice>,
    /// The kinds of the documents that neither set the flags nor are named.
    pub(super) others: Vec<String>,
}

/// The flags of the first document for nodes that may be workers, else of the first one.
pub(super) fn picked_flags(documents: Vec<NodeFlags>) -> PickedFlags {
    let is_set = |one: &&NodeFlags| !one.flags.is_empty();
    let mut setting = documents.iter().filter(is_set);
    let first = setting.clone().find(|one| !one.is_control_plane).or_else(|| setting.next());
    let Some(first) = first else {
        let others = documents.into_iter().map(|one| one.kind).collect();
        return PickedFlags { flags: Vec::new(), choice: None, others };
    };
    let named = |is_named: &dyn Fn(&NodeFlags) -> bool| -> Vec<String> {
        documents.iter().filter(|one| is_named(one)).map(|one| one.kind.clone()).collect()
    };
    let choice = ObjectChoice {
        chosen: first.kind.clone(),
        alike: named(&|one| one.is_step && one.flags.is_empty()),
        differing: named(&|one| !one.flags.is_empty() && one.texts() != first.texts()),
    };
    let is_choice = !(choice.alike.is_empty() && choice.differing.is_empty());
    PickedFlags {
        flags: first.flags.clone(),
        choice: Some(choice).filter(|_| is_choice),
        others: named(&|one| !one.is_step && one.flags.is_empty()),
    }
}

/// An object of Cluster API once for each step, with that one alone, where its nodes are of both and get different flags; else none.
pub(super) fn steps(
    source: &Source<'_>,
    document: &Node,
) -> Result<Vec<(&'static str, Node)>, ManifestError> {
    let field = Field::document(source, document);
    if kind_of(&field) != ConfigKind::Part(CLUSTER_API) {
        return Ok(Vec::new());
    }
    let alone = |step: &'static str, other: &str| {
        let mut alone = document.clone();
        for place in PLACES {
            if let Some(Node { value: Value::Map(entries), .. }) = at_mut(&mut alone, place) {
                entries.retain(|entry| entry.key != other);
            }
        }
        let own = NodeFlags::of(&Field::document(source, &alone))?;
        Ok((own, (step, alone)))
    };
    let [(join, of_join), (init, of_init)] = [alone(JOIN, INIT)?, alone(INIT, JOIN)?];
    // A control plane has nodes of both, whether it says so or not.
    let has_both =
        !join.flags.is_empty() && !init.flags.is_empty() || names(&field).0.contains("ControlPlane");
    let are_two = has_both && join.texts() != init.texts();
    Ok(if are_two { vec![of_join, of_init] } else { Vec::new() })
}
