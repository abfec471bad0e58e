//! Which node sets of a room can be reached, and finding one.
//!
//! Reachable sets are closed upwards inside their room: what is reached without a node is reached with it. So a
//! set of at most so many nodes can be filled up to the size that is wanted.

use node_cover::{Cover, OutOfSteps, Row, Rows, Steps, may_meet, meet};
use numa_bitmask::{NodeIndex, NodeMask};
use smallvec::SmallVec;

use crate::share;

/// A room and what can be reached in it.
#[derive(Debug)]
pub(crate) struct Zone<'z, 'a> {
    /// The nodes to choose from.
    pub(crate) room: NodeMask,
    pub(crate) reach: Reach<'z, 'a>,
}

/// What can be reached.
#[derive(Debug)]
pub(crate) enum Reach<'z, 'a> {
    /// Only all nodes of the room.
    Whole,
    /// Every set that is not empty.
    Any,
    /// Sets that contain `must` and with `base`, which lies outside the room, meet all rows.
    Rows { rows: Rows<'z, 'a>, must: NodeMask, base: NodeMask },
    /// Sets whose complement can be shared out among several open parts.
    Shares(SmallVec<[&'z Cover<'a>; 4]>),
}

impl<'z, 'a> Zone<'z, 'a> {
    /// What is left when the open parts have still to choose in `room`.
    pub(crate) fn of_room(room: NodeMask, covers: impl Iterator<Item = &'z Cover<'a>>) -> Self
    where
        'a: 'z,
    {
        let mut sparing: SmallVec<[&'z Cover<'a>; 4]> = SmallVec::new();
        for cover in covers {
            let base = cover.within() - room;
            if !cover.must().meets(room) && cover.rows().iter().all(|row| row.lack(base) == 0) {
                return Self { room, reach: Reach::Any };
            }
            // One that can spare no node of the room changes nothing.
            let slack = |row: &Row<'_>| row.reach(cover.within()) - u128::from(row.need());
            let slacks: SmallVec<[u128; 4]> = cover.rows().iter().map(slack).collect();
            let spares = |node| {
                let mut rows = cover.rows().iter().zip(&slacks);
                rows.all(|(row, slack)| row.loss(cover.within(), node) <= *slack)
            };
            if (room - cover.must()).iter().any(spares) {
                sparing.push(cover);
            }
        }
        let reach = match sparing.as_slice() {
            [] => Reach::Whole,
            [cover] => Reach::of_cover(cover, room),
            _ => Reach::Shares(sparing),
        };
        Self { room, reach }
    }

    /// The sets that all of `covers` accept.
    pub(crate) fn of_all(nodes: NodeMask, covers: &[&'z Cover<'a>]) -> Self {
        let room = covers.iter().fold(nodes, |room, cover| room & cover.within());
        let must = covers.iter().fold(NodeMask::EMPTY, |must, cover| must | cover.must());
        let rows = covers.iter().flat_map(|cover| cover.rows()).collect();
        Self { room, reach: Reach::Rows { rows, must, base: NodeMask::EMPTY } }
    }

    /// A reachable set of exactly `size` nodes with all of `keep` and none of `out`.
    pub(crate) fn find(
        &self,
        keep: NodeMask,
        out: NodeMask,
        size: u32,
        steps: &mut Steps,
    ) -> Result<Option<NodeMask>, OutOfSteps> {
        let left = self.room - out;
        if !keep.is_subset(left) || keep.len() > size || left.len() < size || size == 0 {
            return Ok(None);
        }
        let found = match &self.reach {
            Reach::Whole => (left == self.room).then_some(left),
            Reach::Any => Some(keep),
            Reach::Rows { rows, must, base } => {
                let fixed = keep | *must;
                if !must.is_subset(left) || fixed.len() > size {
                    return Ok(None);
                }
                let (with, from) = (fixed | *base, left - fixed);
                meet(rows, with, from, size - fixed.len(), steps)?.map(|found| found - *base)
            }
            Reach::Shares(covers) => share::find(covers, self.room, keep, out, size, steps)?,
        };
        Ok(found.filter(|found| found.len() <= size).map(|found| fill(found, left, size)))
    }

    /// Whether exactly `mask` can be reached.
    pub(crate) fn reaches(&self, mask: NodeMask, steps: &mut Steps) -> Result<bool, OutOfSteps> {
        steps.take()?;
        Ok(self.find(mask, self.room - mask, mask.len(), steps)?.is_some())
    }

    /// Whether [`Zone::find`] may find something, by bounds alone: never wrongly `false`.
    pub(crate) fn may_find(&self, keep: NodeMask, out: NodeMask, size: u32) -> bool {
        let left = self.room - out;
        if keep.len() > size || left.len() < size {
            return false;
        }
        match &self.reach {
            Reach::Rows { rows, must, base } => {
                let fixed = keep | *must;
                must.is_subset(left)
                    && fixed.len() <= size
                    && may_meet(rows, fixed | *base, left - fixed, size - fixed.len())
            }
            Reach::Whole | Reach::Any | Reach::Shares(_) => true,
        }
    }

    /// Whether a reachable set with `other` stays reachable with `node` in its place.
    pub(crate) fn is_as_good(&self, node: NodeIndex, other: NodeIndex) -> bool {
        let allows = |must: NodeMask| must.contains(node) || !must.contains(other);
        match &self.reach {
            Reach::Whole | Reach::Any => true,
            Reach::Rows { rows, must, .. } => {
                allows(*must) && rows.iter().all(|row| row.is_no_dearer(other, node))
            }
            Reach::Shares(covers) => covers.iter().all(|cover| {
                allows(cover.must()) && cover.rows().iter().all(|row| row.is_no_dearer(other, node))
            }),
        }
    }
}

impl<'z, 'a> Reach<'z, 'a> {
    /// One open part takes away whatever is taken away.
    fn of_cover(cover: &'z Cover<'a>, room: NodeMask) -> Self {
        let rows = cover.rows().iter().collect();
        Self::Rows { rows, must: cover.must() & room, base: cover.within() - room }
    }
}

/// `set` and the lowest nodes of `from`, `size` nodes in all.
pub(crate) fn fill(set: NodeMask, from: NodeMask, size: u32) -> NodeMask {
    let missing = size.saturating_sub(set.len()) as usize;
    set | (from - set).iter().take(missing).collect::<NodeMask>()
}
