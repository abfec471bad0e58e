//! One recorded case and what came of playing it.

use std::fmt::Display;
use std::slice;

use kubelet_release::Release;
use serde_json::{Value, json};

use crate::compare::{Unstable, accepts};

/// A line of a case file.
#[derive(Clone, Debug)]
pub struct Case {
    /// The folder it lies in: `cpu`, `topology`, …
    pub domain: String,
    /// Its `kind`, or the name of its file where cases have none.
    pub kind: String,
    /// Its own name.
    pub id: String,
    /// The release of the kubelet that answered.
    pub release: Release,
    /// What is asked.
    pub input: Value,
    /// What the kubelet answered.
    pub expected: Expected,
    /// Where its answer changes from run to run.
    pub unstable: Unstable,
}

/// Why a line of a case file or of a generator is not a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotACase {
    /// No `result`, `panic` or `hang`.
    #[error("it has no result")]
    NoResult,
}

/// What the kubelet did.
#[derive(Clone, PartialEq, Debug)]
pub enum Expected {
    /// It answered.
    Result(Value),
    /// It crashed, with this text.
    Crash(String),
    /// It never ended.
    Hang,
}

/// What came of a case.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// The same answer.
    Passed,
    /// Another answer, which is right all the same: passed, and counted as a listed difference.
    Listed(Listed),
    /// Another answer.
    Failed {
        /// Ours.
        got: Value,
    },
    /// Nothing here plays this kind yet.
    Skipped,
}

/// Why an answer that is not the recorded one is right.
#[derive(Clone, PartialEq, Debug)]
pub enum Listed {
    /// The kubelet crashes or hangs, or the input lies outside a type's range, and ours is a typed error or a defined
    /// answer: this one.
    Unanswered(Value),
    /// The kubelet's answer depends on map order or on earlier questions. Ours is the answer of another order, and the
    /// recorded order gives the recorded answer.
    Reproduced,
}

impl Outcome {
    /// The case makes no sense here.
    pub(crate) fn unreadable(why: impl Display) -> Self {
        Self::Failed { got: json!({ "unreadable": why.to_string() }) }
    }

    /// A listed difference: the kubelet has no answer to compare with, and ours is this error.
    pub(crate) fn unanswered(error: impl Display) -> Self {
        Self::Listed(Listed::Unanswered(json!({ "error": error.to_string() })))
    }

    /// The same answer as the kubelet's but for places where the kubelet crashes; `own` is ours in full.
    pub(crate) fn crashed_beside(self, own: Value) -> Self {
        match self {
            Self::Passed => Self::Listed(Listed::Unanswered(own)),
            other => other,
        }
    }
}

impl Case {
    /// The case `input` of a domain, with a line that has the kubelet's answer: `result`, `panic` or `hang`, and
    /// `unstable`. `unnamed` is the kind of cases that name none.
    pub fn answered(domain: &str, unnamed: &str, input: Value, mut answer: Value) -> Result<Self, NotACase> {
        // Where the real allocator has no answer, another question is answered.
        let kind = ["hard", "verdict"].into_iter().find(|field| answer.get(field).is_some());
        let kind = kind.map(|field| if field == "verdict" { "table" } else { field });
        let is_endless = ["hang", "timeout"].iter().any(|field| answer[field].as_bool() == Some(true));
        let expected = if is_endless {
            Expected::Hang
        } else if let Some(panic) = answer["panic"].as_str() {
            Expected::Crash(panic.to_owned())
        } else if answer.get("result").is_some() {
            Expected::Result(answer["result"].take())
        } else if answer.get("any_of").is_some() {
            Expected::Result(json!({ "anyOf": answer["any_of"].take() }))
        } else if answer.get("hard").is_some() {
            Expected::Result(answer["hard"].take())
        } else if answer.get("verdict").is_some() {
            Expected::Result(answer.clone())
        } else {
            return Err(NotACase::NoResult);
        };
        Ok(Self {
            domain: domain.to_owned(),
            kind: kind.unwrap_or_else(|| input["kind"].as_str().unwrap_or(unnamed)).to_owned(),
            id: text(&answer["id"]).to_owned(),
            release: Release::default(),
            input,
            expected,
            unstable: Unstable::new(&answer["unstable"]),
        })
    }

    /// The same case, answered by another release than the default.
    #[must_use]
    pub fn of(self, release: Release) -> Self {
        Self { release, ..self }
    }

    /// Under which name its kind is counted: `cpu/seq`, and `cpu/seq@1.37` for a release that is not the default.
    #[must_use]
    pub fn counted_as(&self) -> String {
        let Self { domain, kind, release, .. } = self;
        if *release == Release::default() {
            format!("{domain}/{kind}")
        } else {
            format!("{domain}/{kind}@{release}")
        }
    }

    /// Whether the kubelet did the same in `other`, another recording of the case: places that either recording says
    /// change from run to run are left out.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        match (&self.expected, &other.expected) {
            (Expected::Result(own), Expected::Result(others)) => {
                let unstable = self.unstable.or(&other.unstable);
                accepts(own, others, &unstable) || accepts(others, own, &unstable)
            }
            (own, others) => own == others,
        }
    }

    /// What is recorded at a place of the result, such as `/steps/0/error`; `null` where nothing is.
    pub(crate) fn recorded(&self, place: &str) -> &Value {
        match &self.expected {
            Expected::Result(result) => result.pointer(place).unwrap_or(&Value::Null),
            Expected::Crash(_) | Expected::Hang => &Value::Null,
        }
    }

    /// Compares an answer of ours.
    pub(crate) fn compare(&self, got: Value) -> Outcome {
        match &self.expected {
            Expected::Result(expected) if accepts(expected, &got, &self.unstable) => Outcome::Passed,
            Expected::Result(_) => Outcome::Failed { got },
            Expected::Crash(_) | Expected::Hang => Outcome::Listed(Listed::Unanswered(got)),
        }
    }
}

/// Of several errors of which the kubelet reports any: the one that it did report, or else the first.
pub(crate) fn reported<'e>(errors: &'e [String], recorded: &Value) -> Option<&'e String> {
    let alternatives = recorded["anyOf"].as_array().map_or(slice::from_ref(recorded), Vec::as_slice);
    errors.iter().find(|error| alternatives.iter().any(|seen| seen == *error)).or(errors.first())
}

/// A list of numbers; absent is empty. Something else is a fault of the case file.
pub(crate) fn numbers(value: &Value) -> Vec<i64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_i64).collect()
}

/// A text; absent is empty.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_errors_the_kubelets_own_is_ours() {
        let errors = ["unknown option".to_owned(), "bad value".to_owned()];
        for (recorded, own) in [
            (json!("bad value"), "bad value"),
            (json!({ "anyOf": ["no such policy", "bad value"] }), "bad value"),
            (json!("no such policy"), "unknown option"),
            (Value::Null, "unknown option"),
        ] {
            assert_eq!(reported(&errors, &recorded).map(String::as_str), Some(own), "{recorded}");
        }
        assert_eq!(reported(&[], &json!("bad value")), None);
    }
}
