//! The set itself, and the iterators over its members and its subsets.

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;
use core::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Not, Sub, SubAssign};

use crate::positions::Positions;
use crate::{Bits, NodeIndex};

/// A set of node positions.
///
/// `Ord` is the kubelet's *less*: the smaller 64-bit number. [`NodeMask::cmp_narrow`] is its *narrower*.
///
/// ```
/// use numa_bitmask::NodeMask;
///
/// let outer = NodeMask::of([0, 3]);
/// let inner = NodeMask::of([1, 2]);
/// assert!(inner < outer, "6 is less than 9");
/// assert!((outer & inner).is_empty());
/// assert_eq!((outer | inner), NodeMask::all(4));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NodeMask(u64);

impl NodeMask {
    /// No node at all.
    pub const EMPTY: Self = Self(0);

    /// The nodes at positions 0 to `nodes` - 1; all 64 when `nodes` is 64 or more.
    #[must_use]
    pub const fn all(nodes: usize) -> Self {
        if nodes >= NodeIndex::LIMIT { Self(u64::MAX) } else { Self((1 << nodes) - 1) }
    }

    /// The nodes at positions that are written in a program. A position that is read goes through [`NodeIndex::new`], which
    /// refuses those from 64 on.
    ///
    /// # Panics
    /// A position is 64 or more; in a constant the compiler refuses it.
    #[must_use]
    pub const fn of<const N: usize>(positions: [usize; N]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < N {
            assert!(positions[at] < NodeIndex::LIMIT, "a NUMA node's position is below 64");
            bits |= 1 << positions[at];
            at += 1;
        }
        Self(bits)
    }

    /// One node.
    #[must_use]
    pub const fn single(node: NodeIndex) -> Self {
        Self(1 << node.get())
    }

    /// The set whose word is `bits`: bit *i* is position *i*.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The word of the set.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// How many nodes are in the set.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether no node is in the set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether `node` is in the set.
    #[must_use]
    pub const fn contains(self, node: NodeIndex) -> bool {
        self.0 & (1 << node.get()) != 0
    }

    /// Whether every node of this set is in `other`; the empty set is inside every set.
    #[must_use]
    pub const fn is_subset(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether the two sets have a node in common.
    #[must_use]
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The set with `node` added.
    #[must_use]
    pub const fn with(self, node: NodeIndex) -> Self {
        Self(self.0 | 1 << node.get())
    }

    /// The set with `node` taken out.
    #[must_use]
    pub const fn without(self, node: NodeIndex) -> Self {
        Self(self.0 & !(1 << node.get()))
    }

    /// The lowest position, if there is one.
    #[must_use]
    pub const fn first(self) -> Option<NodeIndex> {
        if self.0 == 0 { None } else { Some(NodeIndex::of_bit(self.0.trailing_zeros())) }
    }

    /// The highest position, if there is one.
    #[must_use]
    pub const fn last(self) -> Option<NodeIndex> {
        if self.0 == 0 { None } else { Some(NodeIndex::of_bit(self.0.ilog2())) }
    }

    /// Fewer nodes first, then the smaller number. The kubelet's *narrower*: the first node set is narrower
    /// exactly when this is `Less`.
    #[must_use]
    pub fn cmp_narrow(self, other: Self) -> Ordering {
        self.len().cmp(&other.len()).then(self.cmp(&other))
    }

    /// The positions in ascending order.
    #[must_use]
    pub const fn iter(self) -> Members {
        Members(self.0)
    }

    /// Every non-empty subset: by size, within a size lexicographic by position. 2^len - 1 of them.
    #[must_use]
    pub fn subsets(self) -> Subsets {
        let nodes: Vec<_> = self.iter().collect();
        Subsets { positions: Positions::new(nodes.len()), nodes }
    }

    /// The binary digits, as the kubelet's log lines show a mask.
    #[must_use]
    pub const fn bits(self) -> Bits {
        Bits(self.0)
    }
}

/// The positions of a set in ascending order.
#[derive(Clone, Debug)]
pub struct Members(u64);

impl Iterator for Members {
    type Item = NodeIndex;

    fn next(&mut self) -> Option<NodeIndex> {
        let first = NodeMask(self.0).first()?;
        self.0 &= self.0 - 1;
        Some(first)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.0.count_ones() as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Members {}

/// The iterator of [`NodeMask::subsets`].
#[derive(Clone, Debug)]
pub struct Subsets {
    nodes: Vec<NodeIndex>,
    positions: Positions,
}

impl Iterator for Subsets {
    type Item = NodeMask;

    fn next(&mut self) -> Option<NodeMask> {
        let chosen = self.positions.advance()?;
        Some(chosen.iter().map(|&at| self.nodes[at]).collect())
    }
}

impl IntoIterator for NodeMask {
    type Item = NodeIndex;
    type IntoIter = Members;

    fn into_iter(self) -> Members {
        self.iter()
    }
}

impl FromIterator<NodeIndex> for NodeMask {
    fn from_iter<I: IntoIterator<Item = NodeIndex>>(nodes: I) -> Self {
        nodes.into_iter().fold(Self::EMPTY, Self::with)
    }
}

impl From<NodeIndex> for NodeMask {
    fn from(node: NodeIndex) -> Self {
        Self::single(node)
    }
}

/// `{0, 3}`: the positions.
impl fmt::Debug for NodeMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(NodeIndex::get)).finish()
    }
}

impl BitAnd for NodeMask {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitOr for NodeMask {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Sub for NodeMask {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl Not for NodeMask {
    type Output = Self;

    fn not(self) -> Self {
        Self(!self.0)
    }
}

impl BitAndAssign for NodeMask {
    fn bitand_assign(&mut self, other: Self) {
        *self = *self & other;
    }
}

impl BitOrAssign for NodeMask {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl SubAssign for NodeMask {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}
