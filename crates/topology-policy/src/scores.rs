//! What a placement strategy makes of each NUMA node.

use numa_bitmask::{NodeIndex, NodeMask};

/// A score for each node, by position. Of node sets that the kubelet ranks equal, the one with the smallest sum wins.
///
/// ```
/// use numa_bitmask::NodeMask;
/// use topology_policy::NodeScores;
///
/// let scores = NodeScores::new([3, 0, 5]);
/// assert_eq!(scores.sum(NodeMask::from_bits(0b101)), 8);
/// // A node without a score costs nothing.
/// assert_eq!(scores.sum(NodeMask::from_bits(0b1000)), 0);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeScores([u16; NodeIndex::LIMIT]);

impl NodeScores {
    /// The highest score of one node; what is above it counts as this.
    pub const MAX: u16 = 1023;

    /// No sum of scores is above it: 64 nodes with [`NodeScores::MAX`] each.
    pub const MAX_SUM: u32 = 64 * 1023;

    /// Scores of the nodes in ascending position, 0 to [`NodeScores::MAX`] each.
    #[must_use]
    pub fn new(scores: impl IntoIterator<Item = u16>) -> Self {
        let mut by_position = [0; NodeIndex::LIMIT];
        for (place, score) in by_position.iter_mut().zip(scores) {
            *place = score.min(Self::MAX);
        }
        Self(by_position)
    }

    /// The score of one node.
    #[must_use]
    pub fn of(&self, node: NodeIndex) -> u16 {
        self.0[node.get()]
    }

    /// The sum of the scores of `mask`: at most [`NodeScores::MAX_SUM`].
    #[must_use]
    pub fn sum(&self, mask: NodeMask) -> u32 {
        mask.iter().map(|node| u32::from(self.of(node))).sum()
    }
}
