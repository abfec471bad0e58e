//! Which of two node sets of equal size wins: by average distance and by score where asked for, else by number.

use alloc::vec::Vec;
use core::cmp::Ordering;

use numa_bitmask::{NodeIndex, NodeMask};
use thiserror::Error;

use crate::scores::NodeScores;

/// What decides between node sets of equal size.
#[derive(Clone, Copy, Debug, Default)]
pub enum Ties<'a> {
    /// The lower number.
    #[default]
    LowestNumber,
    /// The smaller average distance (`prefer-closest-numa-nodes`), then the lower number.
    Closest(&'a Distances),
    /// The smaller average distance where `distances` are given, then the smaller sum of scores, then the lower number.
    /// Not the kubelet's: a placement strategy of your own.
    Scored {
        /// Decides before the scores, where it is on.
        distances: Option<&'a Distances>,
        /// What each node costs.
        scores: &'a NodeScores,
    },
}

impl<'a> Ties<'a> {
    /// What decides first.
    pub(crate) const fn distances(self) -> Option<&'a Distances> {
        match self {
            Self::LowestNumber | Self::Scored { distances: None, .. } => None,
            Self::Closest(distances) | Self::Scored { distances: Some(distances), .. } => Some(distances),
        }
    }

    /// What decides next.
    pub(crate) const fn scores(self) -> Option<&'a NodeScores> {
        match self {
            Self::LowestNumber | Self::Closest(_) => None,
            Self::Scored { scores, .. } => Some(scores),
        }
    }
}

/// How an entry of a distance row is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DistanceIndex {
    /// By node id, as the kubelet does. Wrong or missing where ids have gaps, since a row has one entry for each
    /// online node.
    ByNodeId,
    /// By position, as the kernel writes rows.
    #[default]
    ByPosition,
}

/// The distances of a machine.
#[derive(Clone, PartialEq, Debug)]
pub struct Distances {
    /// Row by position of the node; `None`: not known.
    rows: Vec<Option<Vec<u64>>>,
    /// For each position the column that holds it; `None`: no row can hold it.
    columns: Vec<Option<usize>>,
}

/// A distance that decides a tie is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("distance between the nodes at positions {} and {} is not known", from.get(), to.get())]
pub struct MissingDistance {
    /// Position of the first node.
    pub from: NodeIndex,
    /// Position of the second node.
    pub to: NodeIndex,
}

impl Distances {
    /// `nodes` in ascending id order: id and distance row.
    #[must_use]
    pub fn new(nodes: impl IntoIterator<Item = (i64, Option<Vec<u64>>)>, index: DistanceIndex) -> Self {
        let (mut rows, mut columns) = (Vec::new(), Vec::new());
        for (position, (id, row)) in nodes.into_iter().enumerate() {
            rows.push(row);
            columns.push(match index {
                DistanceIndex::ByNodeId => usize::try_from(id).ok(),
                DistanceIndex::ByPosition => Some(position),
            });
        }
        Self { rows, columns }
    }

    fn between(&self, from: NodeIndex, to: NodeIndex) -> Option<u64> {
        let column = *self.columns.get(to.get())?;
        self.rows.get(from.get())?.as_ref()?.get(column?).copied()
    }

    /// A distance of a size that real machines have: sums of them are exact in floats.
    pub(crate) fn small(&self, from: NodeIndex, to: NodeIndex) -> Option<u32> {
        let distance = self.between(from, to)?;
        u32::try_from(distance).ok().filter(|distance| *distance <= 1 << 20)
    }

    /// The sum over all ordered pairs of nodes of `mask`, where all distances are small.
    pub(crate) fn sum(&self, mask: NodeMask) -> Option<u64> {
        let mut sum = 0;
        for from in mask {
            for to in mask {
                sum += u64::from(self.small(from, to)?);
            }
        }
        Some(sum)
    }

    /// The narrower of two node sets; of equally wide ones the one with the smaller average distance, then the lower
    /// number. Distances are looked up for equally wide sets only.
    pub fn closest(&self, a: NodeMask, b: NodeMask) -> Result<NodeMask, MissingDistance> {
        if a.len() != b.len() {
            return Ok(if a.cmp_narrow(b).is_lt() { a } else { b });
        }
        let closer = self.average(a)?.total_cmp(&self.average(b)?).then(a.cmp(&b)).is_lt();
        Ok(if closer { a } else { b })
    }

    /// The average distance of `mask`: over all ordered pairs of its nodes, each node with itself included, summed
    /// in ascending order in 64-bit floats as the kubelet does. 0 for the empty set.
    pub fn average(&self, mask: NodeMask) -> Result<f64, MissingDistance> {
        let mut sum = 0.0;
        for from in mask {
            for to in mask {
                #[expect(clippy::cast_precision_loss, reason = "the kubelet converts each distance too")]
                let distance = self.between(from, to).ok_or(MissingDistance { from, to })? as f64;
                sum += distance;
            }
        }
        let pairs = f64::from(mask.len() * mask.len());
        Ok(if mask.is_empty() { 0.0 } else { sum / pairs })
    }
}

/// Keeps the winner of node sets of equal size.
#[derive(Clone, Debug)]
pub(crate) struct Tie<'a> {
    ties: Ties<'a>,
    best: Option<NodeMask>,
    /// Average distance of `best`, once it was needed.
    average: Option<f64>,
    /// Sets that were offered, for those who want to see them.
    seen: Option<Offers>,
}

/// What was offered.
#[derive(Clone, Debug)]
struct Offers {
    masks: Vec<NodeMask>,
    /// How many are wanted.
    wanted: usize,
}

impl<'a> Tie<'a> {
    pub(crate) const fn new(ties: Ties<'a>) -> Self {
        Self { ties, best: None, average: None, seen: None }
    }

    /// Keeps what is offered too; `wanted` sets of one size are enough.
    pub(crate) fn recording(ties: Ties<'a>, wanted: usize) -> Self {
        Self { seen: Some(Offers { masks: Vec::new(), wanted }), ..Self::new(ties) }
    }

    pub(crate) const fn best(&self) -> Option<NodeMask> {
        self.best
    }

    pub(crate) const fn ties(&self) -> Ties<'a> {
        self.ties
    }

    /// What was offered, if it is recorded.
    pub(crate) fn seen(&self) -> &[NodeMask] {
        self.seen.as_ref().map_or(&[], |seen| &seen.masks)
    }

    /// How many sets of one size are wanted besides the best.
    pub(crate) fn wanted(&self) -> Option<usize> {
        self.seen.as_ref().map(|seen| seen.wanted)
    }

    /// Keeps a set without letting it compete.
    pub(crate) fn record(&mut self, mask: NodeMask) {
        if let Some(seen) = &mut self.seen {
            seen.masks.push(mask);
        }
    }

    /// Forgets the best, but not what is recorded.
    pub(crate) const fn forget(&mut self) {
        self.best = None;
        self.average = None;
    }

    /// Offers a set of any size: the narrower wins, and the empty one is no set.
    pub(crate) fn offer_narrower(&mut self, mask: NodeMask) -> Result<(), MissingDistance> {
        let narrowest = self.best.map_or(u32::MAX, NodeMask::len);
        if mask.is_empty() {
            return Ok(());
        }
        if mask.len() > narrowest {
            self.record(mask);
            return Ok(());
        }
        if mask.len() < narrowest {
            self.forget();
        }
        self.offer(mask)
    }

    /// Offers one more set of the same size.
    pub(crate) fn offer(&mut self, mask: NodeMask) -> Result<(), MissingDistance> {
        self.record(mask);
        let Some(best) = self.best else {
            self.best = Some(mask);
            return Ok(());
        };
        if best == mask {
            return Ok(());
        }
        let costs = |scores: &NodeScores| scores.sum(mask).cmp(&scores.sum(best));
        let by_score = self.ties.scores().map_or(Ordering::Equal, costs).then(mask.cmp(&best));
        let Some(distances) = self.ties.distances() else {
            if by_score.is_lt() {
                self.best = Some(mask);
            }
            return Ok(());
        };
        let current = match self.average {
            Some(average) => average,
            None => distances.average(best)?,
        };
        let offered = distances.average(mask)?;
        let closer = offered.total_cmp(&current).then(by_score).is_lt();
        self.average = Some(if closer { offered } else { current });
        if closer {
            self.best = Some(mask);
        }
        Ok(())
    }
}
