//! Whose specification is checked.

/// What a specification is part of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SpecOwner {
    Pod,
    Template,
}
