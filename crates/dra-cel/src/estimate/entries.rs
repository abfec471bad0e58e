//! Sizes of what lists and maps hold.

use super::range::Range;
use crate::checker::types::Type;

/// What the elements of a list or map are like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entries {
    pub(super) container: Container,
    pub(super) key: Range,
    pub(super) value: Range,
}

/// A kind of container.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Container {
    List,
    Map,
    Other,
}

impl Container {
    pub(super) const fn of(of: &Type) -> Self {
        match of {
            Type::List(_) => Self::List,
            Type::Map(_) => Self::Map,
            _ => Self::Other,
        }
    }
}
