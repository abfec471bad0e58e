//! The kubelet's list text: `0-3,8`.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use thiserror::Error;

use crate::{AtoiError, CpuId, CpuSet, go_atoi, go_quote};

/// Why a text is not a CPU list. The texts are the kubelet's, except that of [`ParseError::TooLarge`].
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ParseError {
    /// A piece is not a number.
    #[error(transparent)]
    Number(#[from] AtoiError),
    /// A range that ends before it starts.
    #[error("invalid range {} ({start} > {end})", go_quote(.range))]
    InvalidRange {
        /// The range as it was written.
        range: String,
        /// The number before the first `-`.
        start: i64,
        /// The number after it.
        end: i64,
    },
    /// A good list that names a CPU past [`CpuId::LIMIT`]. The kubelet would take it, or run out of memory.
    #[error("CPU {0} is out of range: ids are 0 to {last}", last = CpuId::LIMIT - 1)]
    TooLarge(i64),
}

/// The kubelet's grammar: the empty text is the empty set; else numbers and ranges `a-b`, joined by commas, in
/// any order, overlapping or not. An optional `+` and leading zeros are fine; blanks and newlines are not.
/// Of several faults the first counts, but one that the kubelet knows comes before [`ParseError::TooLarge`].
impl FromStr for CpuSet {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut set = Self::new();
        let mut too_large = None;
        if text.is_empty() {
            return Ok(set);
        }
        for part in text.split(',') {
            let (start, end) = match part.split_once('-') {
                Some((start, end)) => (go_atoi(start)?, go_atoi(end)?),
                None => go_atoi(part).map(|only| (only, only))?,
            };
            if start > end {
                return Err(ParseError::InvalidRange { range: part.to_owned(), start, end });
            }
            // What comes before a dash has no minus sign, so only the upper limit can be missed.
            match (CpuId::try_from(start), CpuId::try_from(end)) {
                (Ok(start), Ok(end)) => set |= &Self::range(start..=end),
                _ => too_large = too_large.or(Some(end)),
            }
        }
        match too_large {
            Some(id) => Err(ParseError::TooLarge(id)),
            None => Ok(set),
        }
    }
}

/// The kubelet's canonical list: ascending, neighbours as `a-b` (also two of them), the empty set as no text.
impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().map(CpuId::get).peekable();
        let mut separator = "";
        while let Some(start) = cpus.next() {
            let mut end = start;
            while let Some(next) = cpus.next_if_eq(&(end + 1)) {
                end = next;
            }
            write!(f, "{separator}{start}")?;
            if end > start {
                write!(f, "-{end}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}
