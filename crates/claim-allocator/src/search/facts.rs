//! What the search asks about pairs of an alternative and a device, when it needs to know.

use alloc::sync::Arc;
use alloc::vec::Vec;

/// Facts that depend on nothing that the search chooses. They may be worked out when they are first asked for: what is
/// never asked can never be an error.
pub(crate) trait Facts {
    /// Why allocation stops.
    type Error: Clone;

    /// Whether the device may serve the alternative at all.
    fn answer(&self, alternative: usize, device: usize) -> Answer<Self::Error>;

    /// The attribute of a constraint of the alternative's claim.
    fn value(&self, constraint: usize, alternative: usize, device: usize) -> Value<Self::Error>;

    /// The error where all devices are wanted and a constraint refuses this one.
    fn unsatisfied(&self, alternative: usize, device: usize) -> Self::Error;

    /// What a share for the alternative takes of each capacity of a shared device.
    fn share(&self, alternative: usize, device: usize) -> Vec<i128>;
}

/// Whether a device may serve an alternative.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer<E> {
    Yes,
    No,
    /// Its constraints are looked at first, then it is too small. Only where all devices are wanted.
    NoRoom,
    Error(E),
}

/// An attribute as constraints compare it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Value<E> {
    Absent,
    /// Numbers of its values with their types, in order; one unless lists are compared.
    Known(Arc<[u32]>),
    /// There, but nothing can be equal to it.
    Incomparable,
    Error(E),
}
