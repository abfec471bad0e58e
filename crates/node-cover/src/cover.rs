//! Node sets that have enough of several resources.

use numa_bitmask::NodeMask;
use smallvec::SmallVec;

use crate::{OutOfSteps, Row, Rows, Solution, Steps, lowest, meet};

/// Conditions on node sets. At least one set meets them, and so does every larger set inside the bounds.
#[derive(Clone, Debug)]
pub struct Cover<'a> {
    bounds: Bounds,
    rows: SmallVec<[Row<'a>; 2]>,
}

/// The nodes that a set may contain, and those that it must contain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// No other node is used.
    pub within: NodeMask,
    /// All of these are used.
    pub must: NodeMask,
}

impl From<NodeMask> for Bounds {
    /// Any of these nodes.
    fn from(within: NodeMask) -> Self {
        Self { within, must: NodeMask::EMPTY }
    }
}

impl<'a> Cover<'a> {
    /// Sets inside the bounds that meet all `rows`; `None` if no set does.
    pub fn new(bounds: impl Into<Bounds>, rows: impl IntoIterator<Item = Row<'a>>) -> Option<Self> {
        let mut cover = Self { bounds: bounds.into(), rows: SmallVec::new() };
        for row in rows {
            match row.required(cover.within()) {
                Some(node) => cover.bounds.must = cover.must().with(node),
                None => cover.rows.push(row),
            }
        }
        cover.conditions().are_possible().then_some(cover)
    }

    /// The nodes that may be used.
    #[must_use]
    pub const fn within(&self) -> NodeMask {
        self.bounds.within
    }

    /// The nodes that every accepted set contains.
    #[must_use]
    pub const fn must(&self) -> NodeMask {
        self.bounds.must
    }

    /// The conditions beside the bounds.
    #[must_use]
    pub fn rows(&self) -> &[Row<'a>] {
        &self.rows
    }

    /// Whether `set` is accepted. The empty set never is.
    #[must_use]
    pub fn accepts(&self, set: NodeMask) -> bool {
        self.conditions().accept(set)
    }

    /// The size of the smallest accepted set.
    pub fn narrowest(&self, steps: &mut Steps) -> Result<u32, OutOfSteps> {
        self.conditions().narrowest(steps)
    }

    /// The size of the smallest accepted set; cut, the size of an accepted set without a superfluous node.
    pub fn fewest(&self, steps: &mut Steps) -> Solution<u32> {
        self.conditions().fewest(steps)
    }

    /// Of the smallest accepted sets the one with the lowest number; cut, an accepted set.
    pub fn smallest(&self, steps: &mut Steps) -> Solution<NodeMask> {
        self.conditions().smallest(steps)
    }

    fn conditions(&self) -> Conditions<'_, 'a> {
        Conditions { within: self.within(), must: self.must(), rows: &self.rows }
    }
}

/// [`Cover::fewest`] of rows that the caller keeps; `None` if no set meets them all.
pub fn fewest(bounds: impl Into<Bounds>, rows: &[Row<'_>], steps: &mut Steps) -> Option<Solution<u32>> {
    let conditions = Conditions::new(bounds.into(), rows);
    conditions.are_possible().then(|| conditions.fewest(steps))
}

/// [`Cover::smallest`] of rows that the caller keeps; `None` if no set meets them all.
pub fn smallest(
    bounds: impl Into<Bounds>,
    rows: &[Row<'_>],
    steps: &mut Steps,
) -> Option<Solution<NodeMask>> {
    let conditions = Conditions::new(bounds.into(), rows);
    conditions.are_possible().then(|| conditions.smallest(steps))
}

/// Bounds and rows, borrowed.
#[derive(Clone, Copy)]
struct Conditions<'r, 'a> {
    within: NodeMask,
    must: NodeMask,
    rows: &'r [Row<'a>],
}

impl<'r, 'a> Conditions<'r, 'a> {
    fn new(bounds: Bounds, rows: &'r [Row<'a>]) -> Self {
        Self { within: bounds.within, must: bounds.must, rows }
    }

    fn are_possible(self) -> bool {
        !self.within.is_empty()
            && self.must.is_subset(self.within)
            && self.rows.iter().all(|row| row.lack(self.within) == 0)
    }

    fn accept(self, set: NodeMask) -> bool {
        !set.is_empty()
            && set.is_subset(self.within)
            && self.must.is_subset(set)
            && self.rows.iter().all(|row| row.lack(set) == 0)
    }

    fn narrowest(self, steps: &mut Steps) -> Result<u32, OutOfSteps> {
        let rows: Rows<'_, 'a> = self.rows.iter().collect();
        let (must, from) = (self.must, self.within - self.must);
        let bound = |row: &Row<'_>| row.fewest(must, from, row.lack(must)).unwrap_or(0);
        let mut more = self.rows.iter().map(bound).max().unwrap_or(0);
        // One condition with amounts for each node: the bound is the answer.
        let is_exact = matches!(self.rows, [] | [_]) && self.rows.iter().all(Row::is_per_node);
        if !is_exact {
            while meet(&rows, must, from, more, steps)?.is_none() {
                more += 1;
            }
        }
        Ok((must.len() + more).max(1))
    }

    fn fewest(self, steps: &mut Steps) -> Solution<u32> {
        match self.narrowest(steps) {
            Ok(size) => Solution::Exact(size),
            Err(OutOfSteps) => Solution::Cut(self.irredundant().len()),
        }
    }

    fn smallest(self, steps: &mut Steps) -> Solution<NodeMask> {
        let mut best = None;
        match self.search(&mut best, steps) {
            Ok(set) => Solution::Exact(set),
            Err(OutOfSteps) => Solution::Cut(best.unwrap_or_else(|| self.irredundant())),
        }
    }

    /// `best` is an accepted set of the least size as soon as one is found.
    fn search(self, best: &mut Option<NodeMask>, steps: &mut Steps) -> Result<NodeMask, OutOfSteps> {
        let size = self.narrowest(steps)?;
        let rows: Rows<'_, 'a> = self.rows.iter().collect();
        let mut find = |keep: NodeMask, out: NodeMask| {
            let with = keep | self.must;
            if with.meets(out) || with.len() > size {
                return Ok(None);
            }
            let from = self.within - with - out;
            let found = meet(&rows, with, from, size - with.len(), steps)?;
            // No set is smaller, except the empty one where nothing is needed.
            Ok(found
                .filter(|found| !found.is_empty())
                .or_else(|| found.and(from.first()).map(NodeMask::single)))
        };
        let found = find(NodeMask::EMPTY, NodeMask::EMPTY)?;
        // A set of this size exists, since it is the size of the smallest.
        let mut witness = found.unwrap_or(self.within);
        let searched = lowest(self.within, NodeMask::EMPTY, NodeMask::EMPTY, &mut witness, find);
        *best = Some(witness);
        searched.map(|()| witness)
    }

    /// An accepted set of which no node can be left out, found without a search: the highest nodes go first.
    fn irredundant(self) -> NodeMask {
        let mut set = self.within;
        while let Some(node) = (set - self.must).iter().filter(|node| self.accept(set.without(*node))).last()
        {
            set = set.without(node);
        }
        set
    }
}
