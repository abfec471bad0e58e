//! How unequal amounts are, and combinations as the kubelet walks and keeps them.

use alloc::vec::Vec;
use core::ops::ControlFlow;

/// The population standard deviation of `values` in thousandths, from a mean rounded to thousandths; both round
/// half away from zero. Integers throughout, so that equal amounts compare equal on every machine.
pub(crate) fn deviation(values: impl ExactSizeIterator<Item = i64> + Clone) -> u64 {
    let count = i64::try_from(values.len()).unwrap_or(i64::MAX).max(1);
    let twice: i64 = 2000 * values.clone().sum::<i64>();
    let mean = (twice.abs() + count) / (2 * count) * twice.signum();
    let squares: u64 = values.map(|value| (1000 * value - mean).unsigned_abs().pow(2)).sum();
    (4 * squares / count.unsigned_abs()).isqrt().div_ceil(2)
}

/// Every ascending combination of `size` positions below `count`, lexicographic, until `visit` breaks.
pub(crate) fn walk(count: usize, size: usize, mut visit: impl FnMut(&[usize]) -> ControlFlow<()>) {
    if size == 0 || size > count {
        return;
    }
    let mut chosen: Vec<usize> = (0..size).collect();
    loop {
        if visit(&chosen).is_break() {
            return;
        }
        let Some(at) = (0..size).rev().find(|&at| chosen[at] < count - size + at) else { return };
        let from = chosen[at] + 1;
        for (offset, slot) in chosen[at..].iter_mut().enumerate() {
            *slot = from + offset;
        }
    }
}

/// The best combination of a walk, kept as the kubelet keeps it: as a view of an array that the walk goes on
/// writing to.
///
/// An array grows at its 1st, 2nd, 3rd, 5th, 9th, 17th element and is copied then; what is appended in between
/// lands in the array that all combinations with the same beginning share. So of a kept combination of four the
/// last becomes that of the last combination visited that begins with the same three; of six to eight, those from
/// the sixth on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    positions: Option<Vec<usize>>,
    frozen: bool,
}

impl Kept {
    /// A walk comes by `combination`.
    pub(crate) fn pass(&mut self, combination: &[usize]) {
        let own = own_storage(combination.len());
        if let Some(kept) = &mut self.positions
            && !self.frozen
            && own < combination.len()
            && kept[..own] == combination[..own]
        {
            kept.copy_from_slice(combination);
        }
    }

    /// `combination`, which the walk is at, is the best so far.
    pub(crate) fn keep(&mut self, combination: &[usize]) {
        self.positions = Some(combination.to_vec());
        self.frozen = false;
    }

    /// The walk is over; another one does not write to this.
    pub(crate) const fn freeze(&mut self) {
        self.frozen = true;
    }

    pub(crate) fn get(&self) -> Option<&[usize]> {
        self.positions.as_deref()
    }
}

/// How many elements of a combination of `size` no later combination overwrites.
fn own_storage(size: usize) -> usize {
    match size.saturating_sub(1) {
        0 => size,
        last => 1 + (1 << last.ilog2()),
    }
}

#[cfg(test)]
mod tests {
    use super::{deviation, own_storage};

    #[test]
    fn deviation_rounds_as_the_kubelet() {
        for (values, expected) in
            [(&[4, 4, 4][..], 0), (&[1, 2], 500), (&[0, 0, 1], 471), (&[8, 6, 7, 7], 707), (&[5], 0)]
        {
            assert_eq!(deviation(values.iter().copied()), expected, "{values:?}");
        }
    }

    #[test]
    fn storage_is_shared_between_doublings() {
        let own: alloc::vec::Vec<_> = (1..=10).map(own_storage).collect();
        assert_eq!(own, [1, 2, 3, 3, 5, 5, 5, 5, 9, 9]);
    }
}
