//! Whether a set of at most so many nodes meets several conditions at once.
//!
//! [`meet`] branches on the node that brings most to the tightest condition, first with it, then without. Two rules keep
//! the search small:
//!
//! - *Bounds.* No condition may need more nodes than are left to choose, even if it had the best ones for itself.
//!   And all conditions together: each node brings a share of what each condition lacks, and the largest sums of
//!   shares must make up one whole for every condition.
//! - *Dominated nodes.* Where a node leads nowhere, every node that brings no more to any condition leads nowhere
//!   either, since it could be exchanged for the first.
//!
//! Example: 8 CPUs with 4, 4 and 2 free on nodes 0 to 2, and two cards on node 2. Each condition needs two and one
//! nodes, so a single node is out at once. Of two nodes: CPUs are tighter, node 0 first; then only node 1 completes
//! the CPUs, and the cards are missed. Node 1 is no better than node 0, so neither is of use: no pair will do.

use numa_bitmask::{NodeIndex, NodeMask};
use smallvec::SmallVec;

use crate::{OutOfSteps, Row, Steps};

/// Conditions of one or several covers.
pub type Rows<'r, 'a> = SmallVec<[&'r Row<'a>; 8]>;

/// What each row lacks.
type Lacks = SmallVec<[u64; 8]>;

/// `with` and at most `most` nodes of `from` that meet all `rows`; `None` if there is no such set.
pub fn meet(
    rows: &[&Row<'_>],
    with: NodeMask,
    from: NodeMask,
    most: u32,
    steps: &mut Steps,
) -> Result<Option<NodeMask>, OutOfSteps> {
    let lacks: Lacks = rows.iter().map(|row| row.lack(with)).collect();
    Search { rows, steps }.complete(with, from, most, &lacks)
}

/// Whether [`meet`] may find something, by its bounds alone: never wrongly `false`.
#[must_use]
pub fn may_meet(rows: &[&Row<'_>], with: NodeMask, from: NodeMask, most: u32) -> bool {
    let lacks: Lacks = rows.iter().map(|row| row.lack(with)).collect();
    !matches!(outlook(rows, with, from, most, &lacks), Outlook::Hopeless)
}

enum Outlook {
    Met,
    Hopeless,
    /// One row is left, and its richest nodes suffice.
    Richest(usize),
    /// This node is the most promising.
    Try(NodeIndex),
}

fn outlook(rows: &[&Row<'_>], with: NodeMask, from: NodeMask, most: u32, lacks: &[u64]) -> Outlook {
    let (mut lacking, mut tightest) = (0, (0, 0));
    for (at, (row, &lack)) in rows.iter().zip(lacks).enumerate() {
        if lack == 0 {
            continue;
        }
        lacking += 1;
        match row.fewest(with, from, lack) {
            Some(fewest) if fewest <= most => tightest = tightest.max((fewest, at)),
            _ => return Outlook::Hopeless,
        }
    }
    let at = tightest.1;
    match lacking {
        0 => Outlook::Met,
        1 if rows[at].is_per_node() => Outlook::Richest(at),
        _ => by_shares(rows, with, from, most, lacks, at),
    }
}

/// All conditions together: the share that each node brings of what each row lacks.
fn by_shares(
    rows: &[&Row<'_>],
    with: NodeMask,
    from: NodeMask,
    most: u32,
    lacks: &[u64],
    tightest: usize,
) -> Outlook {
    let mut best: Option<(f64, NodeIndex)> = None;
    let mut shares: SmallVec<[f64; NodeIndex::LIMIT]> = SmallVec::new();
    for node in from {
        let mut share = 0.0;
        for (row, &lack) in rows.iter().zip(lacks) {
            if lack > 0 {
                share += part(row.gain(with, node).min(lack), lack);
            }
        }
        shares.push(share);
        let is_better = best.is_none_or(|(best, _)| share > best);
        if is_better && rows[tightest].gain(with, node) > 0 {
            best = Some((share, node));
        }
    }
    shares.sort_unstable_by(|a, b| b.total_cmp(a));
    let reached: f64 = shares.iter().take(most as usize).sum();
    let wanted: f64 = lacks.iter().filter(|lack| **lack > 0).map(|_| 1.0).sum();
    // Far more than the rounding of some hundred additions, far less than any difference that matters.
    match best {
        Some((_, node)) if reached >= wanted - 1e-6 => Outlook::Try(node),
        _ => Outlook::Hopeless,
    }
}

#[expect(clippy::cast_precision_loss, reason = "used in a bound with a margin")]
fn part(gain: u64, lack: u64) -> f64 {
    gain as f64 / lack as f64
}

struct Search<'s, 'r, 'a> {
    rows: &'s [&'r Row<'a>],
    steps: &'s mut Steps,
}

impl Search<'_, '_, '_> {
    fn complete(
        &mut self,
        with: NodeMask,
        from: NodeMask,
        most: u32,
        lacks: &Lacks,
    ) -> Result<Option<NodeMask>, OutOfSteps> {
        let mut from = from;
        loop {
            self.steps.take()?;
            let node = match outlook(self.rows, with, from, most, lacks) {
                Outlook::Met => return Ok(Some(with)),
                Outlook::Hopeless => return Ok(None),
                Outlook::Richest(at) => return Ok(Some(self.add_richest(at, with, from, lacks[at]))),
                Outlook::Try(node) => node,
            };
            let left: Lacks = self
                .rows
                .iter()
                .zip(lacks)
                .map(|(row, lack)| if *lack == 0 { 0 } else { lack.saturating_sub(row.gain(with, node)) })
                .collect();
            let found = self.complete(with.with(node), from.without(node), most - 1, &left)?;
            if found.is_some() {
                return Ok(found);
            }
            from -= self.no_better(node, with, from, lacks);
        }
    }

    fn add_richest(&self, at: usize, with: NodeMask, from: NodeMask, lack: u64) -> NodeMask {
        let (mut set, mut left) = (with, lack);
        for (node, amount) in self.rows[at].richest().filter(|(node, _)| from.contains(*node)) {
            if left == 0 {
                break;
            }
            set = set.with(node);
            left = left.saturating_sub(amount);
        }
        set
    }

    /// The nodes of `from` that do no more than `node` for any row, itself included.
    fn no_better(&self, node: NodeIndex, with: NodeMask, from: NodeMask, lacks: &Lacks) -> NodeMask {
        let lacking = || self.rows.iter().zip(lacks).filter(|(_, lack)| **lack > 0);
        from.iter()
            .filter(|other| lacking().all(|(row, lack)| row.is_as_good(with, *lack, node, *other)))
            .collect()
    }
}
