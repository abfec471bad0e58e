//! The memory manager: reserved memory, the start from a state file, hints, and series of admissions.

mod answers;
mod file;
mod leeway;
mod order;
mod pods;
mod sequence;
mod setup;
mod start;
mod state;

use node_config::{KubeletConfiguration, ReservedMemory, ReservedMemoryFlag, Rules};
use pod_spec::{Pod, Unit};
use serde_json::{Map, Value, json};
use topology_hint::Answers;

use crate::case::{Case, Outcome, text};
use crate::corpus::Corpus;
use crate::runner::Runner;
use answers::{allocatable, answer};
use order::{Order, in_any_order};
use setup::{Fault, Made, Setup};

pub(crate) use setup::sums;

pub(crate) fn runner(kind: &str) -> Option<Runner> {
    Some(match kind {
        "flag" => flag,
        "config" => config,
        "reserved" => reserved,
        "start" => start::start,
        "hints" => hints,
        "seq" => sequence::sequence,
        // The program that answers for memory makes such cases too.
        "quantity" => return crate::quantity::runner(kind),
        _ => return None,
    })
}

/// `--reserved-memory`, one line for each use.
fn flag(_: &Corpus, case: &Case) -> Outcome {
    let mut flag = ReservedMemoryFlag::default();
    let mut values = case.input["value"].as_str().into_iter().flat_map(|value| value.split('\n'));
    case.compare(match values.try_for_each(|value| flag.set(value)) {
        Ok(()) => json!({
            "reserved": flag.reserved().iter().map(shown_reservation).collect::<Vec<_>>(),
            "string": flag.to_string(),
        }),
        Err(error) => json!({ "error": error.text(Rules::of(case.release).flag_texts) }),
    })
}

fn shown_reservation(reserved: &ReservedMemory) -> Value {
    let limits = reserved.limits.iter().map(|(name, amount)| (name.clone(), json!(amount.to_string())));
    json!({ "node": reserved.numa_node, "limits": Value::Object(limits.collect()) })
}

/// What the check of a configuration says about its `reservedMemory`.
fn config(_: &Corpus, case: &Case) -> Outcome {
    let reserved_memory = match setup::reserved_memory(&case.input["reserved"]) {
        Ok(reserved) => reserved,
        Err(what) => return Outcome::unreadable(what),
    };
    let configuration = KubeletConfiguration { reserved_memory, ..KubeletConfiguration::default() };
    let mut errors: Vec<_> = configuration.validate().iter().map(ToString::to_string).collect();
    errors.sort_unstable();
    case.compare(json!({ "errors": errors }))
}

/// What is booked and can be booked on a new node, or why there is no manager.
fn reserved(_: &Corpus, case: &Case) -> Outcome {
    let mut setup = Setup::new(case);
    // Cases of this kind leave nothing to defaults.
    setup.nar.get_or_insert(&Value::Null);
    setup.policy = text(&case.input["policy"]);
    match setup.make() {
        Err(Fault::Unreadable(what)) => Outcome::unreadable(what),
        Err(Fault::Refused(errors)) => leeway::compare(case, json!({ "error": leeway::any_of(&errors) })),
        Ok(Made { policy: None, .. }) => case.compare(json!({ "machineState": {}, "allocatable": [] })),
        Ok(Made { policy: Some(policy), nodes }) => {
            let state = state::shown(&policy.stored(&policy.initial()));
            let state = state.get("machineState").cloned().unwrap_or_default();
            case.compare(json!({ "machineState": state, "allocatable": allocatable(&policy, &nodes) }))
        }
    }
}

/// The hints of every container, and of the pod as a whole.
fn hints(_: &Corpus, case: &Case) -> Outcome {
    in_any_order(|order| hints_in(order, case))
}

fn hints_in(order: Order, case: &Case) -> Outcome {
    let Made { policy, nodes } = match Setup::new(case).make() {
        Ok(made) => made,
        Err(Fault::Refused(errors)) => {
            return leeway::compare(case, json!({ "error": leeway::any_of(&errors) }));
        }
        Err(Fault::Unreadable(what)) => return Outcome::unreadable(what),
    };
    let (pod, stored) = match (pods::pod(&case.input["pod"]), state::read(&case.input["state"])) {
        (Ok(pod), Ok(stored)) => (pod, stored),
        (Err(error), _) => return Outcome::unreadable(error),
        (_, Err(what)) => return Outcome::unreadable(what),
    };
    let asked = |unit: Unit<'_>| match &policy {
        None => Ok(Value::Null),
        Some(policy) => {
            let held = order.restore(policy, &stored);
            held.map(|held| answer(policy, &nodes, &held, unit, &mut Answers::new()))
        }
    };
    match containers_and_pod(&pod, asked) {
        Ok(got) => leeway::compare(case, got),
        Err(error) => case.compare(json!({ "error": error.to_string() })),
    }
}

fn containers_and_pod<E>(pod: &Pod, asked: impl Fn(Unit<'_>) -> Result<Value, E>) -> Result<Value, E> {
    let mut containers = Map::new();
    for container in &pod.containers {
        containers.insert(container.name.to_string(), asked(Unit::Container(pod, container))?);
    }
    Ok(json!({ "containers": containers, "pod": asked(Unit::Pod(pod))? }))
}
