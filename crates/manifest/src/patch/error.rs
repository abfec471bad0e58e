//! Why a text cannot be patched.

use kubernetes_yaml::edit::Obstacle;
use thiserror::Error;

use crate::ManifestError;

/// Why a text cannot be patched.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PatchError {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ManifestError),
    /// The change of this field would change something else.
    #[error("{0} cannot be changed in place: anchors, aliases or merged keys tie it to other fields")]
    Tied(String),
    /// The keys around this field are written in a way that is not edited.
    #[error(
        "{0} cannot be changed in place: not every key beside it stands plainly at the start of a line, or in brackets"
    )]
    Keys(String),
    /// The values around this field are written in a way that is not edited.
    #[error(
        "{0} cannot be changed in place: it stands in brackets, where a value has an anchor or a tag, or a key has no value"
    )]
    Values(String),
}

impl PatchError {
    pub(super) fn of(obstacle: Obstacle, field: &str) -> Self {
        match obstacle {
            Obstacle::Elsewhere => Self::Tied(field.to_owned()),
            Obstacle::Keys => Self::Keys(field.to_owned()),
            Obstacle::Values => Self::Values(field.to_owned()),
        }
    }
}
