//! The device manager: names of resources, and series of steps on one manager with its plugins and pods.

mod node;
mod plugins;
mod pods;
mod show;
mod stored;
mod wire;
mod sockets;

use device_manager::is_extended_resource;
use kubelet_release::{PluginsPerResource, Rules, RunningInstances};
use serde_json::{Map, Value, json};

use crate::case::{Case, Expected, Listed, Outcome, text};
use crate::corpus::Corpus;
use crate::runner::Runner;
use node::{Chance, Node, Successors};
pub(crate) use sockets::plays as over_sockets;

/// The function that plays the cases of a kind. State files in bytes are played elsewhere.
pub(crate) fn runner(kind: &str) -> Option<Runner> {
    Some(match kind {
        "name" => name,
        "fact" => sockets::fact,
        "watch" => sockets::watch,
        "alloc" | "capacity" | "edge" | "hints" | "metrics" | "options" | "podlevel" | "podres"
        | "register" | "restart" | "several" | "status" => sequence,
        _ => return None,
    })
}

/// Which names are those of extended resources.
fn name(_: &Corpus, case: &Case) -> Outcome {
    let names = case.input["data"].as_array().into_iter().flatten().map(text);
    let valid = names.map(|name| (name.to_owned(), json!(is_extended_resource(name))));
    case.compare(json!({ "valid": valid.collect::<Map<_, _>>() }))
}

/// Plays the steps and compares what each answers and leaves behind, up to where the kubelet crashes or is not
/// understood.
fn sequence(_: &Corpus, case: &Case) -> Outcome {
    let steps = case.input["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
    let expected = match &case.expected {
        Expected::Result(result) => result.clone(),
        Expected::Crash(_) | Expected::Hang => Value::Null,
    };
    let entries = expected["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_chosen = |(step, entry): (&Value, &Value)| {
        step.get("choose").is_some() && entry.get("choose_invalid").is_none()
    };
    // Where several answers are right and another than ours was kept, ours has to be one of them, and what follows is
    // not comparable.
    let chosen = steps.iter().zip(entries).position(is_chosen);
    let crash = entries.iter().position(|entry| entry.get("panic").is_some());
    // Where the one who asked could not tell what else the kubelet might have answered, nothing is known.
    let unclear = entries.iter().position(|entry| entry.get("model_mismatch").is_some());
    let until = crash.into_iter().chain(unclear).chain(chosen.map(|at| at + 1)).min();
    let compared = |node: Result<Node, String>| {
        let played = node.and_then(|mut node| {
            let entries: Result<Vec<_>, _> = steps.iter().map(|step| node.step(step)).collect();
            entries
        });
        let mut got = match played {
            Ok(entries) => entries,
            Err(what) => return Outcome::unreadable(what),
        };
        let own = json!({ "steps": got });
        got.truncate(until.unwrap_or(got.len()));
        let mut expected = expected.clone();
        if let Some(entries) = expected["steps"].as_array_mut() {
            entries.truncate(until.unwrap_or(entries.len()));
            for (at, entry) in entries.iter_mut().enumerate() {
                let own = got.get(at).unwrap_or(&Value::Null);
                let is_right = chosen == Some(at) && is_allowed(&entry["choice"], own);
                *entry = if is_right { own.clone() } else { comparable(entry, own) };
            }
        }
        let got = json!({ "steps": got });
        match &case.expected {
            Expected::Crash(_) | Expected::Hang => case.compare(got),
            Expected::Result(_) => {
                let case = Case { expected: Expected::Result(expected), ..case.clone() };
                match case.compare(got) {
                    outcome if crash.is_some() && crash == until => outcome.crashed_beside(own),
                    outcome => outcome,
                }
            }
        }
    };
    let outcome = compared(Node::new(case));
    if matches!(outcome, Outcome::Failed { .. })
        && Rules::of(case.release).plugins_per_resource == PluginsPerResource::Several
    {
        let goes = |step: &&Value| matches!(text(&step["op"]), "stop_plugin" | "deregister");
        let times = u32::try_from(steps.iter().filter(goes).count()).unwrap_or(u32::MAX);
        let is_possible =
            |successors| matches!(compared(Node::with_successors(case, successors)), Outcome::Passed);
        return if Successors::all(times).any(is_possible) {
            Outcome::Listed(Listed::Reproduced)
        } else {
            outcome
        };
    }
    if matches!(outcome, Outcome::Failed { .. }) {
        let instances = Rules::of(case.release).running_instances;
        let ended = (instances == RunningInstances::One).then_some(Chance::EndedInstances);
        let is_possible = |chance| matches!(compared(Node::with_chance(case, chance)), Outcome::Passed);
        return if ended.into_iter().chain([Chance::LateEnds]).any(is_possible) {
            Outcome::Listed(Listed::Reproduced)
        } else {
            outcome
        };
    }
    if !matches!(outcome, Outcome::Passed) || !over_sockets(case) {
        return outcome;
    }
    match compared(Node::wired(case)) {
        Outcome::Failed { got } => Outcome::Failed { got: json!({ "through the sockets": got }) },
        outcome => outcome,
    }
}

/// Whether what plugins were asked to give out is among what the kubelet might have chosen.
fn is_allowed(choice: &Value, got: &Value) -> bool {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let calls = list(&got["rpcs"]);
    choice.as_object().into_iter().flatten().all(|(resource, allowed)| {
        let call = calls.iter().find(|call| call["call"] == "Allocate" && call["resource"] == **resource);
        let ids = call.map(|call| list(&call["ids"])).unwrap_or_default();
        let (fixed, any_of) = (list(&allowed["fixed"]), list(&allowed["any_of"]));
        let count = allowed["count"].as_u64().unwrap_or_default();
        let free: Vec<&Value> = ids.iter().filter(|id| !fixed.contains(id)).collect();
        fixed.iter().all(|id| ids.contains(id))
            && free.iter().all(|id| any_of.contains(id))
            && free.len() as u64 == count
    })
}

/// What is compared of the kubelet's answer to a step.
fn comparable(expected: &Value, got: &Value) -> Value {
    // What is in the folder of sockets, and what else the kubelet might have answered: its answer here is the one
    // that is ours too.
    const LEFT_OUT: [&str; 8] = [
        "files",
        "files_before",
        "files_after",
        "should_reset",
        "choice",
        "choose_invalid",
        "outcomes",
        "options_any_of",
    ];
    let Value::Object(fields) = expected else { return expected.clone() };
    let mut fields = fields.clone();
    if let Some(Value::Array(options)) = fields.get("options_any_of") {
        let options = if options.contains(&got["options"]) { got["options"].clone() } else { json!(options) };
        fields.insert("options".into(), options);
    }
    // Who recorded this asked plugins too, for what else they might have chosen. A start that fails because nothing
    // has been given out asks no plugin what it prefers, so such a call is not the kubelet's.
    if fields.get("error").is_some_and(|error| text(error).starts_with("no devices found allocated")) {
        let calls = expected["rpcs"].as_array().into_iter().flatten();
        let own: Vec<Value> =
            calls.filter(|call| call["call"] != "GetPreferredAllocation").cloned().collect();
        fields.insert("rpcs".into(), if own.is_empty() { Value::Null } else { Value::Array(own) });
    }
    // A plugin may send another list, which is lost, before it notices that the connection is closed.
    if got["not_delivered"] == json!(true) && fields.remove("not_settled").is_some() {
        fields.insert("not_delivered".into(), json!(true));
    }
    // A state file that the case has put in place is not shown by us.
    if got.get("checkpoint").is_none() {
        fields.remove("checkpoint");
    }
    for name in LEFT_OUT {
        fields.remove(name);
    }
    Value::Object(fields)
}
