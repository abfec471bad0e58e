//! Manifests as people apply them and clusters list them: pods, what makes pods, and what does not.
//!
//! Each object is looked at by itself, as an API server does: one that would be refused does not hide the next.

mod reader;

use core::fmt;
use core::num::NonZeroUsize;
use std::collections::{BTreeMap, BTreeSet};

use cpuset::go_quote;
use pod_spec::{Pod, PodUid};

pub use self::reader::{read_manifests, read_manifests_up_to};
use crate::claims::ClaimObjects;
use crate::position::TextPosition;
use crate::problem::Quoted;
use crate::workload::Kind;
use crate::{ManifestError, Problem, Style, Warning};

/// What a text holds.
#[derive(Clone, Debug, Default)]
pub struct Manifests {
    /// Its pods, in order, with an API server's defaults filled in; those that are made of templates too.
    pub pods: Vec<Pod>,
    /// What made those pods that are made of templates.
    pub owners: BTreeMap<PodUid, Owner>,
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
    /// Fields that their objects do not have and that were ignored ([`UnknownFields`]).
    pub unknown_fields: Vec<Warning>,
}

impl Manifests {
    /// Whether every object that is meant to have pods became pods. If not, what is said of the pods is not all there is
    /// to say: commands end with status 1.
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

/// An object that is refused. Displays as kubectl shows it, over several lines if there is more than one cause. Names of
/// fields start at the object, also in lists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Its kind.
    pub kind: String,
    /// Its name; may be empty.
    pub name: String,
    /// All that is wrong with it, each with its place; one to a hundred. What an API server would complain of are
    /// [`Problem::Refused`]; an object with unknown fields has only those ([`Problem::UnknownObjectField`]); anything
    /// else stands alone.
    pub causes: Vec<ManifestError>,
}

impl Refusal {
    /// Every cause with the lines it is about, without a newline at the end. The same mistake in several places is shown in
    /// the first, and the others are listed.
    #[must_use]
    pub fn render(&self, style: Style) -> String {
        let mut shown: Vec<Vec<&ManifestError>> = Vec::new();
        let mut texts: Vec<String> = Vec::new();
        for mut same in self.mistakes() {
            let places = |same: &[&ManifestError]| -> Vec<(usize, usize)> {
                same.iter().map(|cause| (cause.line(), cause.column())).collect()
            };
            // What a limit says is its request too, unless that is set.
            let mut seen = BTreeSet::new();
            same.retain(|cause| seen.insert((cause.line(), cause.column())));
            // Two complaints about the same places need one picture.
            if shown.iter().any(|other| places(other) == places(&same)) {
                let places = if same.len() > 1 { "places" } else { "place" };
                texts.extend(
                    same.first().map(|cause| format!("and in the same {places}: {}", cause.problem())),
                );
                continue;
            }
            let mut rest = same.iter();
            texts.extend(rest.next().map(|first| first.render(style)));
            let also = |cause: &&ManifestError| {
                format!("also line {}, column {}: {}", cause.line(), cause.column(), cause.field())
            };
            texts.extend(rest.by_ref().take(MOST_PLACES).map(also));
            let left = rest.count();
            texts.extend((left > 0).then(|| format!("and in {left} more places")));
            shown.push(same);
        }
        texts.join("\n")
    }

    /// The causes, those that say the same of different places together.
    fn mistakes(&self) -> Vec<Vec<&ManifestError>> {
        let mut mistakes: Vec<(String, Vec<&ManifestError>)> = Vec::new();
        for cause in &self.causes {
            let text = match cause.problem() {
                // Its words name the field.
                Problem::UnknownObjectField { .. } => cause.title(),
                problem => problem.to_string(),
            };
            match mistakes.iter_mut().find(|(other, _)| *other == text) {
                Some((_, same)) => same.push(cause),
                None => mistakes.push((text, vec![cause])),
            }
        }
        mistakes.into_iter().map(|(_, same)| same).collect()
    }
}

/// So many further places of one mistake are listed.
const MOST_PLACES: usize = 8;

impl Refusal {
    /// The API server's words for strict decoding, with what may have been meant.
    fn write_unknown_fields(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, .. } = self;
        let version = Kind::version_of(kind);
        write!(f, "{kind} in version {version:?} cannot be handled as a {kind}: strict decoding error: ")?;
        for (at, cause) in self.causes.iter().enumerate() {
            write!(f, "{}{}", if at > 0 { ", " } else { "" }, cause.title())?;
            if let Problem::UnknownObjectField { meant: Some(meant), .. } = cause.problem() {
                write!(f, " (did you mean {meant:?}?)")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [first, ..] = self.causes.as_slice()
            && matches!(first.problem(), Problem::UnknownObjectField { .. })
        {
            return self.write_unknown_fields(f);
        }
        match self.causes.as_slice() {
            // What is no complaint of an API server's has words of its own.
            [only] if !matches!(only.problem(), Problem::Refused(_)) => return write!(f, "{only}"),
            _ => write!(f, "The {} {} is invalid: ", self.kind, go_quote(&self.name))?,
        }
        match self.causes.as_slice() {
            [only] => f.write_str(&only.title()),
            causes => causes.iter().try_for_each(|cause| write!(f, "\n* {}", cause.title())),
        }
    }
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
        Kind::meant(&self.kind)
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, kind, name, place } = self;
        write!(f, "{place}: {kind} {} of {version} is skipped: no pods are read from it", Quoted(name))?;
        match self.meant() {
            Some((version, kind)) => write!(f, "; did you mean {kind} of {version}?"),
            None => Ok(()),
        }
    }
}
