//! A solver that looks at every node set of the machine.

use numa_bitmask::NodeMask;
use topology_hint::{Affinity, Hint, Preference};

use crate::plain::{Plain, Shape};

/// What is left to the tie rule.
pub(crate) struct Best {
    preference: Preference,
    /// Sets of equal size.
    sets: Vec<usize>,
}

impl Best {
    /// The merged hint: of the sets the one that costs least, then the lowest.
    pub(crate) fn merged(&self, costs: impl Fn(u64) -> (u64, u32)) -> Hint {
        let best = self.sets.iter().min_by_key(|set| (costs(**set as u64), **set)).copied().unwrap_or(0);
        Hint { affinity: Affinity::Nodes(NodeMask::from_bits(best as u64)), preference: self.preference }
    }
}

/// The best node sets, from the accepted sets of every family among all 2^`nodes` sets.
pub(crate) fn merge(nodes: usize, families: &[Plain]) -> Best {
    let sets = 1_usize << nodes;
    let accepted: Vec<Vec<Option<bool>>> =
        families.iter().map(|family| (0..sets as u64).map(|set| accepts(family, set)).collect()).collect();
    let any: Vec<Option<bool>> = families
        .iter()
        .zip(&accepted)
        .map(|(family, accepted)| {
            let nothing = family.any.is_none() && accepted.iter().all(Option::is_none);
            if nothing { Some(false) } else { family.any }
        })
        .collect();
    let agreed = |set: &usize| {
        let own = || accepted.iter().zip(&any);
        let named = *set == sets - 1 || accepted.iter().any(|accepted| accepted[*set] == Some(true));
        named && own().all(|(accepted, any)| accepted[*set] == Some(true) || *any == Some(true))
    };
    let preferred = foremost((1..sets).filter(agreed), |size| (0, size));
    if !preferred.is_empty() {
        return Best { preference: Preference::Preferred, sets: preferred };
    }
    let mut reached = vec![false; sets];
    reached[sets - 1] = true;
    let mut limit = 0;
    for (accepted, any) in accepted.iter().zip(&any) {
        let own: Vec<bool> = accepted.iter().map(Option::is_some).collect();
        let narrowest = (0..sets).filter(|set| own[*set]).map(usize::count_ones).min();
        limit = limit.max(narrowest.unwrap_or(0));
        let mut met = intersections(nodes, &reached, &own);
        if any.is_some() {
            met.iter_mut().zip(&reached).for_each(|(met, reached)| *met |= *reached);
        }
        reached = met;
    }
    let rank = |size: u32| if size <= limit { (0, limit - size) } else { (1, size) };
    let mut sets_reached = foremost((1..sets).filter(|set| reached[*set]), rank);
    if sets_reached.is_empty() {
        sets_reached.push(sets - 1);
    }
    Best { preference: Preference::Acceptable, sets: sets_reached }
}

/// The sets of the size that ranks first.
fn foremost(sets: impl Iterator<Item = usize>, rank: impl Fn(u32) -> (u8, u32)) -> Vec<usize> {
    let (mut best, mut foremost) = (None, Vec::new());
    for set in sets {
        let own = rank(set.count_ones());
        if best.is_none_or(|best| own < best) {
            best = Some(own);
            foremost.clear();
        }
        if best == Some(own) {
            foremost.push(set);
        }
    }
    foremost
}

/// The intersections of a set of `a` and one of `b`: pairs that both contain x, less those that contain more.
fn intersections(nodes: usize, a: &[bool], b: &[bool]) -> Vec<bool> {
    let (mut pairs, other) = (containing(nodes, a), containing(nodes, b));
    for (count, other) in pairs.iter_mut().zip(other) {
        *count *= other;
    }
    for node in 0..nodes {
        for set in (0..pairs.len()).filter(|set| set >> node & 1 == 0) {
            pairs[set] -= pairs[set | 1 << node];
        }
    }
    pairs.iter().map(|count| *count > 0).collect()
}

/// For each set, how many of `sets` contain it.
fn containing(nodes: usize, sets: &[bool]) -> Vec<u64> {
    let mut counts: Vec<u64> = sets.iter().map(|own| u64::from(*own)).collect();
    for node in 0..nodes {
        for set in (0..counts.len()).filter(|set| set >> node & 1 == 0) {
            counts[set] += counts[set | 1 << node];
        }
    }
    counts
}

/// Whether the set is accepted, and whether it is preferred.
pub(crate) fn accepts(family: &Plain, set: u64) -> Option<bool> {
    let exact = family.masks.iter().filter(|(mask, _)| *mask == set).map(|(_, preferred)| *preferred);
    let exact = exact.reduce(|a, b| a || b);
    let open = family.open.as_ref().is_some_and(|open| {
        set != 0
            && set & !open.within == 0
            && open.must & !set == 0
            && open.touch.iter().all(|touch| touch & set != 0)
            && open.needs.iter().all(|(supply, need)| {
                let met = supply.iter().filter(|(nodes, _)| nodes & set != 0);
                met.map(|(_, amount)| u128::from(*amount)).sum::<u128>() >= u128::from(*need)
            })
    });
    (exact.is_some() || open).then(|| match &family.shape {
        Shape::Size(size) => set.count_ones() == *size,
        Shape::Sockets(size, count, sockets) => {
            let met = sockets.iter().filter(|socket| **socket & set != 0).count();
            set.count_ones() == *size || met == *count as usize
        }
        Shape::AsGiven => exact == Some(true),
    })
}
