//! Families against their own list form, and against a solver that looks at every node set.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use numa_bitmask::NodeMask;
use proptest::prelude::*;
use topology_hint::{Answer, Answers};
use topology_policy::{Admit, DistanceIndex, Distances, KubeletPolicy, Policy, Ties, WorkLimit};

mod plain;
mod slow;

fn distances(rows: Vec<Vec<u64>>) -> Distances {
    let rows = (0..).zip(rows).map(|(id, row)| (id, Some(row)));
    Distances::new(rows, DistanceIndex::ByPosition)
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
    let distances = distances(rows);
    let best = slow::merge(nodes, own);
    for ties in [Ties::LowestNumber, Ties::Closest(&distances)] {
        let expected = best.merged(ties);
        let all = NodeMask::all(nodes);
        let merged = KubeletPolicy::BestEffort.merge(all, ties, &answers, WorkLimit::default()).unwrap();
        prop_assert_eq!(merged.hint, expected, "{:?}", ties);
        let admitted = KubeletPolicy::Restricted.admit(all, ties, &answers, WorkLimit::default()).unwrap();
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

fn check_lists(nodes: usize, own: &[plain::Plain], rows: Vec<Vec<u64>>) -> Result<(), TestCaseError> {
    let all = NodeMask::all(nodes);
    let distances = distances(rows);
    let answers = families(own);
    let mut lists = Answers::new();
    for (resource, answer) in answers.iter() {
        if let Answer::Family(family) = answer {
            lists.push_list(resource.clone(), family.listed(all));
        }
    }
    for policy in [KubeletPolicy::BestEffort, KubeletPolicy::Restricted, KubeletPolicy::SingleNumaNode] {
        for ties in [Ties::LowestNumber, Ties::Closest(&distances)] {
            let merged = policy.merge(all, ties, &answers, WorkLimit::default()).unwrap();
            prop_assert_eq!(merged, policy.merge(all, ties, &lists, WorkLimit::default()).unwrap());
        }
    }
    Ok(())
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
    answers.push_impossible("r".into());
    let policy = KubeletPolicy::Restricted;
    assert_eq!(policy.admit(all, Ties::LowestNumber, &answers, WorkLimit::default()).unwrap(), None);
    let merged = policy.merge(all, Ties::LowestNumber, &answers, WorkLimit::default()).unwrap();
    assert_eq!((merged.admit, merged.hint.affinity.nodes()), (Admit::No, Some(all)));
}
