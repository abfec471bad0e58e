//! Families against their definition, on every set of four nodes.

use numa_bitmask::{NodeIndex, NodeMask};
use proptest::prelude::*;
use topology_hint::{Answer, Answers, Family, Preference, Solution};

fn family(answers: &Answers) -> Family<'_> {
    match answers.get(0) {
        Some((_, Answer::Family(family))) => family,
        other => panic!("expected a family, found {other:?}"),
    }
}

fn mask(bits: u64) -> NodeMask {
    NodeMask::from_bits(bits)
}

#[test]
fn an_empty_family_accepts_nothing_until_told() {
    let mut answers = Answers::new();
    answers.push_family("cpu");
    assert!(family(&answers).accepts_nothing());
    assert_eq!(family(&answers).narrowest(), None);
    assert_eq!(family(&answers).listed(NodeMask::all(4)).count(), 0);
}

#[test]
fn the_open_part_never_takes_the_empty_set() {
    let mut answers = Answers::new();
    answers.push_family("cpu").open(NodeMask::all(2)).preferred_size(1);
    assert_eq!(family(&answers).accepts(NodeMask::EMPTY), None);
    assert_eq!(family(&answers).listed(NodeMask::all(4)).count(), 3);
}

#[test]
fn exact_masks_keep_their_own_preference_or_follow_the_size() {
    for (by_size, expected) in [(false, Preference::Preferred), (true, Preference::Acceptable)] {
        let mut answers = Answers::new();
        let mut builder = answers.push_family("memory");
        builder.mask(mask(0b11), Preference::Preferred);
        if by_size {
            builder.preferred_size(1);
        }
        assert_eq!(family(&answers).accepts(mask(0b11)), Some(expected));
        assert_eq!(family(&answers).accepts(mask(0b111)), None, "exact sets are not open upwards");
    }
}

#[test]
fn a_set_that_meets_as_many_sockets_is_preferred_too() {
    let mut answers = Answers::new();
    answers.push_family("cpu").open(NodeMask::all(4)).preferred_size_or_sockets(
        1,
        1,
        [mask(0b0011), mask(0b1100)],
    );
    let accepts = |bits| family(&answers).accepts(mask(bits));
    assert_eq!(accepts(0b0011), Some(Preference::Preferred));
    assert_eq!(accepts(0b0110), Some(Preference::Acceptable));
    assert_eq!(accepts(0b0100), Some(Preference::Preferred));
}

proptest! {
    #[test]
    fn accepted_sets_meet_every_condition(
        within in 0..16_u64,
        must in 0..16_u64,
        touch in proptest::collection::vec(0..16_u64, 0..3),
        supply in proptest::collection::vec((1..16_u64, 0..5_u64), 0..5),
        at_least in 0..10_u64,
        exact in proptest::collection::vec(1..16_u64, 0..3),
    ) {
        let mut answers = Answers::new();
        let mut builder = answers.push_family("r");
        for bits in &exact {
            builder.mask(mask(*bits), Preference::Acceptable);
        }
        builder.open(mask(within)).must(mask(must));
        for bits in &touch {
            builder.touch(mask(*bits));
        }
        builder.need(at_least, supply.iter().map(|(nodes, amount)| (mask(*nodes), *amount)));
        let family = family(&answers);
        let accepted = |bits: u64| {
            let reached: u64 = supply.iter().filter(|(nodes, _)| nodes & bits != 0).map(|(_, amount)| amount).sum();
            exact.contains(&bits)
                || bits != 0
                    && bits & !within == 0
                    && must & !bits == 0
                    && touch.iter().all(|touch| touch & bits != 0)
                    && reached >= at_least
        };
        for bits in 0..16 {
            prop_assert_eq!(family.accepts(mask(bits)).is_some(), accepted(bits), "{:b}", bits);
        }
        let narrowest = (0..16_u64).filter(|bits| accepted(*bits)).map(u64::count_ones).min();
        prop_assert_eq!(family.narrowest(), narrowest.map(Solution::Exact));
        prop_assert_eq!(family.accepts_nothing(), narrowest.is_none());
        let alone = (0..4).map(|node| 1 << node).filter(|bits| accepted(*bits)).sum();
        prop_assert_eq!(family.single_nodes(), mask(alone));
        let first = NodeIndex::new(0).unwrap();
        prop_assert!(family.listed(NodeMask::all(4)).all(|hint| hint.foreign.0 == 0));
        prop_assert_eq!(family.accepts(first.into()).is_some(), accepted(1));
    }
}
