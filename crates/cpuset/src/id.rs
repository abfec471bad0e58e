//! The number of one CPU.

use core::fmt;

use thiserror::Error;

/// A logical CPU by the kernel's number: 0 to 8191.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CpuId(u16);

/// A number that is no CPU id: negative, or at or past [`CpuId::LIMIT`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("CPU ids are 0 to {}", CpuId::LIMIT - 1)]
pub struct CpuOutOfRange;

impl CpuId {
    /// How many ids there are: the largest CPU count that Linux can be built for.
    pub const LIMIT: usize = 8192;

    /// The CPU numbered `id`, which must be below [`CpuId::LIMIT`].
    pub const fn new(id: usize) -> Result<Self, CpuOutOfRange> {
        if id < Self::LIMIT {
            #[expect(clippy::cast_possible_truncation, reason = "below 8192")]
            return Ok(Self(id as u16));
        }
        Err(CpuOutOfRange)
    }

    /// The number, for indexing tables and for printing.
    #[must_use]
    pub const fn get(self) -> usize {
        self.0 as usize
    }

    /// The id of a bit inside a set, which holds none at or past the limit.
    pub(crate) const fn of_bit(word: usize, bit: u32) -> Self {
        let id = word * 64 + bit as usize;
        debug_assert!(id < Self::LIMIT);
        #[expect(clippy::cast_possible_truncation, reason = "below 8192")]
        Self(id as u16)
    }
}

impl TryFrom<i64> for CpuId {
    type Error = CpuOutOfRange;

    fn try_from(id: i64) -> Result<Self, CpuOutOfRange> {
        usize::try_from(id).map_err(|_| CpuOutOfRange).and_then(Self::new)
    }
}

impl fmt::Display for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
