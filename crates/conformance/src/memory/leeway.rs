//! Answers in which the kubelet crashed at some place, or left something to chance.

use serde::Serialize;
use serde_json::{Value, json};

use crate::case::{Case, Expected, Outcome};

/// The name under which [`any_of`] keeps alternatives.
const ANY_OF: &str = "oursAnyOf";

/// Answers of which the kubelet gives any: it walks unordered maps.
pub(super) fn any_of<T: Serialize>(answers: &[T]) -> Value {
    match answers {
        [only] => json!(only),
        answers => json!({ ANY_OF: answers }),
    }
}

/// Compares an answer of ours. Where the kubelet crashed within its answer ours may be anything; the rest must be
/// the same, and then the case is a listed difference.
pub(super) fn compare(case: &Case, mut got: Value) -> Outcome {
    let Expected::Result(expected) = &case.expected else { return case.compare(got) };
    let own = got.clone();
    let crashed = take_over(expected, &mut got);
    let outcome = case.compare(got);
    if crashed { outcome.crashed_beside(own) } else { outcome }
}

/// Puts the places where the kubelet crashed into `got`, and says whether there are any; and of alternatives that
/// which the kubelet took. A crash during a step takes the place of the whole step.
fn take_over(expected: &Value, got: &mut Value) -> bool {
    match (expected, got) {
        (Value::Object(crash), got) if crash.contains_key("panic") => {
            *got = expected.clone();
            true
        }
        (expected, got) if got.get(ANY_OF).is_some() => {
            let texts = got[ANY_OF].as_array().cloned().unwrap_or_default();
            let seen = texts.iter().find(|text| *text == expected).or(texts.first());
            *got = seen.cloned().unwrap_or_default();
            false
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
            // What the kubelet crashed on was its last step.
            if expected.last().is_some_and(|last| last.get("panic").is_some()) {
                got.truncate(expected.len());
            }
            for (expected, got) in expected.iter().zip(got) {
                crashed |= take_over(expected, got);
            }
            crashed
        }
        _ => false,
    }
}
