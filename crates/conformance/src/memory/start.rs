//! Starts from a state file.

use memory_manager::Stored;
use serde_json::{Value, json};

use super::answers::allocatable;
use super::leeway::any_of;
use super::order::{Order, in_any_order};
use super::setup::{Fault, Made, Setup};
use super::{file, leeway, state};
use crate::case::{Case, Outcome};
use crate::corpus::Corpus;

pub(super) fn start(_: &Corpus, case: &Case) -> Outcome {
    in_any_order(|order| start_in(order, case))
}

fn start_in(order: Order, case: &Case) -> Outcome {
    let before = case.input["file"].as_str();
    let (mut got, after) = match begin(Setup::new(case), before, order) {
        Ok(Begun { allocatable, state, file }) => {
            (json!({ "allocatable": allocatable, "state": state }), Some(file))
        }
        Err(Fault::Refused(errors)) => (json!({ "error": any_of(&errors) }), before.map(str::to_owned)),
        Err(Fault::Unreadable(what)) => return Outcome::unreadable(what),
    };
    if after.is_some() && after.as_deref() == before {
        got["file_unchanged"] = json!(true);
    } else {
        got["file"] = json!(after);
    }
    leeway::compare(case, got)
}

/// A manager that has started.
struct Begun {
    allocatable: Value,
    state: Value,
    file: String,
}

fn begin(setup: Setup<'_>, before: Option<&str>, order: Order) -> Result<Begun, Fault> {
    let Made { policy, nodes } = setup.make()?;
    let (name, forms) = (setup.policy, setup.forms());
    let found = match before {
        None => Stored::default(),
        Some(before) => file::read(before, name, forms).map_err(Fault::refused)?,
    };
    let (allocatable, stored) = match policy {
        None => (json!([]), found.clone()),
        Some(policy) => {
            let held = order.restore(&policy, &found).map_err(Fault::refused)?;
            (allocatable(&policy, &nodes), policy.stored(&held))
        }
    };
    // Nothing is written until something is booked, even where lists of nodes were sorted; but a new node is.
    let file = match before {
        Some(before) if found.nodes.is_empty() == stored.nodes.is_empty() => before.to_owned(),
        _ => file::written(&stored, name, forms),
    };
    Ok(Begun { allocatable, state: Value::Object(state::shown(&stored)), file })
}
