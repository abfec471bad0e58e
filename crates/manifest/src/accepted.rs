//! Pods from outside: what an API server would refuse is refused here too.

use core::fmt;

use pod_spec::{Pod, PodRules};

use crate::{ManifestError, Refusal, Source, UnknownFields, Warning, read_manifests, read_pods_with};

/// Why none of a text's pods is taken. Displays as kubectl shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotAccepted {
    /// The text cannot be read, or something in it is no pod.
    Unreadable(ManifestError),
    /// What an API server would refuse; at least one.
    Refused(Vec<Refusal>),
}

impl fmt::Display for NotAccepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => error.fmt(f),
            Self::Refused(all) => {
                f.write_str(&all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
            }
        }
    }
}

impl core::error::Error for NotAccepted {}

impl From<ManifestError> for NotAccepted {
    fn from(error: ManifestError) -> Self {
        Self::Unreadable(error)
    }
}

/// Pods of a file, and what in them was ignored.
#[derive(Clone, Debug, Default)]
pub struct AcceptedPods {
    /// The pods, in order.
    pub pods: Vec<Pod>,
    /// Fields that pods do not have, which the kubelet ignores as well.
    pub unknown_fields: Vec<Warning>,
}

/// [`read_pods_with`] for pods that no API server has looked at: one that it would refuse refuses them all. Fields that
/// pods do not have are ignored and reported, as the kubelet ignores them in files.
///
/// # Errors
/// Everything that an API server would complain of; else the first thing that is wrong.
pub fn read_accepted_pods(
    source: &Source<'_>,
    rules: impl Into<PodRules>,
) -> Result<AcceptedPods, NotAccepted> {
    let rules = rules.into();
    let read = read_manifests(source, rules, UnknownFields::Report)?;
    if !read.refused.is_empty() {
        return Err(NotAccepted::Refused(read.refused));
    }
    let pods = read_pods_with(source, rules)?;
    Ok(AcceptedPods { pods, unknown_fields: read.unknown_fields })
}
