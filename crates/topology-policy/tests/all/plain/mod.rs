//! Families in plain data, and how to come by many of them.

use numa_bitmask::NodeMask;
use proptest::prelude::*;
use topology_hint::{Answers, Preference};

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
    pub(crate) fn push(&self, answers: &mut Answers) {
        let preference = |preferred| if preferred { Preference::Preferred } else { Preference::Acceptable };
        let mut family = answers.push_family("r");
        if let Some(preferred) = self.any {
            family.any(preference(preferred));
        }
        for (mask, preferred) in &self.masks {
            family.mask(NodeMask::from_bits(*mask), preference(*preferred));
        }
        if let Some(open) = &self.open {
            family.open(NodeMask::from_bits(open.within)).must(NodeMask::from_bits(open.must));
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
