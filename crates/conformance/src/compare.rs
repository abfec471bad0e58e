//! When an answer of ours counts as the kubelet's.
//!
//! Equality, except where the kubelet walks unordered maps. Such places are marked in two ways: beside the result as
//! a path with the values that were seen, or in it as `{"anyOf": [...]}`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Places of a result that change from run to run, each with the values that were seen; `None`: any.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Unstable(BTreeMap<String, Option<Vec<Value>>>);

/// How an absent field is written among the values that were seen.
const ABSENT: &str = "(absent)";

impl Unstable {
    /// From the object that case files have. Its paths are names joined by `/`, without escapes.
    pub(crate) fn new(marked: &Value) -> Self {
        let places = marked.as_object().into_iter().flatten();
        Self(places.map(|(path, seen)| (path.clone(), seen.as_array().cloned())).collect())
    }

    /// Every place that either names, with whatever stands there.
    pub(crate) fn or(&self, other: &Self) -> Self {
        Self(self.0.keys().chain(other.0.keys()).map(|path| (path.clone(), None)).collect())
    }

    /// Whether some device was another one in another run.
    pub(crate) fn names_devices(&self) -> bool {
        self.0.keys().any(|path| path.contains("/devices/"))
    }

    /// The same where device ids change from run to run: which ones were seen is left to chance, and so is on which
    /// nodes those are.
    pub(crate) fn with_any_devices(&self) -> Self {
        let mut places = self.0.clone();
        for path in self.0.keys().filter(|path| path.contains("/devices/")) {
            places.insert(path.clone(), None);
            places.insert(path.replace("/devices/", "/deviceNodes/"), None);
        }
        Self(places)
    }
}

/// Whether `got` is right where the kubelet answered `expected`.
pub(crate) fn accepts(expected: &Value, got: &Value, unstable: &Unstable) -> bool {
    agrees(Some(expected), Some(got), &mut String::new(), unstable)
}

fn agrees(expected: Option<&Value>, got: Option<&Value>, path: &mut String, unstable: &Unstable) -> bool {
    if let Some(seen) = unstable.0.get(path.as_str()) {
        return match (seen, got) {
            (None, _) => true,
            (Some(seen), Some(got)) => seen.iter().any(|value| says(value, got)),
            (Some(seen), None) => seen.iter().any(|value| value == ABSENT),
        };
    }
    match (expected, got) {
        (Some(Value::Object(expected)), Some(got))
            if expected.len() == 1 && expected.contains_key("anyOf") =>
        {
            is_any_of(&expected["anyOf"], got)
        }
        (Some(Value::Object(expected)), Some(Value::Object(got))) => {
            let names: BTreeSet<&String> = expected.keys().chain(got.keys()).collect();
            names.into_iter().all(|name| {
                below(path, name, |path| agrees(expected.get(name), got.get(name), path, unstable))
            })
        }
        (Some(Value::Array(expected)), Some(Value::Array(got))) => {
            expected.len() == got.len()
                && expected.iter().zip(got).enumerate().all(|(at, (expected, got))| {
                    below(path, &at.to_string(), |path| agrees(Some(expected), Some(got), path, unstable))
                })
        }
        (Some(expected), Some(got)) => says(expected, got),
        (expected, got) => expected == got,
    }
}

/// Whether `got` is the kubelet's text. For a plugin that has gone away the kubelet prints its memory, which
/// differs from run to run; ours prints the resource, which is named in there.
fn says(expected: &Value, got: &Value) -> bool {
    let stopped = |value: &'_ Value| {
        let (before, rest) = value.as_str()?.split_once("endpoint ")?;
        let (endpoint, after) = rest.split_once(" has been stopped")?;
        Some([before, endpoint, after].map(str::to_owned))
    };
    expected == got
        || stopped(expected).zip(stopped(got)).is_some_and(
            |([before, memory, after], [own, resource, end])| {
                before == own && after == end && memory.split(' ').any(|word| word == resource)
            },
        )
}

/// One of the answers that were seen.
fn is_any_of(alternatives: &Value, got: &Value) -> bool {
    alternatives.as_array().is_some_and(|alternatives| alternatives.contains(got))
}

fn below(path: &mut String, name: &str, check: impl FnOnce(&mut String) -> bool) -> bool {
    let end = path.len();
    path.push('/');
    path.push_str(name);
    let agrees = check(path);
    path.truncate(end);
    agrees
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_agree_where_the_kubelet_is_of_one_mind() {
        let stable = json!(null);
        let gpu = json!({ "/pods/a/c/gpu": ["g0", "g1"] });
        let maybe = json!({ "/steps/0/hint": ["(absent)", [0]] });
        let free = json!({ "/steps/0": null });
        let dump =
            json!({ "/message": ["endpoint &{{{} {0 0}} a/b 0xd1e9 <nil>} has been stopped, so", "x"] });
        for (expected, got, unstable, agrees) in [
            (json!({ "a": [1, 2] }), json!({ "a": [1, 2] }), &stable, true),
            (json!({ "a": [1, 2] }), json!({ "a": [2, 1] }), &stable, false),
            (json!({ "a": 1 }), json!({ "a": 1, "b": null }), &stable, false),
            (json!({ "a": 1, "b": 2 }), json!({ "a": 1 }), &stable, false),
            (json!([1]), json!([1, 2]), &stable, false),
            // A marked place holds one of the values seen, and the rest is compared as ever.
            (
                json!({ "pods": { "a/c": { "gpu": null } } }),
                json!({ "pods": { "a/c": { "gpu": "g1" } } }),
                &gpu,
                true,
            ),
            (
                json!({ "pods": { "a/c": { "gpu": null } } }),
                json!({ "pods": { "a/c": { "gpu": "g2" } } }),
                &gpu,
                false,
            ),
            (json!({ "steps": [{ "hint": null }] }), json!({ "steps": [{}] }), &maybe, true),
            (json!({ "steps": [{ "hint": null }] }), json!({ "steps": [{ "hint": [0] }] }), &maybe, true),
            (json!({ "steps": [{ "hint": null }] }), json!({ "steps": [{ "hint": [1] }] }), &maybe, false),
            (json!({ "steps": [null, 1] }), json!({ "steps": [{ "x": 1 }, 1] }), &free, true),
            (json!({ "steps": [null, 1] }), json!({ "steps": [{ "x": 1 }, 2] }), &free, false),
            // What the kubelet prints of its memory is not compared, but whose it is.
            (
                json!({ "message": null }),
                json!({ "message": "endpoint a/b has been stopped, so" }),
                &dump,
                true,
            ),
            (
                json!({ "message": null }),
                json!({ "message": "endpoint a/c has been stopped, so" }),
                &dump,
                false,
            ),
            (json!({ "message": null }), json!({ "message": "endpoint a/b has been stopped" }), &dump, false),
            (json!({ "metric": { "anyOf": [1, 2] } }), json!({ "metric": 2 }), &stable, true),
            (json!({ "metric": { "anyOf": [1, 2] } }), json!({ "metric": 3 }), &stable, false),
            (json!({ "anyOf": [{ "ok": 1 }, { "error": "x" }] }), json!({ "error": "x" }), &stable, true),
            (json!({ "anyOf": [{ "ok": 1 }, { "error": "x" }] }), json!({ "error": "y" }), &stable, false),
        ] {
            let unstable = Unstable::new(unstable);
            assert_eq!(accepts(&expected, &got, &unstable), agrees, "{expected} and {got}");
        }
    }
}
