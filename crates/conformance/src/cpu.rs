//! The CPU manager: construction, one allocation, hints, and series of them.

mod machine;
pub(crate) mod setup;
mod metrics;
mod pods;
mod stored;
mod shown;
mod kubelet;
mod sequence;

use std::collections::BTreeSet;

use cpu_manager::{Config, Granted, Holdings, Reserved, Static, WalkEnd};
use cpuset::CpuSet;
use pod_spec::{ContainerName, PodUid, Unit};
use serde_json::{Map, Value, json};
use topology_hint::{Affinity, Answers};
use topology_model::{CpuRow, CpuTable, Nodes};

use crate::case::{Case, Expected, Outcome, numbers, reported, text};
use crate::corpus::Corpus;
use crate::discovery::cadvisor::machine_info;
use crate::runner::Runner;
use machine::Machine;
use setup::{Fault, Made, Setup};
pub(crate) use shown::listed;
use shown::{insert_error, state};

pub(crate) fn runner(kind: &str) -> Option<Runner> {
    Some(match kind {
        "take" => take,
        "hints" => hints,
        "construct" => construct,
        "discover" => discover,
        "start" => stored::start,
        "seq" => sequence::sequence,
        _ => return None,
    })
}

/// The CPU table of a machine that cAdvisor describes.
fn discover(_: &Corpus, case: &Case) -> Outcome {
    let table = match CpuTable::new(&machine_info(&case.input["machineInfo"])) {
        Ok(table) => table,
        Err(error) => return case.compare(json!({ "error": error.to_string() })),
    };
    let row = |row: &CpuRow| json!([row.cpu.get(), row.core.0, row.socket.0, row.node.0, row.cache.0]);
    let rows: Vec<Value> = table.rows().map(row).collect();
    case.compare(json!({
        "cpus": if rows.is_empty() { Value::Null } else { Value::Array(rows) },
        "numCPUs": table.num_cpus(),
        "numCores": table.num_cores(),
        "numSockets": table.num_sockets(),
        "numNUMANodes": table.num_nodes(),
        "numUncoreCache": table.num_caches(),
    }))
}

/// What is reserved and what is shared on a new node, or why there is no manager.
fn construct(corpus: &Corpus, case: &Case) -> Outcome {
    match Setup::new(case).make(corpus) {
        Ok(Made::Nothing(_)) => case.compare(json!({ "ok": true, "policy": "none", "allocatable": "" })),
        Ok(Made::Manager(manager)) => case.compare(json!({
            "ok": true,
            "policy": "static",
            "reserved": manager.policy.reserved().to_string(),
            "default": manager.policy.initial().shared().to_string(),
        })),
        Err(Fault::Refused(errors)) => {
            // Of several errors the kubelet reports any, and not every one was seen.
            let seen: BTreeSet<String> = match &case.expected {
                Expected::Result(result) => {
                    let any = result["anyError"].as_array().into_iter().flatten();
                    any.chain(result.get("error")).map(|error| text(error).to_owned()).collect()
                }
                Expected::Crash(_) | Expected::Hang => BTreeSet::new(),
            };
            let all: BTreeSet<String> = errors.into_iter().collect();
            let told = if !seen.is_empty() && seen.is_subset(&all) { seen } else { all };
            match told.first() {
                Some(error) if told.len() == 1 => case.compare(json!({ "error": error })),
                _ => case.compare(json!({ "anyError": told })),
            }
        }
        Err(Fault::Unreadable(what)) => Outcome::unreadable(what),
    }
}

/// One container on one machine; CPUs that the case takes away beforehand have no holder.
fn take(corpus: &Corpus, case: &Case) -> Outcome {
    let input = &case.input;
    let node = match Node::new(corpus, case) {
        Ok(node) => node,
        Err(fault) => return fault,
    };
    let reserved = node.policy.reserved();
    let before = node.pool(node.policy.initial().shared());
    let request = input["cpus"].as_i64().unwrap_or_default();
    let pod = pods::guaranteed(request);
    let affinity = node.affinity(&input["affinity"], &input["noAffinity"]);
    let walk = node.policy.walk(&before, &pod, &pod.containers[0], affinity);
    let is_foretold = match (walk.end, &case.expected) {
        (WalkEnd::Found, expected) => *expected != Expected::Hang,
        (WalkEnd::Never, expected) => *expected == Expected::Hang,
        // Slow, or for ever: the kubelet's answer tells nothing.
        (WalkEnd::Cut, _) => true,
    };
    if !is_foretold {
        return Outcome::Failed { got: json!({ "the kubelet's walk": format!("{walk:?}") }) };
    }
    let mut got = Map::new();
    got.insert("reserved".into(), json!(reserved.to_string()));
    match node.policy.allocate(&before, &pod, &pod.containers[0], affinity) {
        Err(error) => insert_error(&mut got, error),
        Ok(allocation) => {
            let cpus = match allocation.granted {
                Granted::Exclusive(cpus) => cpus,
                Granted::SharedPool(_) => CpuSet::new(),
            };
            got.insert("cpus".into(), json!(cpus.to_string()));
            if i64::try_from(cpus.len()) != Ok(request) {
                got.insert("size".into(), json!(cpus.len()));
            }
            for (name, faulty) in [("notFree", &cpus - before.shared()), ("reservedTaken", &cpus & reserved)]
            {
                if !faulty.is_empty() {
                    got.insert(name.into(), json!(faulty.to_string()));
                }
            }
        }
    }
    case.compare(Value::Object(got))
}

/// Hints of a container or a pod, after some of its containers have been served.
fn hints(corpus: &Corpus, case: &Case) -> Outcome {
    let input = &case.input;
    let node = match Node::new(corpus, case) {
        Ok(node) => node,
        Err(fault) => return fault,
    };
    let pod = match pods::pod(&input["pod"]) {
        Ok(pod) => pods::classified(pod, Setup::new(case).pod_rules()),
        Err(error) => return Outcome::unreadable(error),
    };
    let mut held = match input["state"].as_object() {
        Some(state) => held(state),
        None => node.pool(node.policy.initial().shared()),
    };
    let prior = input["prior"].as_array();
    for step in prior.into_iter().flatten() {
        let Some(container) = pod.container(&ContainerName::new(text(&step["container"]))) else { continue };
        let affinity = node.affinity(&step["affinity"], &json!(step.get("affinity").is_none()));
        match node.policy.allocate(&held, &pod, container, affinity) {
            Ok(allocation) => held = allocation.after,
            Err(error) => {
                let mut got = Map::new();
                insert_error(&mut got, error);
                got.insert("stage".into(), json!("prior"));
                return case.compare(Value::Object(got));
            }
        }
    }
    let container = input["container"].as_str().and_then(|name| pod.container(&ContainerName::new(name)));
    let unit = match container {
        Some(container) => Unit::Container(&pod, container),
        None => Unit::Pod(&pod),
    };
    let mut answers = Answers::new();
    node.policy.hints(&held, unit, &mut answers);
    let list = match answers.get(0) {
        None => Value::Null,
        Some((_, answer)) => listed(&node.nodes, answer),
    };
    let mut got = Map::new();
    got.insert("hints".into(), list);
    if prior.is_some() {
        got.insert("state".into(), state(&held));
    }
    case.compare(Value::Object(got))
}

/// What a case says about the node.
struct Node {
    policy: Static,
    nodes: Nodes,
    taken: CpuSet,
}

impl Node {
    fn new(corpus: &Corpus, case: &Case) -> Result<Self, Outcome> {
        let input = &case.input;
        let machine = Machine::named(corpus, text(&input["machine"])).map_err(Outcome::unreadable)?;
        let set = |value: &Value| text(value).parse::<CpuSet>().map_err(Outcome::unreadable);
        let refused = |fault| match fault {
            Fault::Unreadable(what) => Outcome::unreadable(what),
            // The policy is made without the manager, which puts its own words before those of the policy.
            Fault::Refused(errors) => {
                let errors = errors.iter().map(|error| error.replacen("new static policy error: ", "", 1));
                let errors: Vec<String> = errors.collect();
                let error = reported(&errors, case.recorded("/error"));
                case.compare(json!({ "error": error, "stage": "construct" }))
            }
        };
        let setup = Setup::new(case);
        let gates = setup.feature_gates().map_err(refused)?;
        let options = setup.options(&machine.cpus, &gates).map_err(refused)?;
        let config = Config {
            options,
            reserved: match input["reservedSet"].as_str() {
                Some(_) => Reserved::cpus(set(&input["reservedSet"])?),
                None => Reserved::count(
                    usize::try_from(input["reservedCount"].as_u64().unwrap_or(0)).unwrap_or(0),
                ),
            },
            pod_level: setup::pod_level(&gates, &setup.rules),
            ..setup::kubelet(setup.rules)
        };
        let nodes = Nodes::new(machine.cpus.nodes().map(|(id, _)| id)).map_err(Outcome::unreadable)?;
        let policy = Static::new(&machine.cpus, &nodes, config)
            .map_err(|error| case.compare(json!({ "error": error.to_string(), "stage": "construct" })))?;
        Ok(Self { policy, nodes, taken: set(&input["taken"])? })
    }

    /// Nothing assigned, and what the case takes away gone.
    fn pool(&self, shared: &CpuSet) -> Holdings {
        Holdings::new(shared - &self.taken, [])
    }

    fn affinity(&self, mask: &Value, none: &Value) -> Affinity {
        if none.as_bool() == Some(true) {
            return Affinity::Any;
        }
        Affinity::Nodes(self.nodes.mask_of(numbers(mask).into_iter().map(topology_model::NodeId)))
    }
}

fn held(state: &Map<String, Value>) -> Holdings {
    let set = |value: &Value| text(value).parse::<CpuSet>().unwrap_or_default();
    let pods = state.get("assignments").and_then(Value::as_object).into_iter().flatten();
    let assigned = pods.flat_map(|(pod, containers)| {
        let containers = containers.as_object().into_iter().flatten();
        containers.map(move |(name, cpus)| (PodUid::new(pod), ContainerName::new(name), set(cpus)))
    });
    Holdings::new(state.get("default").map(set).unwrap_or_default(), assigned)
}
