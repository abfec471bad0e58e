//! Union, intersection, difference, and the comparisons that need no new set.

use core::iter::zip;
use core::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Sub, SubAssign};

use crate::CpuSet;

impl CpuSet {
    /// Whether every CPU of this set is in `other`; the empty set is inside every set.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.words().len() <= other.words().len()
            && zip(self.words(), other.words()).all(|(ours, theirs)| ours & !theirs == 0)
    }

    /// Whether the two sets have no CPU in common.
    #[must_use]
    pub fn is_disjoint(&self, other: &Self) -> bool {
        zip(self.words(), other.words()).all(|(ours, theirs)| ours & theirs == 0)
    }

    /// How many CPUs the two sets have in common.
    #[must_use]
    pub fn intersection_len(&self, other: &Self) -> usize {
        zip(self.words(), other.words()).map(|(ours, theirs)| (ours & theirs).count_ones() as usize).sum()
    }
}

impl BitOrAssign<&CpuSet> for CpuSet {
    fn bitor_assign(&mut self, other: &CpuSet) {
        self.update(|words| {
            if words.len() < other.words().len() {
                words.resize(other.words().len(), 0);
            }
            for (ours, theirs) in zip(words.as_mut_slice(), other.words()) {
                *ours |= theirs;
            }
        });
    }
}

impl BitAndAssign<&CpuSet> for CpuSet {
    fn bitand_assign(&mut self, other: &CpuSet) {
        self.update(|words| {
            words.truncate(other.words().len());
            for (ours, theirs) in zip(words.as_mut_slice(), other.words()) {
                *ours &= theirs;
            }
        });
    }
}

impl SubAssign<&CpuSet> for CpuSet {
    fn sub_assign(&mut self, other: &CpuSet) {
        self.update(|words| {
            for (ours, theirs) in zip(words.as_mut_slice(), other.words()) {
                *ours &= !theirs;
            }
        });
    }
}

impl BitOr for &CpuSet {
    type Output = CpuSet;

    fn bitor(self, other: &CpuSet) -> CpuSet {
        let mut union = self.clone();
        union |= other;
        union
    }
}

impl BitAnd for &CpuSet {
    type Output = CpuSet;

    fn bitand(self, other: &CpuSet) -> CpuSet {
        let mut common = self.clone();
        common &= other;
        common
    }
}

impl Sub for &CpuSet {
    type Output = CpuSet;

    fn sub(self, other: &CpuSet) -> CpuSet {
        let mut rest = self.clone();
        rest -= other;
        rest
    }
}
