//! Manifests as people apply them and clusters list them: pods, what makes pods, and what does not.
//!
//! Each object is looked at by itself, as an API server does: one that would be refused does not hide the next.

mod reader;
mod made;
mod remark;

use core::fmt;
use core::num::NonZeroUsize;
use std::collections::{BTreeMap, BTreeSet};

use pod_spec::{Pod, PodUid};

pub use self::reader::{read_manifests, read_manifests_up_to};
pub use self::remark::Remark;
use crate::claims::ClaimObjects;
use crate::dra::ResourceObjects;
use crate::operators;
use crate::position::TextPosition;
use crate::problem::Quoted;
use crate::workload::Kind;
use crate::{NodeObject, PodEvent, Refusal, Warning};

/// What a text holds.
#[derive(Clone, Debug, Default)]
pub struct Manifests {
    /// Its pods, in order, with an API server's defaults filled in; those that are made of templates too.
    pub pods: Vec<Pod>,
    /// What made those pods that are made of templates.
    pub owners: BTreeMap<PodUid, Owner>,
    /// Those that run as steps or alternatives of their owner: not beside its other pods.
    pub apart: BTreeSet<PodUid>,
    /// Notes on objects that make pods.
    pub remarks: Vec<Remark>,
    /// To which workloads the other pods belong, by their `metadata.ownerReferences`: those of a cluster have them.
    pub controllers: BTreeMap<PodUid, Owner>,
    /// Why those pods have failed that have, by their statuses.
    pub failures: BTreeMap<PodUid, Failure>,
    /// Objects that an API server would refuse, or that cannot be read. None of their pods is in `pods`.
    pub refused: Vec<Refusal>,
    /// How many lists, such as `PodList`, were read; they may be empty.
    pub lists: usize,
    /// Objects that have no pods, or none that are known of: Services and the like, and misspelt kinds
    /// ([`Skipped::meant`]).
    pub skipped: Vec<Skipped>,
    /// Objects by which pods claim devices. The claims of `pods` know the device classes of these already.
    pub claim_objects: ClaimObjects,
    /// The same objects whole, with the slices, classes and taint rules that decide on claims.
    pub resources: ResourceObjects,
    /// Nodes, of which each is in `skipped` too. One that cannot be read is not here.
    pub nodes: Vec<NodeObject>,
    /// Events about pods, likewise.
    pub events: Vec<PodEvent>,
    /// Fields that their objects do not have and that were ignored ([`UnknownFields`]).
    pub unknown_fields: Vec<Warning>,
    /// Repeated keys, of which the last one counts, and text behind a document, which is not read: kubectl takes both in
    /// silence.
    pub unnoticed: Vec<Warning>,
}

impl Manifests {
    /// Whether every object that is meant to have pods became pods. If not, answers about the pods are incomplete, and
    /// commands end with status 1.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.refused.is_empty() && self.skipped.iter().all(|skipped| skipped.meant().is_none())
    }
}

/// What becomes of objects with fields that their kind does not have in Kubernetes v1.36.3.
///
/// An object that an API server has written (it has a `metadata.resourceVersion`) was accepted there, so its unknown
/// fields are those of another release. They are always ignored and reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnknownFields {
    /// The object is refused, as by kubectl's strict validation.
    Refuse,
    /// The fields are ignored and reported in [`Manifests::unknown_fields`], as by a kubelet that reads files.
    Report,
}

/// How many pods a text may become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PodLimit {
    /// As many as it lists, and 10,000 of templates.
    Usual,
    /// As many as it lists, and 150,000 of templates: as many pods as Kubernetes supports in a cluster.
    Cluster,
    /// No more than this. A text with more is refused before the pods are made.
    AtMost(NonZeroUsize),
}

/// What makes a pod. Displays as `Deployment web`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    /// `kind` of the workload, such as `Deployment`.
    pub kind: String,
    /// Its name; may be empty.
    pub name: String,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

/// Why a pod of phase `Failed` has failed, in its kubelet's words; each is empty where there are none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Failure {
    /// `status.reason`: one word.
    pub reason: String,
    /// `status.message`: the same for people.
    pub message: String,
}

/// An object of another kind. Displays as one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Skipped {
    /// Its `apiVersion`.
    pub version: String,
    /// Its kind.
    pub kind: String,
    /// Its name; may be empty.
    pub name: String,
    place: TextPosition,
}

impl Skipped {
    /// The `apiVersion` and kind that are probably meant: a kind with pods, written otherwise or with another version.
    #[must_use]
    pub fn meant(&self) -> Option<(&'static str, &'static str)> {
        Kind::meant(&self.version, &self.kind)
    }

    /// What to give in its place where pods are wanted; `None`: it makes none.
    ///
    /// Kubernetes' own groups have no other kinds with pods, and some others are known to have none. Of a kind of any other group
    /// its operator may make pods.
    #[must_use]
    pub fn instead(&self) -> Option<&'static str> {
        let group = crate::names::group_of(&self.version);
        if self.kind == operators::KUSTOMIZATION_KIND || group == "kustomize.config.k8s.io" {
            return Some(operators::KUSTOMIZE);
        }
        if ["HelmChart", "HelmRelease"].contains(&self.kind.as_str()) {
            return Some(
                "the objects of its release: `helm get manifest RELEASE -n NAMESPACE > OBJECTS`, and OBJECTS",
            );
        }
        (!operators::is_without_pods(group, &self.kind))
            .then_some("the pods that its operator makes: `kubectl get pods -n NAMESPACE -o yaml`")
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, kind, name, place } = self;
        write!(f, "{place}: {kind} {}", Quoted(name))?;
        match self.meant() {
            Some((meant, kind)) => write!(f, " of {version} has no pods; did you mean {kind} of {meant}?"),
            None => f.write_str(" has no pods"),
        }
    }
}
