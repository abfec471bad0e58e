//! Decisions on small nodes beside a rule for whole solutions and all choices of devices. The fuzz target `allocation` asks
//! the same.

#![expect(clippy::expect_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod small;

use std::collections::BTreeMap;

use proptest::prelude::*;
use small::check;

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_decided_is_a_solution_or_there_is_none(bytes in proptest::collection::vec(any::<u8>(), 10..120)) {
        let _ = check(&bytes);
    }
}

/// Every outcome is among the questions, and most are small enough for all choices to be tried.
#[test]
fn small_questions_have_all_answers() {
    let mut counts = BTreeMap::new();
    let mut state = 7_u64;
    for _ in 0..1_000 {
        let bytes: Vec<u8> = (0..100)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                state.to_be_bytes()[0]
            })
            .collect();
        *counts.entry(check(&bytes)).or_insert(0) += 1;
    }
    println!("{counts:?}");
    assert!(counts.len() == 4 && counts.values().all(|count| *count >= 20), "{counts:?}");
}
