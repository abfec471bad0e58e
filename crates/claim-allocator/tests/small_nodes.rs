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

/// Where the budget ends amid a list of which devices are taken, with requests for all devices before it: found by fuzzing.
#[test]
fn a_budget_that_ends_leaves_no_device_taken() {
    let bytes = b"\xf2\xdb\x95\x8e\x53\xc8\x7f\xc7\xa3\xab\x27\xbd\x35\x63\x32\x00\x00\x00\x0f\xe0\x12\xdd\x21\xf8\x12\
        \xb3\xb3\xb3\xb3\xb3\xb3\xb3\xb3\xb3\xb3\xb3\xb3\xb3\xb3\xe6\x0e\xb3\xb3\xb3\xb3\xb3\xb3\xb3\xb3\xf7\
        \xff\x2f\x59\xc3\xe6\x05\x27\x3d\x42\xf2\x3a\xdc\xb8\xb4\x26\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\
        \xff\x1d\xff\xff\xff\x72\x65\x73\x6f\x75\x72\x63\x65\x73\x3a\x20\x08\xfd\x65\x72\x76\x65\x3a\x20\x6a";
    let _ = check(bytes);
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
