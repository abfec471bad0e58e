//! Enumeration in the order in which the kubelet's providers list their hints: by size, and within a size
//! lexicographic by position in the list.

use crate::positions::Positions;
use crate::{NodeIndex, NodeMask, OutOfRange};

/// Every non-empty combination of `list`, which need not be sorted and may repeat itself: by size, within a
/// size lexicographic by position in the list. `Err` stands for a combination with a number outside 0 to 63,
/// of which the kubelet cannot make a mask. 2^len - 1 items.
///
/// ```
/// use numa_bitmask::combinations;
///
/// let words: Vec<u64> = combinations(&[10, 1]).map(|mask| mask.unwrap().to_bits()).collect();
/// assert_eq!(words, [1 << 10, 1 << 1, 1 << 10 | 1 << 1]);
/// ```
#[must_use]
pub fn combinations(list: &[i64]) -> Combinations<'_> {
    Combinations { list, positions: Positions::new(list.len()) }
}

/// The iterator of [`combinations`].
#[derive(Clone, Debug)]
pub struct Combinations<'a> {
    list: &'a [i64],
    positions: Positions,
}

impl Iterator for Combinations<'_> {
    type Item = Result<NodeMask, OutOfRange>;

    fn next(&mut self) -> Option<Self::Item> {
        let chosen = self.positions.advance()?;
        Some(chosen.iter().map(|&at| NodeIndex::try_from(self.list[at])).collect())
    }
}
