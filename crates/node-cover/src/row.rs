//! One condition that a node set must meet, in a form that is quick to search.
//!
//! An amount above what is needed serves no better than the needed amount, so all amounts are cut to it: nothing
//! can overflow where they are added up, and bounds become tighter.

use core::cmp::Reverse;

use numa_bitmask::{NodeIndex, NodeMask};
use smallvec::SmallVec;

/// The amounts of the supplies that a node set meets must sum to `need` or more.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// At least 1.
    need: u64,
    supply: Supply<'a>,
}

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "most rows are of the large kind, and a box would allocate")]
enum Supply<'a> {
    /// Each node has a separate amount.
    PerNode(PerNode),
    /// An entry counts once, whichever of its nodes is there.
    Shared(&'a [(NodeMask, u64)]),
    /// The set must contain one of these nodes.
    Touch(NodeMask),
}

#[derive(Clone, Debug)]
struct PerNode {
    /// By position.
    amounts: [u64; NodeIndex::LIMIT],
    /// The nodes that have anything, the largest amount first, then the lower position.
    richest: SmallVec<[NodeIndex; NodeIndex::LIMIT]>,
}

impl<'a> Row<'a> {
    /// The amounts of those entries of `supply` whose nodes meet a set must sum to `need`, which is at least 1. A search
    /// that uses the row takes no node outside `within`.
    #[must_use]
    pub fn new(within: NodeMask, supply: &'a [(NodeMask, u64)], need: u64) -> Self {
        if supply.iter().any(|(nodes, _)| (*nodes & within).len() > 1) {
            return Self { need, supply: Supply::Shared(supply) };
        }
        let own = supply.iter().filter_map(|(nodes, amount)| Some(((*nodes & within).first()?, *amount)));
        Self::per_node(need, own)
    }

    /// Each node has its own amounts; those of a set must sum to `need`, which is at least 1. Several amounts of one
    /// node are added up.
    #[must_use]
    pub fn per_node(need: u64, supply: impl IntoIterator<Item = (NodeIndex, u64)>) -> Self {
        let mut amounts = [0_u64; NodeIndex::LIMIT];
        let mut within = NodeMask::EMPTY;
        for (node, amount) in supply {
            let sum = &mut amounts[node.get()];
            *sum = sum.saturating_add(amount).min(need);
            within = within.with(node);
        }
        let mut richest: SmallVec<[NodeIndex; NodeIndex::LIMIT]> = SmallVec::new();
        richest.extend(within.iter().filter(|node| amounts[node.get()] > 0));
        if !richest.is_sorted_by_key(|node| Reverse(amounts[node.get()])) {
            richest.sort_unstable_by_key(|node| (Reverse(amounts[node.get()]), *node));
        }
        Self { need, supply: Supply::PerNode(PerNode { amounts, richest }) }
    }

    /// The set must contain one of the nodes of `touch`.
    #[must_use]
    pub const fn touch(touch: NodeMask) -> Self {
        Self { need: 1, supply: Supply::Touch(touch) }
    }

    /// What has to be reached, at least 1.
    #[must_use]
    pub const fn need(&self) -> u64 {
        self.need
    }

    /// What `set` reaches, each amount cut to the need.
    #[must_use]
    pub fn reach(&self, set: NodeMask) -> u128 {
        match &self.supply {
            Supply::PerNode(PerNode { amounts, .. }) => {
                set.iter().map(|node| u128::from(amounts[node.get()])).sum()
            }
            Supply::Shared(entries) => {
                let met = entries.iter().filter(|(nodes, _)| nodes.meets(set));
                met.map(|(_, amount)| u128::from(*amount.min(&self.need))).sum()
            }
            Supply::Touch(touch) => u128::from(touch.meets(set)),
        }
    }

    /// What `set` still lacks.
    #[must_use]
    pub fn lack(&self, set: NodeMask) -> u64 {
        let reach = self.reach(set);
        if reach >= u128::from(self.need) {
            return 0;
        }
        self.need - u64::try_from(reach).unwrap_or(self.need)
    }

    /// How much more `node` brings to `set`.
    #[must_use]
    pub fn gain(&self, set: NodeMask, node: NodeIndex) -> u64 {
        match &self.supply {
            Supply::PerNode(PerNode { amounts, .. }) => amounts[node.get()],
            Supply::Shared(entries) => {
                let new = entries.iter().filter(|(nodes, _)| nodes.contains(node) && !nodes.meets(set));
                new.fold(0, |sum: u64, (_, amount)| sum.saturating_add(*amount.min(&self.need)))
            }
            Supply::Touch(touch) => u64::from(touch.contains(node) && !touch.meets(set)),
        }
    }

    /// What is lost when `node` is taken out of `set`.
    #[must_use]
    pub fn loss(&self, set: NodeMask, node: NodeIndex) -> u128 {
        match &self.supply {
            Supply::PerNode(PerNode { amounts, .. }) => u128::from(amounts[node.get()]),
            Supply::Shared(entries) => {
                let only = NodeMask::single(node);
                let lost = entries.iter().filter(|(nodes, _)| *nodes & set == only);
                lost.map(|(_, amount)| u128::from(*amount.min(&self.need))).sum()
            }
            Supply::Touch(touch) => u128::from(*touch & set == NodeMask::single(node)),
        }
    }

    /// The least number of nodes of `from` that `set`, which lacks `lack`, needs in addition: exact where each node
    /// has its own amounts, else a lower bound. `None` if all of `from` do not suffice.
    #[must_use]
    pub fn fewest(&self, set: NodeMask, from: NodeMask, lack: u64) -> Option<u32> {
        match &self.supply {
            Supply::PerNode(PerNode { amounts, richest }) => {
                let own = richest.iter().filter(|node| from.contains(**node));
                count_up_to(lack, own.map(|node| amounts[node.get()]))
            }
            Supply::Touch(touch) => count_up_to(lack, touch.meets(from).then_some(1).into_iter()),
            Supply::Shared(_) => {
                let mut gains: SmallVec<[u64; NodeIndex::LIMIT]> =
                    from.iter().map(|node| self.gain(set, node)).collect();
                gains.sort_unstable_by_key(|gain| Reverse(*gain));
                count_up_to(lack, gains.iter().copied())
            }
        }
    }

    /// How many nodes of `from` could be taken out of `set` while it loses no more than `slack`: exact where each
    /// node has its own amounts, else an upper bound.
    #[must_use]
    pub fn most_spared(&self, set: NodeMask, from: NodeMask, slack: u128) -> u32 {
        let mut losses: SmallVec<[u128; NodeIndex::LIMIT]> =
            from.iter().map(|node| self.loss(set, node)).collect();
        losses.sort_unstable();
        let mut left = slack;
        let mut spared = 0;
        for loss in losses {
            let Some(rest) = left.checked_sub(loss) else { break };
            left = rest;
            spared += 1;
        }
        spared
    }

    /// The nodes of a row with separate amounts, the largest first.
    pub(crate) fn richest(&self) -> impl Iterator<Item = (NodeIndex, u64)> {
        let per_node = match &self.supply {
            Supply::PerNode(per_node) => Some(per_node),
            Supply::Shared(_) | Supply::Touch(_) => None,
        };
        let nodes = per_node.into_iter().flat_map(|own| own.richest.iter().map(move |node| (own, *node)));
        nodes.map(|(own, node)| (node, own.amounts[node.get()]))
    }

    /// The node that every set must contain to meet the row; `None` if no single node is needed, or if the row sums amounts.
    pub(crate) fn required(&self, within: NodeMask) -> Option<NodeIndex> {
        match &self.supply {
            Supply::Touch(touch) if (*touch & within).len() == 1 => (*touch & within).first(),
            Supply::PerNode(_) | Supply::Shared(_) | Supply::Touch(_) => None,
        }
    }

    /// Whether each node has its own amounts, so that the richest nodes are the best choice.
    pub(crate) const fn is_per_node(&self) -> bool {
        matches!(self.supply, Supply::PerNode(_))
    }

    /// Whether `node` does at least as much as `other` for a `set` that lacks `lack`, whatever else is added.
    pub(crate) fn is_as_good(&self, set: NodeMask, lack: u64, node: NodeIndex, other: NodeIndex) -> bool {
        match &self.supply {
            Supply::PerNode(PerNode { amounts, .. }) => {
                amounts[node.get()] >= amounts[other.get()] || amounts[node.get()] >= lack
            }
            Supply::Touch(touch) => touch.contains(node) || !touch.contains(other),
            Supply::Shared(entries) => {
                let mut missed = entries.iter().filter(|(nodes, _)| !nodes.meets(set));
                missed.all(|(nodes, amount)| *amount == 0 || nodes.contains(node) || !nodes.contains(other))
            }
        }
    }

    /// Whether the row changes nothing when the two nodes are swapped.
    #[must_use]
    pub fn is_same(&self, a: NodeIndex, b: NodeIndex) -> bool {
        match &self.supply {
            Supply::PerNode(PerNode { amounts, .. }) => amounts[a.get()] == amounts[b.get()],
            Supply::Touch(touch) => touch.contains(a) == touch.contains(b),
            Supply::Shared(entries) => {
                entries.iter().all(|(nodes, _)| nodes.contains(a) == nodes.contains(b))
            }
        }
    }

    /// Whether taking out `node` never costs more than taking out `other`.
    #[must_use]
    pub fn is_no_dearer(&self, node: NodeIndex, other: NodeIndex) -> bool {
        match &self.supply {
            Supply::PerNode(PerNode { amounts, .. }) => amounts[node.get()] <= amounts[other.get()],
            Supply::Touch(_) | Supply::Shared(_) => self.is_same(node, other),
        }
    }
}

/// How many of the descending `amounts` sum to `lack`.
fn count_up_to(lack: u64, amounts: impl Iterator<Item = u64>) -> Option<u32> {
    let (mut left, mut count) = (lack, 0);
    if left == 0 {
        return Some(0);
    }
    for amount in amounts {
        count += 1;
        left = left.saturating_sub(amount);
        if left == 0 {
            return Some(count);
        }
    }
    None
}
