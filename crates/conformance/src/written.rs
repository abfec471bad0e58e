//! Our answers where the kubelet has none: it crashes, hangs, or takes what no type here holds.
//!
//! There is nothing to compare them with, so a file records them, one line for each case: a change of one is noticed. An
//! answer that is too long to read is recorded as its length and its hash. The rules that they follow are in the README.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::case::Case;

/// Our answers by [kind](Case::counted_as) and id of the case.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WrittenAnswers(BTreeMap<String, BTreeMap<String, Value>>);

impl WrittenAnswers {
    /// No answers.
    #[must_use]
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// What is written for a case: of its release, else of the default one, whose answer holds unless another is written.
    pub(crate) fn of(&self, case: &Case) -> Option<&Value> {
        let of_kind = |kind: &str| self.0.get(kind)?.get(&case.id);
        of_kind(&case.counted_as()).or_else(|| of_kind(&format!("{}/{}", case.domain, case.kind)))
    }

    /// Whether an answer is the one that is written.
    pub(crate) fn has(&self, case: &Case, answer: &Value) -> bool {
        self.of(case) == Some(&as_written(answer))
    }

    pub(crate) fn insert(&mut self, case: &Case, answer: &Value) {
        let kind = self.0.entry(case.counted_as()).or_default();
        kind.insert(case.id.clone(), as_written(answer));
    }

    /// Adds all of other answers.
    pub(crate) fn extend(&mut self, others: Self) {
        for (kind, answers) in others.0 {
            self.0.entry(kind).or_default().extend(answers);
        }
    }

    /// Adds answers; one to a case that is there already replaces it. Those of another release are left out where they
    /// are the default release's.
    pub fn add(&mut self, others: Self) {
        for (kind, mut answers) in others.0 {
            let of_default = kind.split_once('@').and_then(|(kind, _)| self.0.get(kind));
            answers.retain(|id, answer| of_default.and_then(|answers| answers.get(id)) != Some(answer));
            if !answers.is_empty() {
                self.0.entry(kind).or_default().extend(answers);
            }
        }
    }

    /// JSON, with a line for each case.
    ///
    /// # Errors
    /// An answer cannot be printed.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let mut kinds = Vec::new();
        for (kind, answers) in &self.0 {
            let mut lines = Vec::new();
            for (id, answer) in answers {
                lines.push(format!("    {}: {answer}", serde_json::to_string(id)?));
            }
            kinds.push(format!("  {}: {{\n{}\n  }}", serde_json::to_string(kind)?, lines.join(",\n")));
        }
        Ok(format!("{{\n{}\n}}\n", kinds.join(",\n")))
    }
}

/// Longer answers, in bytes of JSON, are not for reading.
const LONGEST: usize = 400;

fn as_written(answer: &Value) -> Value {
    let text = answer.to_string();
    if text.len() <= LONGEST {
        return answer.clone();
    }
    json!({ "bytes": text.len(), "fnv1a": format!("{:016x}", fnv1a(text.as_bytes())) })
}

/// FNV-1a of 64 bits: the same in every release of Rust, unlike the standard library's hashes.
fn fnv1a(bytes: &[u8]) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    bytes.iter().fold(OFFSET, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use kubelet_release::Release;

    use super::*;

    #[test]
    fn another_release_is_written_where_it_differs_alone() {
        let input = json!({ "kind": "take" });
        let case = |id: &str, release| {
            let answer = json!({ "id": id, "panic": "boom" });
            Case::answered("cpu", "take", input.clone(), answer).unwrap().of(release)
        };
        let mut found = WrittenAnswers::new();
        for (id, release, answer) in [
            ("same", Release::V1_36, 1),
            ("same", Release::V1_37, 1),
            ("other", Release::V1_36, 1),
            ("other", Release::V1_37, 2),
        ] {
            found.insert(&case(id, release), &json!(answer));
        }
        let mut written = WrittenAnswers::new();
        written.add(found);
        assert_eq!(
            serde_json::to_value(&written).unwrap(),
            json!({ "cpu/take": { "same": 1, "other": 1 }, "cpu/take@1.37": { "other": 2 } })
        );
        assert!(written.has(&case("same", Release::V1_37), &json!(1)));
        assert!(written.has(&case("other", Release::V1_37), &json!(2)));
        assert!(!written.has(&case("other", Release::V1_36), &json!(2)));
    }

    #[test]
    fn long_answers_are_written_as_their_hashes() {
        assert_eq!(as_written(&json!({ "cpus": "1-3" })), json!({ "cpus": "1-3" }));
        let (one, other) = (json!("a".repeat(LONGEST)), json!("b".repeat(LONGEST)));
        assert_eq!(as_written(&one)["bytes"], LONGEST + 2);
        assert_ne!(as_written(&one), as_written(&other));
        // From the reference of the hash.
        assert_eq!((fnv1a(b""), fnv1a(b"foobar")), (0xcbf2_9ce4_8422_2325, 0x8594_4171_f739_67e8));
    }
}
