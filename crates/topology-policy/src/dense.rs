//! Lists of hints on machines of up to twelve nodes: node sets as bits of one bitmap, and nothing allocated.
//!
//! A bitmap has one bit for each of the 2^n node sets. What all lists prefer is an intersection of bitmaps. What can
//! be reached otherwise grows list by list: every set reached so far, intersected with every set of the list. Two
//! large bitmaps are combined by counting instead of pair by pair: the number of sets that contain x is taken for
//! both, multiplied, and what belongs to larger sets is taken off again, which leaves the number of pairs whose
//! intersection is x.

use numa_bitmask::NodeMask;
use smallvec::SmallVec;
use topology_hint::{Affinity, Answer, Answers, ForeignNodes, Hint, ListedHint};

use crate::distance::Tie;
use crate::work::Stop;

/// What a merge of lists gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DenseOutcome {
    /// The tie holds the best preferred set.
    Preferred,
    /// The tie holds the best set that can be reached, if there is one.
    Reached,
    /// These answers or this machine are none of this module's.
    NotHere,
}

/// Merges lists; `tie` holds nothing yet.
pub(crate) fn merge(nodes: NodeMask, answers: &Answers, tie: &mut Tie<'_>) -> Result<DenseOutcome, Stop> {
    let are_lists = answers.iter().all(|(_, answer)| !matches!(answer, Answer::Family(_)));
    match u64::BITS - nodes.to_bits().leading_zeros() {
        _ if !are_lists => Ok(DenseOutcome::NotHere),
        width @ 0..=6 => Dense::<1> { nodes, width }.merge(answers, tie),
        width @ 7..=8 => Dense::<4> { nodes, width }.merge(answers, tie),
        width @ 9..=12 => Dense::<64> { nodes, width }.merge(answers, tie),
        _ => Ok(DenseOutcome::NotHere),
    }
}

/// Every intersection of one hint of each list in the machine's nodes, but the empty one, in ascending number;
/// `None` on a larger machine.
pub(crate) fn intersections<'l>(
    nodes: NodeMask,
    lists: impl Iterator<Item = &'l [ListedHint]>,
) -> Option<SmallVec<[NodeMask; 64]>> {
    match u64::BITS - nodes.to_bits().leading_zeros() {
        width @ 0..=6 => Some(Dense::<1> { nodes, width }.fold(lists).iter().collect()),
        width @ 7..=8 => Some(Dense::<4> { nodes, width }.fold(lists).iter().collect()),
        width @ 9..=12 => Some(Dense::<64> { nodes, width }.fold(lists).iter().collect()),
        _ => None,
    }
}

/// The node sets of a machine with up to `width` positions, in words of 64.
struct Dense<const WORDS: usize> {
    nodes: NodeMask,
    width: u32,
}

/// One bit for each node set.
#[derive(Clone, Copy)]
struct Bitmap<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Dense<WORDS> {
    fn merge(&self, answers: &Answers, tie: &mut Tie<'_>) -> Result<DenseOutcome, Stop> {
        let machine = NodeMask::all(self.width as usize);
        let mut demanded: Option<Bitmap<WORDS>> = None;
        let mut offered = Bitmap::EMPTY;
        let (mut all_open, mut is_refused, mut limit) = (true, false, 0);
        for (_, answer) in answers.iter() {
            let list = match answer {
                Answer::List(list) => list,
                Answer::NoOpinion => continue,
                Answer::Impossible | Answer::Family(_) => {
                    is_refused = true;
                    continue;
                }
            };
            let (mut preferred, mut leaves_open, mut narrowest) = (Bitmap::EMPTY, false, u32::MAX);
            for listed in list {
                match listed.hint.affinity {
                    Affinity::Any => leaves_open |= listed.hint == Hint::ANY,
                    Affinity::Nodes(mask) => {
                        if listed.foreign != ForeignNodes::default() || !mask.is_subset(machine) {
                            return Ok(DenseOutcome::NotHere);
                        }
                        narrowest = narrowest.min(mask.len());
                        if listed.hint.is_preferred() {
                            preferred.insert(mask);
                        }
                    }
                }
            }
            if narrowest < u32::MAX {
                limit = limit.max(narrowest);
            }
            if leaves_open {
                offered = offered | preferred;
            } else {
                all_open = false;
                demanded = Some(demanded.map_or(preferred, |demanded| demanded & preferred));
            }
        }
        if !is_refused {
            if all_open {
                tie.offer_narrower(self.nodes)?;
            }
            for mask in demanded.unwrap_or(offered).iter() {
                tie.offer_narrower(mask & self.nodes)?;
            }
            if tie.best().is_some() {
                return Ok(DenseOutcome::Preferred);
            }
        }
        self.reach(answers, limit, tie)?;
        Ok(DenseOutcome::Reached)
    }

    /// Offers the best of all sets that can be reached.
    fn reach(&self, answers: &Answers, limit: u32, tie: &mut Tie<'_>) -> Result<(), Stop> {
        let lists = answers.iter().filter_map(|(_, answer)| match answer {
            Answer::List(list) => Some(list),
            Answer::NoOpinion | Answer::Impossible | Answer::Family(_) => None,
        });
        let reached = self.fold(lists);
        // The size that comes first in the policy's order.
        let rank = |size: u32| if size <= limit { (0, limit - size) } else { (1, size) };
        let Some(size) = reached.iter().map(NodeMask::len).min_by_key(|size| rank(*size)) else {
            return Ok(());
        };
        for mask in reached.iter().filter(|mask| mask.len() == size) {
            tie.offer(mask)?;
        }
        Ok(())
    }

    /// Every intersection of one hint of each list, but the empty one.
    fn fold<'l>(&self, lists: impl Iterator<Item = &'l [ListedHint]>) -> Bitmap<WORDS> {
        let mut reached = Bitmap::<WORDS>::EMPTY;
        reached.insert(self.nodes);
        for list in lists {
            let (mut masks, mut leaves_all) = (Bitmap::EMPTY, false);
            for listed in list {
                match listed.hint.affinity {
                    Affinity::Any => leaves_all = true,
                    Affinity::Nodes(mask) => masks.insert(mask & self.nodes),
                }
            }
            let met = self.meets(&reached, &masks);
            reached = if leaves_all { reached | met } else { met };
        }
        reached.remove(NodeMask::EMPTY);
        reached
    }

    /// Every intersection of a set of `a` with one of `b`.
    fn meets(&self, a: &Bitmap<WORDS>, b: &Bitmap<WORDS>) -> Bitmap<WORDS> {
        let (pairs, sets) = (a.len() * b.len(), 64 * WORDS as u64);
        if pairs > 2 * u64::from(self.width) * sets {
            return self.meets_by_counting(a, b);
        }
        let mut met = Bitmap::EMPTY;
        for one in a.iter() {
            for other in b.iter() {
                met.insert(one & other);
            }
        }
        met
    }

    fn meets_by_counting(&self, a: &Bitmap<WORDS>, b: &Bitmap<WORDS>) -> Bitmap<WORDS> {
        let (mut count, other) = (self.containing(a), self.containing(b));
        for (row, other) in count.iter_mut().zip(&other) {
            for (count, other) in row.iter_mut().zip(other) {
                *count = count.wrapping_mul(*other);
            }
        }
        self.each_pair(&mut count, |without, with| *without = without.wrapping_sub(*with));
        let mut met = Bitmap::EMPTY;
        for (word, row) in met.0.iter_mut().zip(&count) {
            for (bit, count) in row.iter().enumerate() {
                *word |= u64::from(*count != 0) << bit;
            }
        }
        met
    }

    /// For each set, how many sets of the bitmap contain it.
    fn containing(&self, sets: &Bitmap<WORDS>) -> [[u32; 64]; WORDS] {
        let mut count = [[0; 64]; WORDS];
        for (row, word) in count.iter_mut().zip(sets.0) {
            for (bit, count) in row.iter_mut().enumerate() {
                *count = u32::from(word >> bit & 1 == 1);
            }
        }
        self.each_pair(&mut count, |without, with| *without = without.wrapping_add(*with));
        count
    }

    /// Applies `change` to the counts of each two sets that differ in one node, node by node.
    fn each_pair(&self, counts: &mut [[u32; 64]; WORDS], change: impl Fn(&mut u32, &u32)) {
        for node in 0..self.width.min(6) {
            let step = 1 << node;
            for row in counts.iter_mut() {
                for pair in row.chunks_exact_mut(2 * step) {
                    let (without, with) = pair.split_at_mut(step);
                    for (without, with) in without.iter_mut().zip(with) {
                        change(without, with);
                    }
                }
            }
        }
        for node in 6..self.width {
            let step = 1 << (node - 6);
            for pair in counts.chunks_exact_mut(2 * step) {
                let (without, with) = pair.split_at_mut(step);
                for (without, with) in without.iter_mut().flatten().zip(with.iter_mut().flatten()) {
                    change(without, with);
                }
            }
        }
    }
}

impl<const WORDS: usize> Bitmap<WORDS> {
    const EMPTY: Self = Self([0; WORDS]);

    /// Sets with positions beyond the bitmap are left out; callers have none.
    fn insert(&mut self, mask: NodeMask) {
        let at = mask.to_bits();
        if let Some(word) = usize::try_from(at >> 6).ok().and_then(|word| self.0.get_mut(word)) {
            *word |= 1 << (at & 63);
        }
    }

    fn remove(&mut self, mask: NodeMask) {
        let at = mask.to_bits();
        if let Some(word) = usize::try_from(at >> 6).ok().and_then(|word| self.0.get_mut(word)) {
            *word &= !(1 << (at & 63));
        }
    }

    fn len(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The sets in ascending number.
    fn iter(&self) -> impl Iterator<Item = NodeMask> {
        (0_u64..).zip(self.0).flat_map(|(at, word)| {
            NodeMask::from_bits(word).iter().map(move |bit| NodeMask::from_bits(at << 6 | bit.get() as u64))
        })
    }
}

impl<const WORDS: usize> core::ops::BitOr for Bitmap<WORDS> {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(core::array::from_fn(|at| self.0[at] | other.0[at]))
    }
}

impl<const WORDS: usize> core::ops::BitAnd for Bitmap<WORDS> {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(core::array::from_fn(|at| self.0[at] & other.0[at]))
    }
}
