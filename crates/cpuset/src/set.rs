//! The set itself, and walking through it.

use core::fmt;
use core::ops::RangeInclusive;

use smallvec::{SmallVec, smallvec};

use crate::CpuId;

/// The words of a set: as many as 256 CPUs need are in the set itself.
pub(crate) type Words = SmallVec<[u64; 4]>;

/// A set of CPUs.
///
/// ```
/// use cpuset::CpuSet;
///
/// let online: CpuSet = "0-7".parse()?;
/// let reserved: CpuSet = "0,4".parse()?;
/// let shared = &online - &reserved;
/// assert_eq!(shared.to_string(), "1-3,5-7");
/// assert_eq!(shared.first().map(|cpu| cpu.get()), Some(1));
/// # Ok::<(), cpuset::ParseError>(())
/// ```
#[derive(PartialEq, Eq, Hash, Default)]
pub struct CpuSet {
    /// Bit *b* of word *w* is CPU 64 *w* + *b*. The last word is not zero, so that equal sets are equal words.
    words: Words,
}

impl Clone for CpuSet {
    /// All words at once, where a derived clone goes word by word.
    fn clone(&self) -> Self {
        Self { words: Words::from_slice(&self.words) }
    }
}

impl CpuSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { words: Words::new_const() }
    }

    /// Every CPU of `range`, both ends included; none if the ends are the wrong way round.
    #[must_use]
    pub fn range(range: RangeInclusive<CpuId>) -> Self {
        let (start, end) = (range.start().get(), range.end().get());
        if start > end {
            return Self::new();
        }
        let mut words: Words = smallvec![0; end / 64 + 1];
        for (at, word) in words.iter_mut().enumerate().skip(start / 64) {
            *word = u64::MAX;
            if at == start / 64 {
                *word &= u64::MAX << (start % 64);
            }
            if at == end / 64 {
                *word &= u64::MAX >> (63 - end % 64);
            }
        }
        Self { words }
    }

    /// How many CPUs are in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether no CPU is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether `cpu` is in the set.
    #[must_use]
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.words.get(cpu.get() / 64).is_some_and(|word| word & bit(cpu) != 0)
    }

    /// Adds `cpu`; whether it was missing before.
    pub fn insert(&mut self, cpu: CpuId) -> bool {
        let at = cpu.get() / 64;
        if at >= self.words.len() {
            self.words.resize(at + 1, 0);
        }
        let added = self.words[at] & bit(cpu) == 0;
        self.words[at] |= bit(cpu);
        added
    }

    /// Takes `cpu` out; whether it was there before.
    pub fn remove(&mut self, cpu: CpuId) -> bool {
        let removed = self.contains(cpu);
        if removed {
            self.words[cpu.get() / 64] &= !bit(cpu);
            self.trim();
        }
        removed
    }

    /// The lowest CPU, if there is one.
    #[must_use]
    pub fn first(&self) -> Option<CpuId> {
        self.iter().next()
    }

    /// The highest CPU, if there is one.
    #[must_use]
    pub fn last(&self) -> Option<CpuId> {
        let word = self.words.last()?;
        Some(CpuId::of_bit(self.words.len() - 1, word.ilog2()))
    }

    /// The CPUs in ascending order.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        Iter { words: &self.words, at: 0, left: self.words.first().copied().unwrap_or(0) }
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// The set with these bits; ids at or past the limit must not be among them.
    pub(crate) fn from_words(words: Words) -> Self {
        let mut set = Self { words };
        set.trim();
        set.words.shrink_to_fit();
        debug_assert!(set.words.len() <= CpuId::LIMIT / 64);
        set
    }

    /// Changes the words in place and restores the rule that the last is not zero.
    pub(crate) fn update(&mut self, change: impl FnOnce(&mut Words)) {
        change(&mut self.words);
        self.trim();
    }

    fn trim(&mut self) {
        let used = self.words.iter().rposition(|&word| word != 0).map_or(0, |at| at + 1);
        self.words.truncate(used);
    }
}

/// The place of `cpu` inside its word.
fn bit(cpu: CpuId) -> u64 {
    1 << (cpu.get() % 64)
}

/// The CPUs of a set in ascending order.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    words: &'a [u64],
    at: usize,
    /// The CPUs of the word at `at` that are still to be returned.
    left: u64,
}

impl Iterator for Iter<'_> {
    type Item = CpuId;

    fn next(&mut self) -> Option<CpuId> {
        while self.left == 0 {
            self.left = *self.words.get(self.at + 1)?;
            self.at += 1;
        }
        let lowest = self.left.trailing_zeros();
        self.left &= self.left - 1;
        Some(CpuId::of_bit(self.at, lowest))
    }
}

impl<'a> IntoIterator for &'a CpuSet {
    type Item = CpuId;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl FromIterator<CpuId> for CpuSet {
    fn from_iter<I: IntoIterator<Item = CpuId>>(cpus: I) -> Self {
        let mut set = Self::new();
        set.extend(cpus);
        set
    }
}

impl Extend<CpuId> for CpuSet {
    fn extend<I: IntoIterator<Item = CpuId>>(&mut self, cpus: I) {
        for cpu in cpus {
            self.insert(cpu);
        }
    }
}

impl From<CpuId> for CpuSet {
    fn from(cpu: CpuId) -> Self {
        Self::from_iter([cpu])
    }
}

/// The list text, because 128 words of bits cannot be read.
impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuSet({self})")
    }
}
