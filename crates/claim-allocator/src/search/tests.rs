//! The search beside the plainest one there is, on small made-up problems.

mod brute;
mod made;

use node_cover::Steps;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use self::brute::Brute;
use self::made::{Made, made};
use super::Outcome;

const ENOUGH: u64 = 10_000_000;

/// The answer by classes, without the plain walk that answers small questions otherwise.
fn by_classes(made: &Made) -> Option<Outcome<&'static str>> {
    let budget = Steps::new(ENOUGH);
    let mut search = super::Search::by_classes(&made.problem, made, super::Purpose::Decide, budget)?;
    let end = search.walk();
    Some(search.outcome(end))
}

fn calls_by_classes(made: &Made) -> Option<u128> {
    let budget = Steps::new(ENOUGH);
    let mut search = super::Search::by_classes(&made.problem, made, super::Purpose::CountSteps, budget)?;
    search.walk();
    Some(search.steps)
}

/// Two states that leave three and four devices of a group to a request for three were taken for one, and the four for too
/// few for the request behind it.
#[test]
fn a_group_that_a_request_uses_up_is_another_than_one_with_a_device_left() {
    let made = Made::plain(&[(1, &[0, 1, 2, 3, 4]), (3, &[0, 1, 2, 4]), (1, &[0, 1, 2, 4])], 5);
    let Some(Outcome::Found(solution)) = by_classes(&made) else {
        panic!("device 3 serves the first request")
    };
    let devices: std::vec::Vec<usize> = solution.choices.iter().map(|choice| choice.device).collect();
    assert_eq!(devices, [3, 0, 1, 2, 4]);
}

/// Of the problems that the properties below judge, at least half have counters, consumable capacity and alternatives.
#[test]
fn half_of_the_problems_have_everything() {
    let mut runner = TestRunner::deterministic();
    let (mut judged, mut with_everything, mut solved) = (0, 0, 0);
    for _ in 0..600 {
        let made = made().new_tree(&mut runner).expect("numbers are always drawn").current();
        let Some((outcome, _)) = Brute::search(&made) else { continue };
        judged += 1;
        if made.has_everything() {
            with_everything += 1;
            solved += u32::from(matches!(outcome, Outcome::Found(_)));
        }
    }
    assert!(judged >= 400, "only {judged} of 600 are judged");
    assert!(with_everything * 2 >= judged, "{with_everything} of {judged} have everything");
    assert!(solved * 8 >= with_everything, "only {solved} of {with_everything} fit");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn the_first_solution_or_error_is_that_of_the_plainest_search(made in made()) {
        let Some((expected, calls)) = Brute::search(&made) else { return Ok(()) };
        prop_assert_eq!(super::first(&made.problem, &made, &mut Steps::new(ENOUGH)), expected.clone());
        if let Some(got) = by_classes(&made) {
            prop_assert_eq!(got, expected);
        }
        prop_assert_eq!(super::calls(&made.problem, &made, &mut Steps::new(ENOUGH)), Some(calls));
        if let Some(got) = calls_by_classes(&made) {
            prop_assert_eq!(got, calls);
        }
    }

    #[test]
    fn a_cut_is_never_another_answer(made in made(), budget in 0_u64..60) {
        let Some((expected, _)) = Brute::search(&made) else { return Ok(()) };
        let got = super::first(&made.problem, &made, &mut Steps::new(budget));
        prop_assert!(got == Outcome::Cut || got == expected, "{got:?} instead of {expected:?}");
    }
}
