//! Enumeration in the order in which the kubelet's providers list their hints: by size, and within a size
//! lexicographic by position in the list.

use alloc::vec::Vec;

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

/// The iterator of [`NodeMask::subsets`].
#[derive(Clone, Debug)]
pub struct Subsets {
    nodes: Vec<NodeIndex>,
    positions: Positions,
}

impl Subsets {
    pub(crate) fn new(mask: NodeMask) -> Self {
        let nodes: Vec<_> = mask.iter().collect();
        Self { positions: Positions::new(nodes.len()), nodes }
    }
}

impl Iterator for Subsets {
    type Item = NodeMask;

    fn next(&mut self) -> Option<NodeMask> {
        let chosen = self.positions.advance()?;
        Some(chosen.iter().map(|&at| self.nodes[at]).collect())
    }
}

/// Ascending tuples of positions below `count`: all of size 1, then all of size 2, and so on.
#[derive(Clone, Debug)]
struct Positions {
    count: usize,
    chosen: Vec<usize>,
}

impl Positions {
    fn new(count: usize) -> Self {
        Self { count, chosen: Vec::new() }
    }

    /// The next tuple; `None` after the one that holds every position.
    fn advance(&mut self) -> Option<&[usize]> {
        let size = self.chosen.len();
        let movable = (0..size).rev().find(|&at| self.chosen[at] < self.count - size + at);
        match movable {
            Some(at) => {
                let from = self.chosen[at] + 1;
                for (offset, slot) in self.chosen[at..].iter_mut().enumerate() {
                    *slot = from + offset;
                }
            }
            None if size < self.count => {
                self.chosen.clear();
                self.chosen.extend(0..=size);
            }
            None => return None,
        }
        Some(&self.chosen)
    }
}
