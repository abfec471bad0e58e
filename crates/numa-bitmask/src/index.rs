//! The position of one node.

use thiserror::Error;

/// Position of a NUMA node in its machine: 0 to 63, dense, in ascending node id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeIndex(u8);

/// A position outside 0 to 63. The text is the kubelet's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("bit number must be in range 0-63")]
pub struct OutOfRange;

impl NodeIndex {
    /// How many positions there are.
    pub const LIMIT: usize = 64;

    /// The position `index`, which must be below [`NodeIndex::LIMIT`].
    pub const fn new(index: usize) -> Result<Self, OutOfRange> {
        if index < Self::LIMIT {
            #[expect(clippy::cast_possible_truncation, reason = "below 64")]
            return Ok(Self(index as u8));
        }
        Err(OutOfRange)
    }

    /// The position as a number, for indexing tables.
    #[must_use]
    pub const fn get(self) -> usize {
        self.0 as usize
    }

    /// The position of a bit of a word; `bit` is below 64 because `trailing_zeros` of a non-zero word is.
    pub(crate) const fn of_bit(bit: u32) -> Self {
        debug_assert!(bit < 64);
        #[expect(clippy::cast_possible_truncation, reason = "below 64")]
        Self(bit as u8)
    }
}

impl TryFrom<i64> for NodeIndex {
    type Error = OutOfRange;

    fn try_from(index: i64) -> Result<Self, OutOfRange> {
        usize::try_from(index).map_err(|_| OutOfRange).and_then(Self::new)
    }
}
