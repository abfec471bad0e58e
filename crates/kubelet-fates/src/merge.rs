//! The kubelet's combinations of hints: how many there are, and whether one asks for a distance that is missing.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use numa_bitmask::NodeMask;
use topology_hint::{Affinity, Answer, Answers, Hint, Preference};
use topology_model::KubeletView;

use crate::sets::{bit, count, sets};

/// So many hints of combinations are looked at.
const MOST_LOOKS: u32 = 4_000_000;
/// So many hints of one list are kept.
const MOST_HINTS: usize = 1 << 16;
/// On more nodes hints are not counted one by one: the walk alone takes seconds.
pub(crate) const MOST_NODES: u32 = 20;

/// How many hints of a list are combined.
pub(crate) fn combined(answer: Answer<'_>, view: &KubeletView, is_single: bool) -> f64 {
    let is_combined = |hint: &Hint| match hint.affinity {
        _ if !is_single => true,
        Affinity::Any => hint.is_preferred(),
        Affinity::Nodes(mask) => mask.len() == 1 && hint.is_preferred(),
    };
    // An empty list counts as a hint without nodes that is not preferred.
    let answer = match answer {
        Answer::Family(family) if family.accepts_nothing() => Answer::Impossible,
        other => other,
    };
    match answer {
        Answer::Impossible if is_single => 0.0,
        Answer::NoOpinion | Answer::Impossible => 1.0,
        Answer::List(list) => count(list.iter().filter(|listed| is_combined(&listed.hint)).count()),
        Answer::Family(family) if is_single => {
            let single = view.nodes().all().iter().filter_map(|node| family.accepts(node.into()));
            count(single.chain(family.any()).filter(|own| *own == Preference::Preferred).count())
        }
        Answer::Family(family) => {
            let within = family.within().unwrap_or_default();
            let open = if within.len() > MOST_NODES {
                sets(within.len() as usize)
            } else {
                count(within.subsets().filter(|mask| family.open_accepts(*mask)).count())
            };
            let apart = family.masks().iter().filter(|(mask, _)| !family.open_accepts(*mask)).count();
            open + count(apart + usize::from(family.any().is_some()))
        }
    }
}

/// The kubelet's merge with `prefer-closest-numa-nodes`, where a distance may be missing.
///
/// A combination that was offered before changes nothing when it is offered again: the best one only gets closer to what
/// is wanted, and two of the same size were compared when the later one of them came first. So the combinations below a
/// node of the tree are looked at only if no node before had the same intersection, and counted otherwise.
pub(crate) struct Merge<'a> {
    lists: &'a [List],
    /// The rows of distances by node id.
    rows: &'a [Option<Vec<u64>>],
    best_count: u32,
    best: Option<(u64, bool)>,
    /// Combinations offered until now.
    offered: f64,
    seen: BTreeSet<(usize, u64, bool)>,
    looks: u32,
}

/// The hints for one resource, in the kubelet's order: bits of nodes, `None` for any, and whether preferred.
#[derive(Clone)]
struct List {
    hints: Vec<(Option<u64>, bool)>,
    /// There are more.
    is_cut: bool,
}

/// How a merge ends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum MergeEnd {
    /// With a hint.
    Merged,
    /// A distance is missing at the combination of this number.
    Crashed(f64),
    /// The search was cut.
    Cut,
}

/// Why no more combinations are looked at.
enum Stop {
    Crash,
    Cut,
}

/// How the merge of these answers ends; `managers` has how many of them are of devices, CPUs and memory. The kubelet takes
/// the resources of one manager in a random order: where one of these crashes it counts.
pub(crate) fn merge_end(view: &KubeletView, answers: &Answers, managers: [usize; 3]) -> MergeEnd {
    let nodes = view.nodes();
    let bits = |mask| nodes.ids_of(mask).fold(0, |bits, id| bits | bit(id));
    let lists: Vec<List> = answers.iter().map(|(_, answer)| List::new(answer, bits)).collect();
    let mut rows = vec![None; 64];
    for node in view.node_memory() {
        if let Some(row) = usize::try_from(node.id.0).ok().and_then(|id| rows.get_mut(id)) {
            row.clone_from(&node.distances);
        }
    }
    let mut end = MergeEnd::Merged;
    for order in orders(managers) {
        let ordered: Vec<List> = order.iter().filter_map(|at| lists.get(*at)).cloned().collect();
        match Merge::new(&ordered, &rows).end(bits(nodes.all())) {
            MergeEnd::Merged => {}
            MergeEnd::Cut => end = MergeEnd::Cut,
            crashed @ MergeEnd::Crashed(_) => return crashed,
        }
    }
    end
}

/// The orders of the answers of managers, each of which is rotated: every resource comes first once.
fn orders([devices, cpus, memory]: [usize; 3]) -> impl Iterator<Item = Vec<usize>> {
    let rotated =
        |from: usize, count: usize, by: usize| (0..count).map(move |at| from + (at + by) % count.max(1));
    (0..devices.max(1)).flat_map(move |first| {
        (0..memory.max(1)).map(move |second| {
            let devices_and_cpus = rotated(0, devices, first).chain(devices..devices + cpus);
            devices_and_cpus.chain(rotated(devices + cpus, memory, second)).collect()
        })
    })
}

impl List {
    fn new(answer: Answer<'_>, bits: impl Fn(NodeMask) -> u64) -> Self {
        let of = |hint: Hint| (hint.affinity.nodes().map(&bits), hint.is_preferred());
        let whole = |hints| Self { hints, is_cut: false };
        match answer {
            Answer::NoOpinion => whole(vec![(None, true)]),
            Answer::Impossible => whole(vec![(None, false)]),
            Answer::Family(family) if family.accepts_nothing() => whole(vec![(None, false)]),
            Answer::List(list) => whole(list.iter().map(|listed| of(listed.hint)).collect()),
            Answer::Family(family) => {
                let masks = family.masks().iter().map(|(mask, _)| *mask);
                let within = masks.fold(family.within().unwrap_or_default(), |all, mask| all | mask);
                if within.len() > MOST_NODES {
                    return Self { hints: Vec::new(), is_cut: true };
                }
                let mut listed = family.listed(within).map(|listed| of(listed.hint));
                let hints = listed.by_ref().take(MOST_HINTS).collect();
                Self { hints, is_cut: listed.next().is_some() }
            }
        }
    }

    fn narrowest(&self) -> u32 {
        self.hints.iter().filter_map(|(mask, _)| mask.map(u64::count_ones)).min().unwrap_or(0)
    }
}

impl<'a> Merge<'a> {
    fn new(lists: &'a [List], rows: &'a [Option<Vec<u64>>]) -> Self {
        let best_count = lists.iter().map(List::narrowest).max().unwrap_or(0);
        Self { lists, rows, best_count, best: None, offered: 0.0, seen: BTreeSet::new(), looks: 0 }
    }

    fn end(mut self, all: u64) -> MergeEnd {
        match self.descend(0, all, true, None) {
            Ok(()) => MergeEnd::Merged,
            Err(Stop::Crash) => MergeEnd::Crashed(self.offered),
            Err(Stop::Cut) => MergeEnd::Cut,
        }
    }

    /// Goes through the hints of the lists from `at` on. `mask` is the intersection of those before, all of which are
    /// the same and preferred if `is_preferred`; then `first` is one of them.
    fn descend(&mut self, at: usize, mask: u64, is_preferred: bool, first: Option<u64>) -> Result<(), Stop> {
        let Some(list) = self.lists.get(at) else {
            self.offered += 1.0;
            return self.offer(mask, is_preferred);
        };
        // What differs before a first set is known has no set yet.
        if (first.is_some() || !is_preferred) && !self.seen.insert((at, mask, is_preferred)) {
            self.offered += self.lists.iter().skip(at).map(|list| count(list.hints.len())).product::<f64>();
            return Ok(());
        }
        for (own, own_preferred) in &list.hints {
            self.looks += 1;
            if self.looks > MOST_LOOKS {
                return Err(Stop::Cut);
            }
            let is_same = own.is_none_or(|own| first.is_none_or(|first| own == first));
            let preferred = is_preferred && *own_preferred && is_same;
            self.descend(at + 1, own.map_or(mask, |own| mask & own), preferred, first.or(*own))?;
        }
        if list.is_cut { Err(Stop::Cut) } else { Ok(()) }
    }

    fn offer(&mut self, mask: u64, is_preferred: bool) -> Result<(), Stop> {
        if mask == 0 {
            return Ok(());
        }
        let Some((best, best_preferred)) = self.best else {
            self.best = Some((mask, is_preferred));
            return Ok(());
        };
        let wins = match (best_preferred, is_preferred) {
            (false, true) => true,
            (true, false) => false,
            (true, true) => self.is_closer(best, mask)?,
            (false, false) => {
                let (own, other, wanted) = (best.count_ones(), mask.count_ones(), self.best_count);
                if own > wanted {
                    self.is_closer(best, mask)?
                } else if own == wanted {
                    other == wanted && self.is_closer(best, mask)?
                } else if other > wanted {
                    false
                } else if other == wanted || other > own {
                    true
                } else {
                    other == own && self.is_closer(best, mask)?
                }
            }
        };
        if wins {
            self.best = Some((mask, is_preferred));
        }
        Ok(())
    }

    /// Whether `candidate` comes before `current`.
    fn is_closer(&self, current: u64, candidate: u64) -> Result<bool, Stop> {
        if current == candidate {
            return Ok(false);
        }
        if current.count_ones() != candidate.count_ones() {
            return Ok(candidate.count_ones() < current.count_ones());
        }
        let (Some(own), Some(other)) = (self.average(current), self.average(candidate)) else {
            return Err(Stop::Crash);
        };
        Ok(other.total_cmp(&own).then(candidate.cmp(&current)).is_lt())
    }

    fn average(&self, mask: u64) -> Option<f64> {
        let nodes = || (0..64_usize).filter(|node| mask & (1 << node) != 0);
        let mut sum = 0.0;
        for from in nodes() {
            for to in nodes() {
                #[expect(clippy::cast_precision_loss, reason = "the kubelet converts each distance too")]
                let distance = *self.rows.get(from)?.as_ref()?.get(to)? as f64;
                sum += distance;
            }
        }
        Some(sum / f64::from(mask.count_ones() * mask.count_ones()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that are the same on every machine.
    struct Draw(u64);

    impl Draw {
        fn below(&mut self, most: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % most
        }
    }

    /// Every combination is offered, one after the other.
    fn each(lists: &[List], rows: &[Option<Vec<u64>>], all: u64) -> MergeEnd {
        let mut merge = Merge::new(lists, rows);
        let combinations: usize = lists.iter().map(|list| list.hints.len()).product();
        for number in 0..combinations {
            let (mut rest, mut mask, mut is_preferred, mut first) = (number, all, true, None);
            let mut chosen = Vec::new();
            for list in lists.iter().rev() {
                chosen.push(list.hints[rest % list.hints.len()]);
                rest /= list.hints.len();
            }
            for (own, own_preferred) in chosen.into_iter().rev() {
                is_preferred &= own_preferred;
                if let Some(own) = own {
                    mask &= own;
                    is_preferred &= *first.get_or_insert(own) == own;
                }
            }
            if merge.offer(mask, is_preferred).is_err() {
                return MergeEnd::Crashed(count(number + 1));
            }
        }
        MergeEnd::Merged
    }

    #[test]
    fn a_merge_ends_as_if_every_combination_were_offered() {
        let mut draw = Draw(7);
        let (mut crashed, mut merged) = (0, 0);
        for _ in 0..20_000 {
            let nodes = 2 + draw.below(4);
            let all = (1 << nodes) - 1;
            // The rows of the last nodes have no entry for them, or are missing.
            let known = 1 + draw.below(nodes);
            let row = |at: u64| {
                let entries = (0..known).map(|to| if to == at { 10 } else { 10 + 5 * (at + to) });
                entries.collect::<Vec<_>>()
            };
            let rows: Vec<_> = (0..64).map(|at| (at < nodes).then(|| row(at))).collect();
            let mut list = || {
                let hints = (0..=draw.below(5)).map(|_| {
                    let mask = draw.below(all + 1);
                    ((draw.below(6) > 0).then_some(mask), draw.below(3) == 0)
                });
                List { hints: hints.collect(), is_cut: false }
            };
            let lists = [list(), list(), list()];
            let end = Merge::new(&lists, &rows).end(all);
            assert_eq!(end, each(&lists, &rows, all));
            if end == MergeEnd::Merged { merged += 1 } else { crashed += 1 }
        }
        assert!(crashed > 2000 && merged > 2000, "{crashed} {merged}");
    }
}
