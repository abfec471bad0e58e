//! Faults of the kubelet that one release has and the other has not.

use std::fmt;

use kubelet_release::{Fault, Release};
use serde::Serialize;

use crate::json;

/// A fault of the kubelet that only one of the two releases has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FaultChange {
    /// The name of its page in `docs/upstream`.
    #[serde(serialize_with = "json::fault")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub fault: Fault,
    /// Which of the releases has it.
    pub turn: FaultTurn,
}

/// Which of two releases has a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum FaultTurn {
    /// The old release has it, and the new one has not.
    Goes,
    /// The new release has it, and the old one has not.
    Comes,
}

impl FaultChange {
    pub(crate) fn all(old: Release, new: Release) -> Vec<Self> {
        let changes = Fault::ALL.iter().filter_map(|fault| {
            let turn = match (fault.is_in(old), fault.is_in(new)) {
                (true, false) => FaultTurn::Goes,
                (false, true) => FaultTurn::Comes,
                _ => return None,
            };
            Some(Self { fault: *fault, turn })
        });
        changes.collect()
    }
}

impl fmt::Display for FaultChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fault, turn } = self;
        let (title, page) = (fault.title(), fault.page());
        match turn {
            FaultTurn::Goes => write!(f, "mended: {title} ({page})"),
            FaultTurn::Comes => write!(f, "new: {title} ({page}); {}", fault.cure()),
        }
    }
}
