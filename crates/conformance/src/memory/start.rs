//! Starts from a state file.
//!
//! Reading the file is not this domain's: files that the kubelet could not read, or that are of another policy, are
//! not played.

use memory_manager::PodLevel;
use serde_json::{Value, json};

use super::setup::{Fault, Made, Setup};
use super::{allocatable, state, unreadable};
use crate::case::{Case, Expected, Outcome, text};
use crate::corpus::Corpus;

pub(super) fn start(_: &Corpus, case: &Case) -> Outcome {
    if is_unreadable(&case.expected) {
        return Outcome::Skipped;
    }
    let setup = Setup::new(&case.input);
    let made = match setup.make() {
        Ok(made) => made,
        Err(Fault::Refused(error)) => return case.compare(json!({ "error": error })),
        Err(Fault::Unreadable(what)) => return unreadable(&what),
    };
    let mut file = match case.input["file"].as_str().map(serde_json::from_str::<Value>).transpose() {
        Ok(file) => file.unwrap_or_default(),
        Err(error) => return unreadable(&error.to_string()),
    };
    if let (PodLevel::Ignored | PodLevel::NotPinned, Some(members)) =
        (setup.pod_level(), file.as_object_mut())
    {
        members.remove("podEntries");
    }
    let stored = match state::read(&file) {
        Ok(stored) => stored,
        Err(what) => return unreadable(&what),
    };
    let Made { policy: Some(policy), nodes } = made else {
        return case.compare(json!({ "allocatable": [], "state": state::shown(&stored) }));
    };
    case.compare(match policy.restore(&stored) {
        Err(error) => json!({ "error": error.to_string() }),
        Ok(held) => json!({
            "allocatable": allocatable(&policy, &nodes),
            "state": state::shown(&policy.stored(&held)),
        }),
    })
}

/// Whether the kubelet did not get as far as to look at what the file says.
fn is_unreadable(expected: &Expected) -> bool {
    match expected {
        Expected::Result(result) => text(&result["error"]).starts_with("could not restore state"),
        Expected::Crash(_) | Expected::Hang => false,
    }
}
