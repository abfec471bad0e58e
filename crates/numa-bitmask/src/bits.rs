//! A mask as the kubelet's log lines show it.

use core::fmt;

/// Binary digits without prefix, at least two wide; see [`NodeMask::bits`](crate::NodeMask::bits).
///
/// The width is *w* + 2 for the largest even *w* from 2 to 62 with value > 2^*w*, else 2, filled with zeros.
/// A value of exactly 2^*w* is not above it, so {2} shows as `100` and {0, 2} as `0101`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bits(pub(crate) u64);

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = (2..=62).rev().step_by(2).find(|step| self.0 > 1 << step);
        let width = step.map_or(2, |step| step + 2);
        write!(f, "{:0width$b}", self.0)
    }
}
