//! Answers in which the kubelet crashed at some place.

use serde_json::Value;

use crate::case::{Case, Expected, Outcome};

/// Compares an answer of ours. Where the kubelet crashed within its answer ours may be anything; the rest must be
/// the same, and then the case is a listed difference.
pub(super) fn compare(case: &Case, mut got: Value) -> Outcome {
    let Expected::Result(expected) = &case.expected else { return case.compare(got) };
    let crashed = take_over(expected, &mut got);
    match case.compare(got) {
        Outcome::Passed if crashed => Outcome::Listed,
        outcome => outcome,
    }
}

/// Puts the places where the kubelet crashed into `got`, and says whether there are any. A crash during a step takes
/// the place of the whole step.
fn take_over(expected: &Value, got: &mut Value) -> bool {
    match (expected, got) {
        (Value::Object(crash), got) if crash.contains_key("panic") => {
            *got = expected.clone();
            true
        }
        (Value::Object(expected), Value::Object(got)) => {
            let mut crashed = false;
            for (name, got) in got.iter_mut() {
                crashed |= expected.get(name).is_some_and(|expected| take_over(expected, got));
            }
            crashed
        }
        (Value::Array(expected), Value::Array(got)) => {
            let mut crashed = false;
            for (expected, got) in expected.iter().zip(got) {
                crashed |= take_over(expected, got);
            }
            crashed
        }
        _ => false,
    }
}
