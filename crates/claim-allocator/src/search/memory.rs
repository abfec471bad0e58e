//! States that were looked at, so that none is looked at twice.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// So many states are remembered; later ones are looked at again.
const MOST_STATES: usize = 200_000;

#[derive(Debug, Default)]
pub(crate) struct Memory {
    known: BTreeMap<Vec<u32>, Outlook>,
    entries: u32,
}

impl Memory {
    pub(crate) fn known(&self, key: &[u32]) -> Option<Outlook> {
        self.known.get(key).copied()
    }

    pub(crate) fn remember(&mut self, key: Vec<u32>, outlook: Outlook) {
        if self.known.len() < MOST_STATES {
            self.known.insert(key, outlook);
        }
    }

    /// A number for a request that is already begun in the real order.
    pub(crate) fn begin(&mut self) -> u32 {
        self.entries += 1;
        self.entries
    }
}

/// How a search from a state can end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outlook {
    /// A solution or an error can be reached.
    Ends,
    /// Neither. The real allocator makes so many calls to find that out, if they are counted.
    Fails(u128),
}

impl Outlook {
    /// Both, one after the other.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Fails(a), Self::Fails(b)) => Self::Fails(a.saturating_add(b)),
            (Self::Ends, _) | (_, Self::Ends) => Self::Ends,
        }
    }

    pub(crate) fn after_calls(self, calls: u128) -> Self {
        self.and(Self::Fails(calls))
    }

    pub(crate) fn times(self, factor: u128) -> Self {
        match self {
            Self::Fails(calls) => Self::Fails(calls.saturating_mul(factor)),
            Self::Ends => Self::Ends,
        }
    }
}
