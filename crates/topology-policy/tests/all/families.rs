//! Families against their own list form, and against a solver that looks at every node set.

use crate::plain;
use crate::slow;
use std::collections::BTreeSet;

use numa_bitmask::NodeMask;
use proptest::prelude::*;
use topology_hint::{Affinity, Answer, Answers, Hint, Preference};
use topology_policy::{Admit, DistanceIndex, Distances, KubeletPolicy, Merged, NodeScores, Ties};

fn distances(rows: Vec<Vec<u64>>) -> Distances {
    let rows = (0..).zip(rows).map(|(id, row)| (id, Some(row)));
    Distances::new(rows, DistanceIndex::ByPosition)
}

/// Scores of the nodes, from the distances so that a failing case has one thing less.
fn scores(rows: &[Vec<u64>]) -> NodeScores {
    let score = |row: &Vec<u64>| row.iter().fold(7, |sum: u64, own| (sum * 3 + own % 64) % 64) % 4;
    NodeScores::new(rows.iter().map(|row| u16::try_from(score(row)).unwrap()))
}

/// Every way of deciding between equals.
fn all_ties<'a>(distances: &'a Distances, scores: &'a NodeScores) -> [Ties<'a>; 4] {
    [
        Ties::LowestNumber,
        Ties::Closest(distances),
        Ties::Scored { distances: None, scores },
        Ties::Scored { distances: Some(distances), scores },
    ]
}

/// Distance and score of a set, as far as they decide.
fn costs(ties: Ties<'_>, set: u64) -> (u64, u32) {
    let set = NodeMask::from_bits(set);
    let average = |distances: &Distances| distances.average(set).unwrap().to_bits();
    match ties {
        Ties::LowestNumber => (0, 0),
        Ties::Closest(distances) => (average(distances), 0),
        Ties::Scored { distances, scores } => (distances.map_or(0, average), scores.sum(set)),
    }
}

fn families(own: &[plain::Plain]) -> Answers {
    let mut answers = Answers::new();
    for family in own {
        family.push(&mut answers);
    }
    answers
}

fn check_slowly(nodes: usize, own: &[plain::Plain], rows: Vec<Vec<u64>>) -> Result<(), TestCaseError> {
    let answers = families(own);
    let (scores, distances) = (scores(&rows), distances(rows));
    let best = slow::merge(nodes, own);
    for ties in all_ties(&distances, &scores) {
        let expected = best.merged(|set| costs(ties, set));
        let all = NodeMask::all(nodes);
        let merged = KubeletPolicy::BestEffort.merge_with(all, &answers, ties.into()).unwrap();
        prop_assert_eq!(merged.hint, expected, "{:?}", ties);
        let admitted = KubeletPolicy::Restricted.admit_with(all, &answers, ties.into()).unwrap();
        prop_assert_eq!(admitted, expected.is_preferred().then_some(expected));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn families_merge_as_every_set_does((nodes, own, rows) in plain::case(1..=8_usize)) {
        check_slowly(nodes, &own, rows)?;
    }

    #[test]
    fn families_merge_as_their_lists_do((nodes, own, rows) in plain::case(1..=8_usize)) {
        check_lists(nodes, &own, rows)?;
    }
}

/// The same answers with the families at the places of `listed` written out.
fn written_out(own: &[plain::Plain], all: NodeMask, listed: impl Fn(usize) -> bool) -> Answers {
    let families = families(own);
    let mut written = Answers::new();
    for (at, plain) in own.iter().enumerate() {
        match families.get(at) {
            Some((resource, Answer::Family(family))) if listed(at) => {
                written.push_list(resource.clone(), family.listed(all));
            }
            _ => plain.push(&mut written),
        }
    }
    written
}

fn check_lists(nodes: usize, own: &[plain::Plain], rows: Vec<Vec<u64>>) -> Result<(), TestCaseError> {
    let all = NodeMask::all(nodes);
    let (scores, distances) = (scores(&rows), distances(rows));
    let answers = families(own);
    let written = [
        written_out(own, all, |_| true),
        written_out(own, all, |at| at % 2 == 0),
        written_out(own, all, |at| at % 2 == 1),
    ];
    for policy in [KubeletPolicy::BestEffort, KubeletPolicy::Restricted, KubeletPolicy::SingleNumaNode] {
        for ties in all_ties(&distances, &scores) {
            let merged = policy.merge_with(all, &answers, ties.into()).unwrap();
            for lists in &written {
                prop_assert_eq!(merged, policy.merge_with(all, lists, ties.into()).unwrap());
            }
        }
    }
    Ok(())
}

/// Sets that all families prefer, of up to three nodes, looked at one by one.
fn check_small(nodes: usize, own: &[plain::Plain], rows: Vec<Vec<u64>>) -> Result<(), TestCaseError> {
    let all = NodeMask::all(nodes);
    let (scores, distances) = (scores(&rows), distances(rows));
    let answers = families(own);
    let agreed = |set: u64| {
        let preferred = |family: &plain::Plain| slow::accepts(family, set) == Some(true);
        own.iter().all(|family| preferred(family) || family.any == Some(true)) && own.iter().any(preferred)
    };
    let pairs = (0..nodes).flat_map(|a| (0..=a).map(move |b| 1_u64 << a | 1 << b));
    let small: BTreeSet<u64> = pairs.flat_map(|pair| (0..nodes).map(move |c| pair | 1 << c)).collect();
    let agreed: Vec<u64> = small.into_iter().filter(|set| agreed(*set)).collect();
    for ties in all_ties(&distances, &scores) {
        let key = |set: &&u64| (set.count_ones(), costs(ties, **set), **set);
        let Some(best) = agreed.iter().min_by_key(key) else { continue };
        let merged = KubeletPolicy::Restricted.merge_with(all, &answers, ties.into()).unwrap();
        let expected =
            Hint { affinity: Affinity::Nodes(NodeMask::from_bits(*best)), preference: Preference::Preferred };
        prop_assert_eq!(merged, Merged { hint: expected, admit: Admit::Yes });
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn small_preferred_sets_are_found_to_sixty_nodes((nodes, own, rows) in plain::case(21..=60_usize)) {
        check_small(nodes, &own, rows)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn families_merge_as_their_lists_do_to_twelve_nodes((nodes, own, rows) in plain::case(9..=12_usize)) {
        check_lists(nodes, &own, rows)?;
    }

    #[test]
    fn families_merge_as_every_set_does_to_fifteen_nodes((nodes, own, rows) in plain::case(9..=15_usize)) {
        check_slowly(nodes, &own, rows)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1))]

    #[test]
    fn families_merge_as_every_set_does_on_twenty_nodes((nodes, own, rows) in plain::case(Just(20))) {
        check_slowly(nodes, &own, rows)?;
    }
}

#[test]
fn a_refused_unit_is_not_searched_further() {
    let all = NodeMask::all(3);
    let mut answers = Answers::new();
    answers.push_impossible("r");
    let policy = KubeletPolicy::Restricted;
    assert_eq!(policy.admit(all, &answers).unwrap(), None);
    let merged = policy.merge(all, &answers).unwrap();
    assert_eq!((merged.admit, merged.hint.affinity.nodes()), (Admit::No, Some(all)));
}
