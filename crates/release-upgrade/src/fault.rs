//! Faults of the kubelet that one release has and the other has not.

use std::fmt;

use kubelet_release::{Fault, Release};
use serde::Serialize;

/// A fault of the kubelet that only one of the two releases has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FaultChange {
    /// The name of its page in `docs/upstream`.
    pub fault: &'static str,
    /// What it is.
    pub title: &'static str,
    /// Whether it goes.
    pub turn: FaultTurn,
    /// What comes of it on a node.
    pub consequence: &'static str,
    /// What avoids it.
    pub cure: &'static str,
}

/// Whether a fault goes.
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
            Some(Self {
                fault: fault.id(),
                title: fault.title(),
                turn,
                consequence: fault.consequence(),
                cure: fault.cure(),
            })
        });
        changes.collect()
    }
}

impl fmt::Display for FaultChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fault, title, turn, cure, .. } = self;
        match turn {
            FaultTurn::Goes => write!(f, "goes: {title} (docs/upstream/{fault}.md)"),
            FaultTurn::Comes => {
                write!(f, "comes: {title} (docs/upstream/{fault}.md); {cure}")
            }
        }
    }
}
