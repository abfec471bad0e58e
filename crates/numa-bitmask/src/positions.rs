//! The order of an enumeration: which positions of a list each combination has.

use alloc::vec::Vec;

/// Ascending tuples of positions below `count`: all of size 1, then all of size 2, and so on.
#[derive(Clone, Debug)]
pub(crate) struct Positions {
    count: usize,
    chosen: Vec<usize>,
}

impl Positions {
    pub(crate) fn new(count: usize) -> Self {
        Self { count, chosen: Vec::new() }
    }

    /// The next tuple; `None` after the one that holds every position.
    pub(crate) fn advance(&mut self) -> Option<&[usize]> {
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
