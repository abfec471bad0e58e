//! How unequal amounts are, and combinations as the kubelet walks and keeps them.

use alloc::vec::Vec;
use core::ops::ControlFlow;

/// Amounts of which number and sum are known: how unequal they are follows from the sum of their squares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub(crate) count: usize,
    pub(crate) sum: i64,
}

impl Spread {
    /// The population standard deviation in thousandths, from a mean rounded to thousandths; both round half away
    /// from zero. Integers throughout, so that equal amounts compare equal on every machine. Grows with `squares`,
    /// but not strictly: the kubelet takes amounts for equally even that differ by less.
    pub(crate) fn deviation(self, squares: i64) -> u64 {
        let count = i64::try_from(self.count).unwrap_or(i64::MAX).max(1);
        let twice = 2000 * self.sum;
        let mean = (twice.abs() + count) / (2 * count) * twice.signum();
        let deviations = 1_000_000 * squares - 2000 * mean * self.sum + count * mean * mean;
        // Less than there can be means a bound that no amounts reach.
        let deviations = deviations.max(0).unsigned_abs();
        (4 * deviations / count.unsigned_abs()).isqrt().div_ceil(2)
    }
}

/// Every ascending combination of `size` positions below `count`, lexicographic, until `visit` breaks.
pub(crate) fn walk(
    count: usize,
    size: usize,
    mut visit: impl FnMut(&[usize]) -> ControlFlow<()>,
) -> ControlFlow<()> {
    if size == 0 || size > count {
        return ControlFlow::Continue(());
    }
    let mut chosen: Vec<usize> = (0..size).collect();
    loop {
        visit(&chosen)?;
        if !advance(&mut chosen, count) {
            return ControlFlow::Continue(());
        }
    }
}

/// Makes the next combination of it; `false` at the last one.
fn advance(chosen: &mut [usize], count: usize) -> bool {
    let size = chosen.len();
    let Some(at) = (0..size).rev().find(|&at| chosen[at] < count - size + at) else { return false };
    let from = chosen[at] + 1;
    for (offset, slot) in chosen[at..].iter_mut().enumerate() {
        *slot = from + offset;
    }
    true
}

/// Where a walk ended after it had passed the combination that it kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Walked {
    /// At the last combination.
    ToTheEnd,
    /// At the next one.
    OneFurther,
}

/// What a kept combination has become when the walk is over: the kubelet keeps it as a view of an array that the
/// walk goes on writing to.
///
/// An array grows at its 1st, 2nd, 3rd, 5th, 9th, 17th element and is copied then; what is appended in between
/// lands in the array that all combinations with the same beginning share. So of a kept combination of four the
/// last becomes that of the last combination visited that begins with the same three; of six to eight, those from
/// the sixth on.
pub(crate) fn overwritten(mut kept: Vec<usize>, count: usize, walked: Walked) -> Vec<usize> {
    let own = own_storage(kept.len());
    let others = kept.len() - own;
    match walked {
        Walked::ToTheEnd => {
            for (slot, last) in kept[own..].iter_mut().zip(count - others..) {
                *slot = last;
            }
        }
        Walked::OneFurther => {
            let mut next = kept.clone();
            if advance(&mut next, count) && next[..own] == kept[..own] {
                kept = next;
            }
        }
    }
    kept
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
    use alloc::vec;

    use super::{Spread, Walked, overwritten, own_storage};

    #[test]
    fn deviation_rounds_as_the_kubelet() {
        for (values, expected) in
            [(&[4, 4, 4][..], 0), (&[1, 2], 500), (&[0, 0, 1], 471), (&[8, 6, 7, 7], 707), (&[5], 0)]
        {
            let spread = Spread { count: values.len(), sum: values.iter().sum() };
            let squares = values.iter().map(|value| value * value).sum();
            assert_eq!(spread.deviation(squares), expected, "{values:?}");
        }
    }

    #[test]
    fn storage_is_shared_between_doublings() {
        let own: vec::Vec<_> = (1..=10).map(own_storage).collect();
        assert_eq!(own, [1, 2, 3, 3, 5, 5, 5, 5, 9, 9]);
        for (kept, walked, expected) in [
            (vec![0, 1, 2], Walked::ToTheEnd, vec![0, 1, 2]),
            (vec![0, 1, 2, 3], Walked::ToTheEnd, vec![0, 1, 2, 7]),
            (vec![0, 1, 2, 3], Walked::OneFurther, vec![0, 1, 2, 4]),
            (vec![0, 1, 2, 7], Walked::OneFurther, vec![0, 1, 2, 7]),
            (vec![0, 1, 2, 3, 4, 5], Walked::ToTheEnd, vec![0, 1, 2, 3, 4, 7]),
        ] {
            assert_eq!(overwritten(kept.clone(), 8, walked), expected, "{kept:?}");
        }
    }
}
