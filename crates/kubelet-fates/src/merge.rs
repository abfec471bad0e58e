//! The kubelet's combinations of hints: how many there are, and whether one asks for a distance that is missing.

use alloc::vec;
use alloc::vec::Vec;

use topology_hint::{Affinity, Answer, Answers, Hint, Preference};
use topology_model::KubeletView;

use crate::sets::{bit, count, sets};

/// Up to so many combinations are compared as the kubelet does.
pub(crate) const MOST_COMBINATIONS: f64 = 2_000_000.0;
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
pub(crate) struct Merge {
    lists: Vec<Vec<(Option<u64>, bool)>>,
    all: u64,
    /// The rows by node id.
    rows: Vec<Option<Vec<u64>>>,
    best_count: u32,
    best: Option<(u64, bool)>,
    crashes: bool,
}

impl Merge {
    pub(crate) fn new(view: &KubeletView, answers: &Answers) -> Self {
        let nodes = view.nodes();
        let bits = |mask| nodes.ids_of(mask).fold(0, |bits, id| bits | bit(id));
        let of = |hint: Hint| (hint.affinity.nodes().map(bits), hint.is_preferred());
        let lists: Vec<Vec<(Option<u64>, bool)>> = answers
            .iter()
            .map(|(_, answer)| match answer {
                Answer::NoOpinion => vec![(None, true)],
                Answer::Impossible => vec![(None, false)],
                Answer::Family(family) if family.accepts_nothing() => vec![(None, false)],
                Answer::List(list) => list.iter().map(|listed| of(listed.hint)).collect(),
                Answer::Family(family) => {
                    let masks = family.masks().iter().map(|(mask, _)| *mask);
                    let within = masks.fold(family.within().unwrap_or_default(), |all, mask| all | mask);
                    family.listed(within).map(|listed| of(listed.hint)).collect()
                }
            })
            .collect();
        let narrowest = |list: &Vec<(Option<u64>, bool)>| {
            list.iter().filter_map(|(mask, _)| mask.map(u64::count_ones)).min().unwrap_or(0)
        };
        let mut rows = vec![None; 64];
        for node in view.node_memory() {
            if let Some(row) = usize::try_from(node.id.0).ok().and_then(|id| rows.get_mut(id)) {
                row.clone_from(&node.distances);
            }
        }
        Self {
            all: bits(nodes.all()),
            best_count: lists.iter().map(narrowest).max().unwrap_or(0),
            lists,
            rows,
            best: None,
            crashes: false,
        }
    }

    pub(crate) fn crashes(mut self) -> bool {
        self.descend(0, self.all, true, None);
        self.crashes
    }

    fn descend(&mut self, at: usize, mask: u64, is_preferred: bool, first: Option<u64>) {
        if self.crashes {
            return;
        }
        let Some(list) = self.lists.get(at) else {
            self.offer(mask, is_preferred);
            return;
        };
        for (own, own_preferred) in list.clone() {
            let is_same = own.is_none_or(|own| first.is_none_or(|first| own == first));
            let preferred = is_preferred && own_preferred && is_same;
            self.descend(at + 1, own.map_or(mask, |own| mask & own), preferred, first.or(own));
        }
    }

    fn offer(&mut self, mask: u64, is_preferred: bool) {
        if mask == 0 {
            return;
        }
        let Some((best, best_preferred)) = self.best else {
            self.best = Some((mask, is_preferred));
            return;
        };
        let wins = match (best_preferred, is_preferred) {
            (false, true) => true,
            (true, false) => false,
            (true, true) => self.is_closer(best, mask),
            (false, false) => {
                let (own, other, wanted) = (best.count_ones(), mask.count_ones(), self.best_count);
                if own > wanted {
                    self.is_closer(best, mask)
                } else if own == wanted {
                    other == wanted && self.is_closer(best, mask)
                } else if other > wanted {
                    false
                } else if other == wanted || other > own {
                    true
                } else {
                    other == own && self.is_closer(best, mask)
                }
            }
        };
        if wins {
            self.best = Some((mask, is_preferred));
        }
    }

    /// Whether `candidate` comes before `current`.
    fn is_closer(&mut self, current: u64, candidate: u64) -> bool {
        if current == candidate {
            return false;
        }
        if current.count_ones() != candidate.count_ones() {
            return candidate.count_ones() < current.count_ones();
        }
        let (Some(own), Some(other)) = (self.average(current), self.average(candidate)) else {
            self.crashes = true;
            return false;
        };
        other.total_cmp(&own).then(candidate.cmp(&current)).is_lt()
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
