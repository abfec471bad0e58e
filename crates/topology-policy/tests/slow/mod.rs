//! Families described once more, and a solver that looks at every node set of the machine.

use numa_bitmask::NodeMask;
use proptest::prelude::*;
use topology_hint::{Affinity, Answers, Hint, Preference};
use topology_policy::Ties;

/// A family as its definition has it.
#[derive(Clone, Debug)]
pub(crate) struct Plain {
    pub(crate) any: Option<bool>,
    pub(crate) masks: Vec<(u64, bool)>,
    pub(crate) open: Option<Open>,
    pub(crate) shape: Shape,
}

/// The open part.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) within: u64,
    pub(crate) must: u64,
    pub(crate) touch: Vec<u64>,
    pub(crate) needs: Vec<(Vec<(u64, u64)>, u64)>,
}

/// Which sets are preferred.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Size(u32),
    Sockets(u32, u32, Vec<u64>),
    AsGiven,
}

impl Plain {
    /// Whether the set is accepted, and whether it is preferred.
    pub(crate) fn accepts(&self, set: u64) -> Option<bool> {
        let exact = self.masks.iter().filter(|(mask, _)| *mask == set).map(|(_, preferred)| *preferred);
        let exact = exact.reduce(|a, b| a || b);
        let open = self.open.as_ref().is_some_and(|open| {
            set != 0
                && set & !open.within == 0
                && open.must & !set == 0
                && open.touch.iter().all(|touch| touch & set != 0)
                && open.needs.iter().all(|(supply, need)| {
                    let met = supply.iter().filter(|(nodes, _)| nodes & set != 0);
                    met.map(|(_, amount)| u128::from(*amount)).sum::<u128>() >= u128::from(*need)
                })
        });
        (exact.is_some() || open).then(|| match &self.shape {
            Shape::Size(size) => set.count_ones() == *size,
            Shape::Sockets(size, count, sockets) => {
                let met = sockets.iter().filter(|socket| **socket & set != 0).count();
                set.count_ones() == *size || met == *count as usize
            }
            Shape::AsGiven => exact == Some(true),
        })
    }

    pub(crate) fn push(&self, answers: &mut Answers) {
        let preference = |preferred| if preferred { Preference::Preferred } else { Preference::Acceptable };
        let mut family = answers.push_family("r".into());
        if let Some(preferred) = self.any {
            family.any(preference(preferred));
        }
        for (mask, preferred) in &self.masks {
            family.mask(NodeMask::from_bits(*mask), preference(*preferred));
        }
        if let Some(open) = &self.open {
            family.open(NodeMask::from_bits(open.within), NodeMask::from_bits(open.must));
            for touch in &open.touch {
                family.touch(NodeMask::from_bits(*touch));
            }
            for (supply, need) in &open.needs {
                family.need(*need, supply.iter().map(|(mask, amount)| (NodeMask::from_bits(*mask), *amount)));
            }
        }
        match &self.shape {
            Shape::Size(size) => family.preferred_size(*size),
            Shape::Sockets(size, count, sockets) => family.preferred_size_or_sockets(
                *size,
                *count,
                sockets.iter().map(|socket| NodeMask::from_bits(*socket)),
            ),
            Shape::AsGiven => family.preferred_as_given(),
        };
    }
}

/// What is left to the tie rule.
pub(crate) struct Best {
    preference: Preference,
    /// Sets of equal size.
    sets: Vec<usize>,
}

impl Best {
    /// The merged hint.
    pub(crate) fn merged(&self, ties: Ties<'_>) -> Hint {
        let distance = |set: usize| match ties {
            Ties::LowestNumber => 0,
            // Positive floats sort like their bits.
            Ties::Closest(distances) => {
                distances.average(NodeMask::from_bits(set as u64)).unwrap_or(0.0).to_bits()
            }
        };
        let best = self.sets.iter().min_by_key(|set| (distance(**set), **set)).copied().unwrap_or(0);
        Hint { affinity: Affinity::Nodes(NodeMask::from_bits(best as u64)), preference: self.preference }
    }
}

/// The best node sets, from the accepted sets of every family among all 2^`nodes` sets.
pub(crate) fn merge(nodes: usize, families: &[Plain]) -> Best {
    let sets = 1_usize << nodes;
    let accepted: Vec<Vec<Option<bool>>> =
        families.iter().map(|family| (0..sets as u64).map(|set| family.accepts(set)).collect()).collect();
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

/// Supplies of one need: amounts by node with many equal ones, or shared by two nodes, or by any.
fn supply(nodes: usize) -> impl Strategy<Value = Vec<(u64, u64)>> {
    let by_node = |amounts: Vec<u64>| (0..).zip(amounts).map(|(node, amount)| (1 << node, amount)).collect();
    let each = proptest::collection::vec(0..6_u64, nodes).prop_map(by_node);
    let alike = proptest::collection::vec(prop_oneof![4 => Just(4_u64), 1 => Just(0), 1 => Just(3)], nodes)
        .prop_map(by_node);
    let pairs = proptest::collection::vec((0..nodes, 0..nodes, 0..4_u64), 1..=nodes + 2)
        .prop_map(|pairs| pairs.into_iter().map(|(a, b, amount)| (1 << a | 1 << b, amount)).collect());
    let shared = proptest::collection::vec((1..(1_u64 << nodes), 0..4_u64), 1..5);
    prop_oneof![4 => each, 3 => alike, 1 => pairs, 1 => shared]
}

fn mask(nodes: usize) -> impl Strategy<Value = u64> {
    let all = (1_u64 << nodes) - 1;
    prop_oneof![
        2 => (0..nodes).prop_map(|node| 1 << node),
        1 => (0..nodes, 0..nodes).prop_map(|(a, b)| 1 << a | 1 << b),
        1 => 0..=all,
        1 => Just(all),
    ]
}

fn open(nodes: usize) -> impl Strategy<Value = Open> {
    let all = (1_u64 << nodes) - 1;
    let need = (supply(nodes), 0..100_u64).prop_map(|(supply, percent)| {
        let total: u64 = supply.iter().map(|(_, amount)| *amount).sum();
        // Tight, loose and now and then impossible.
        (supply, total * percent / 96)
    });
    (
        prop_oneof![4 => Just(all), 1 => 0..=all, 1 => (0..=all).prop_map(move |bits| bits | all >> 1)],
        prop_oneof![6 => Just(0), 1 => (0..nodes).prop_map(|node| 1 << node), 1 => 0..=all],
        proptest::collection::vec(mask(nodes), 0..2),
        proptest::collection::vec(need, 0..3),
    )
        .prop_map(|(within, must, touch, needs)| Open { within, must, touch, needs })
}

fn shape(nodes: usize) -> impl Strategy<Value = Shape> {
    let size = 1..=u32::try_from(nodes).map_or(4, |nodes| nodes.min(4));
    let halves = vec![(1_u64 << (nodes / 2)) - 1, ((1 << nodes) - 1) & !((1 << (nodes / 2)) - 1)];
    let thirds: Vec<u64> =
        (0..3).map(|third| (0..nodes).filter(|n| n % 3 == third).map(|n| 1 << n).sum()).collect();
    prop_oneof![
        6 => size.clone().prop_map(Shape::Size),
        1 => (size.clone(), 0..3_u32).prop_map(move |(size, count)| Shape::Sockets(size, count, halves.clone())),
        1 => (size.clone(), 1..4_u32).prop_map(move |(size, count)| Shape::Sockets(size, count, thirds.clone())),
        1 => (size, 1..3_u32, proptest::collection::vec(0..(1_u64 << nodes), 1..4))
            .prop_map(|(size, count, sockets)| Shape::Sockets(size, count, sockets)),
        1 => Just(Shape::AsGiven),
    ]
}

pub(crate) fn family(nodes: usize) -> impl Strategy<Value = Plain> {
    let masks = prop_oneof![
        3 => Just(Vec::new()),
        1 => proptest::collection::vec((mask(nodes), any::<bool>()), 1..4),
        1 => any::<bool>().prop_map(move |own| (0..nodes).map(|node| (1 << node, own)).collect()),
    ];
    (
        prop_oneof![8 => Just(None), 1 => any::<bool>().prop_map(Some)],
        masks,
        proptest::option::weighted(0.9, open(nodes)),
        shape(nodes),
    )
        .prop_map(|(any, masks, open, shape)| Plain { any, masks, open, shape })
}

/// A machine and what is asked of it; distances with many ties.
pub(crate) fn case(
    nodes: impl Strategy<Value = usize>,
) -> impl Strategy<Value = (usize, Vec<Plain>, Vec<Vec<u64>>)> {
    nodes.prop_flat_map(|nodes| {
        (
            Just(nodes),
            proptest::collection::vec(family(nodes), 0..4),
            proptest::collection::vec(proptest::collection::vec(10..13_u64, nodes), nodes),
        )
    })
}
