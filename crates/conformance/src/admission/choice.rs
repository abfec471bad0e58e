//! Which devices a plugin without preference gives: the kubelet walks an unordered map, so that any of those alike will
//! do, and what comes later follows from which it was.
//!
//! A case is played with the devices as they are named, and if that is not what the kubelet did, with their resources in
//! any other [order](Order), and with their names exchanged among each resource's: other devices are chosen then, but for
//! those that a plugin prefers. If one of these gives its answer, the answer is one of several, which is a listed
//! difference.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use super::order::Order;
use crate::case::{Case, Listed, Outcome};

/// So many other namings are tried.
const TRIES: u64 = 64;

/// For each resource the names that devices have here, and what they are called in the case.
type Names = BTreeMap<String, BTreeMap<String, String>>;

/// What `play` comes to with the devices as they are named, or in any other way. It answers what it got.
pub(super) fn with_any_choice(case: &Case, play: impl Fn(&Case) -> Result<Value, Outcome>) -> Outcome {
    let compared = |played: Result<Value, Outcome>| match played {
        // Where a plugin prefers nothing any device will do.
        Ok(got) => Case { unstable: case.unstable.with_any_devices(), ..case.clone() }.compare(got),
        Err(outcome) => outcome,
    };
    let as_named = compared(play(case));
    if !matches!(as_named, Outcome::Failed { .. }) {
        return as_named;
    }
    let is_in_order = |order: Order<'_>| {
        let got = order.of(case).map(|other| play(&other)).and_then(|got| match got {
            Ok(got) => order.named_back(&got).map(Ok),
            Err(outcome) => Ok(Err(outcome)),
        });
        got.is_ok_and(|got| !matches!(compared(got), Outcome::Failed { .. }))
    };
    if Order::others(case).into_iter().any(is_in_order) {
        return Outcome::Listed(Listed::Reproduced);
    }
    if !case.unstable.names_devices() {
        return as_named;
    }
    let agrees = (0..TRIES).any(|seed| {
        let names = exchanged(&case.input, seed);
        let mut input = case.input.clone();
        rename_listed(&mut input, None, &names);
        let got = play(&Case { input, ..case.clone() }).map(|mut got| {
            name_back(&mut got, None, &names);
            got
        });
        !matches!(compared(got), Outcome::Failed { .. })
    });
    if agrees { Outcome::Listed(Listed::Reproduced) } else { as_named }
}

/// Other names for the devices of each resource.
fn exchanged(input: &Value, seed: u64) -> Names {
    let resources = input["devices"].as_array().into_iter().flatten();
    let names = resources.map(|list| {
        let listed = list["devices"].as_array().into_iter().flatten();
        let own: Vec<String> = listed.filter_map(|one| one["id"].as_str()).map(str::to_owned).collect();
        let mut others = own.clone();
        others.sort_by_key(|name| {
            let mut hasher = DefaultHasher::new();
            (seed, name).hash(&mut hasher);
            hasher.finish()
        });
        (list["resource"].as_str().unwrap_or_default().to_owned(), others.into_iter().zip(own).collect())
    });
    names.collect()
}

/// Gives the devices of lists in a case their other names.
fn rename_listed(value: &mut Value, within: Option<&BTreeMap<String, String>>, names: &Names) {
    match value {
        Value::Object(fields) => {
            let resource = fields.get("resource").and_then(Value::as_str).and_then(|name| names.get(name));
            let within = resource.or(within).cloned();
            for value in fields.values_mut() {
                rename_listed(value, within.as_ref(), names);
            }
            let own = fields.get("id").and_then(Value::as_str);
            let renamed = within.iter().flatten().find(|(_, name)| own == Some(name.as_str()));
            if let Some((other, own)) = renamed {
                fields.insert("id".to_owned(), other.as_str().into());
                // A plugin with a preference goes by its own names.
                fields.insert("called".to_owned(), own.as_str().into());
            }
        }
        Value::Array(values) => {
            for value in values {
                rename_listed(value, within, names);
            }
        }
        _ => {}
    }
}

/// Gives devices in an answer, which stand below their resource, their names of the case.
fn name_back(value: &mut Value, within: Option<&BTreeMap<String, String>>, names: &Names) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                name_back(value, names.get(field).or(within), names);
            }
        }
        Value::Array(values) => {
            for value in values.iter_mut() {
                name_back(value, within, names);
            }
            if within.is_some() && values.iter().all(Value::is_string) {
                values.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
            }
        }
        Value::String(text) => {
            if let Some(own) = within.and_then(|names| names.get(text)) {
                text.clone_from(own);
            }
        }
        _ => {}
    }
}
