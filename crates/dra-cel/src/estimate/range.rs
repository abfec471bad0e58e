//! Ranges of sizes and costs.

/// From the least to the most. Sums and products stay at the largest number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Range {
    pub(super) least: u64,
    pub(super) most: u64,
}

impl Range {
    pub(super) const UNKNOWN: Self = Self { least: 0, most: u64::MAX };

    pub(super) const fn new(least: u64, most: u64) -> Self {
        Self { least, most }
    }

    pub(super) const fn fixed(size: u64) -> Self {
        Self { least: size, most: size }
    }

    /// What the union of no ranges is, from which the union of `count` begins.
    pub(super) const fn of_none(count: usize) -> Self {
        Self { least: if count == 0 { 0 } else { u64::MAX }, most: 0 }
    }

    pub(super) const fn plus(self, other: Self) -> Self {
        Self { least: self.least.saturating_add(other.least), most: self.most.saturating_add(other.most) }
    }

    pub(super) const fn times(self, other: Self) -> Self {
        Self { least: self.least.saturating_mul(other.least), most: self.most.saturating_mul(other.most) }
    }

    pub(super) fn scaled(self, factor: f64) -> Self {
        Self { least: scaled(self.least, factor), most: scaled(self.most, factor) }
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self { least: self.least.min(other.least), most: self.most.max(other.most) }
    }
}

/// Rounded up.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "as cel-go"
)]
fn scaled(size: u64, factor: f64) -> u64 {
    // Casts of what is too large give the largest number.
    libm::ceil(size as f64 * factor) as u64
}
