//! One device manager with what is around it: plugins, pods, the state file, and who asks.

mod life;
mod wired;
mod others;
mod listing;
mod serve;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use device_manager::{
    BlockedDevices, Connected, Connections, Devices, Holdings, Inventory, Moment, SocketConnections,
};
use kubelet_release::{DeviceHintNodes, PluginsPerResource, Rules};
use node_config::FeatureGates;
use pod_spec::{Container, ContainerKey, ContainerName, Pod, PodUid, ResourceName, Unit};
use serde_json::{Map, Value, json};
use topology_hint::Answers;
use topology_model::{NodeId, Nodes};

use super::plugins::Plugins;
use super::pods::{self, Activity, Played};
use super::show;
use super::stored::Stored;
use super::wire::Wire;
use crate::case::{Case, numbers, text};
use others::Others;

type Entry = Map<String, Value>;

pub(super) struct Node {
    inventory: Inventory,
    held: Holdings,
    connections: Connections,
    /// Used where a resource may have several plugins.
    sockets: SocketConnections,
    per_resource: PluginsPerResource,
    /// The kubelet's own rules.
    policy: Devices,
    rules: Rules,
    /// The node ids as the case lists them.
    order: Vec<i64>,
    /// With their defaults.
    gates: FeatureGates,
    successors: Successors,
    plugins: Plugins,
    stored: Stored,
    pods: Vec<Played>,
    /// Where containers are wanted, in node ids.
    affinities: BTreeMap<ContainerKey, Vec<NodeId>>,
    heard: Heard,
    /// Containers that were running when the kubelet started.
    running: BTreeSet<ContainerKey>,
    chance: Chance,
    now: Moment,
    others: Others,
    counters: BTreeMap<String, u64>,
    /// `None`: plugins are called as functions are.
    wire: Option<Wire>,
}

/// What chance decides in the kubelet otherwise than at most times.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Chance {
    #[default]
    Mostly,
    /// Of several instances of a container, one that has ended is found before one that runs.
    EndedInstances,
    /// The end of a plugin's stream, which another plugin had replaced, is noticed while the plugin connects again, and
    /// taken for the end of the new one.
    LateEnds,
}

/// Which plugin is asked when one of several has gone: the kubelet takes any of those that are left.
#[derive(Clone, Copy, Default)]
pub(super) enum Successors {
    /// The newest.
    #[default]
    Newest,
    /// Of the `n`th time the plugin at the `n`th digit of this number to base [`MOST`](Self::MOST), in byte order of their
    /// paths.
    Numbered(usize),
}

impl Successors {
    /// Cases have three plugins, so two are left at most.
    const MOST: usize = 2;

    /// All ways to choose in a case where a plugin goes so many times.
    pub(super) fn all(times: u32) -> impl Iterator<Item = Self> {
        (0..Self::MOST.pow(times.min(8))).map(Self::Numbered)
    }

    /// Who follows the one that has gone: `newest`, or one of those that are `left`.
    fn next(&mut self, newest: Connected, left: impl Iterator<Item = Connected>) -> Connected {
        match self {
            Self::Newest => newest,
            Self::Numbered(digits) => {
                let digit = *digits % Self::MOST;
                *digits /= Self::MOST;
                let left: Vec<Connected> = left.collect();
                left.get(digit).copied().unwrap_or(newest)
            }
        }
    }
}

/// Whether the kubelet has heard of all pods.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Heard {
    All,
    NotAll,
}

impl Node {
    pub(super) fn new(case: &Case) -> Result<Self, String> {
        let input = &case.input;
        let nodes = Nodes::new(numbers(&input["nodes"]).into_iter().map(NodeId))
            .map_err(|error| error.to_string())?;
        let rules = Rules::of(case.release);
        let described = input["pods"].as_array().into_iter().flatten();
        let pods: Result<Vec<_>, _> = described.map(pods::pod).collect();
        Ok(Self {
            inventory: Inventory::new(nodes),
            held: Holdings::default(),
            connections: Connections::default(),
            sockets: SocketConnections::default(),
            per_resource: rules.plugins_per_resource,
            rules,
            order: numbers(&input["nodes"]),
            gates: FeatureGates::new(rules.gates),
            policy: Devices::new(&rules, BlockedDevices::UntilPodGoes),
            successors: Successors::default(),
            chance: Chance::default(),
            plugins: Plugins::default(),
            stored: Stored::Absent,
            pods: pods.map_err(|error| error.to_string())?,
            affinities: BTreeMap::new(),
            heard: Heard::All,
            running: BTreeSet::new(),
            now: Moment(Duration::from_hours(24)),
            others: Others::new(input),
            counters: BTreeMap::new(),
            wire: None,
        })
    }

    /// The same, with other plugins that follow those that go.
    pub(super) fn with_successors(case: &Case, successors: Successors) -> Result<Self, String> {
        Ok(Self { successors, ..Self::new(case)? })
    }

    /// The same, where chance decides so.
    pub(super) fn with_chance(case: &Case, chance: Chance) -> Result<Self, String> {
        Ok(Self { chance, ..Self::new(case)? })
    }

    /// The same, with sockets between the manager and its plugins, and those who ask what pods hold.
    pub(super) fn wired(case: &Case) -> Result<Self, String> {
        let per_resource = Rules::of(case.release).plugins_per_resource;
        Ok(Self { wire: Some(Wire::start(per_resource)?), ..Self::new(case)? })
    }

    /// Plays a step: what it answers, and what it leaves in memory.
    pub(super) fn step(&mut self, step: &Value) -> Result<Value, String> {
        // Time passes between steps, so that what is five minutes old has been so for a moment.
        self.now.0 += Duration::from_millis(1);
        self.catch_up();
        let mut entry = Entry::new();
        let op = text(&step["op"]);
        match op {
            "register" => self.register(step, &mut entry)?,
            "devices" => self.devices(step, &mut entry)?,
            "stop_plugin" => self.stop_plugin(text(&step["plugin"]), &mut entry)?,
            "deregister" => self.deregister(step, &mut entry)?,
            "age" => self.age(step, &mut entry),
            "restart" => self.restart(step, &mut entry)?,
            "capacity" => self.capacity(&mut entry),
            "pod_gone" => self.played(step)?.activity = Activity::Gone,
            "pod_back" => self.played(step)?.activity = Activity::Active,
            "sources_ready" => self.hear(&step["value"]),
            "update_allocated" => self.collect(),
            "affinity" => self.affinity(step),
            "set_limits" => self.set_limits(step)?,
            "hints" | "pod_hints" => self.hints(step, &mut entry)?,
            "allocate" => self.allocate(step, &mut entry)?,
            "run_options" => self.run_options(step, &mut entry)?,
            "update_plugin_resources" => self.raise(step, &mut entry),
            "status" => self.status(step, &mut entry)?,
            "checkpoint" => entry.extend(self.stored.show().map(|shown| ("checkpoint".into(), shown))),
            "cpus" | "memory" => self.others.set(step),
            "list" => self.list(&mut entry)?,
            "get" => self.get(step, &mut entry),
            "get_allocatable" => self.get_allocatable(&mut entry)?,
            "metrics" => entry.extend([("metrics".to_owned(), json!(self.counters))]),
            // What is in the folder of sockets is not compared.
            "files" | "should_reset" => {}
            _ => return Err(format!("no step {op:?}")),
        }
        let shows_state = matches!(
            op,
            "register"
                | "devices"
                | "stop_plugin"
                | "deregister"
                | "restart"
                | "capacity"
                | "update_allocated"
                | "allocate"
                | "run_options"
                | "list"
        );
        if shows_state {
            let state = show::state(&self.inventory, &self.held, &self.sockets);
            entry.insert("state".into(), state);
        }
        Ok(Value::Object(entry))
    }

    fn played(&mut self, step: &Value) -> Result<&mut Played, String> {
        let uid = text(&step["pod"]);
        let found = self.pods.iter_mut().find(|played| played.pod.uid.as_str() == uid);
        found.ok_or_else(|| format!("no pod {uid:?}"))
    }

    /// The pod and the container of a step.
    fn unit(&mut self, step: &Value) -> Result<(Pod, Container), String> {
        let pod = self.played(step)?.pod.clone();
        let name = text(&step["container"]);
        let container = pod.container(&ContainerName::new(name)).cloned();
        Ok((pod, container.ok_or_else(|| format!("no container {name:?}"))?))
    }

    fn set_limits(&mut self, step: &Value) -> Result<(), String> {
        let limits = pods::amounts(&step["limits"]).map_err(|error| error.to_string())?;
        let name = ContainerName::new(text(&step["container"]));
        for container in &mut self.played(step)?.pod.containers {
            if container.name == name {
                container.limits.clone_from(&limits);
            }
        }
        Ok(())
    }

    fn affinity(&mut self, step: &Value) {
        let container = ContainerName::new(text(&step["container"]));
        let key = ContainerKey { pod: PodUid::new(text(&step["pod"])), container };
        match &step["nodes"] {
            Value::Null => self.affinities.remove(&key),
            nodes => self.affinities.insert(key, numbers(nodes).into_iter().map(NodeId).collect()),
        };
    }

    fn hear(&mut self, value: &Value) {
        self.heard = if value.as_bool() == Some(false) { Heard::NotAll } else { Heard::All };
    }

    /// Frees what pods hold that are not active any more, if it is known which pods there are.
    fn collect(&mut self) {
        if self.heard == Heard::All {
            let active = self.active();
            self.held = self.held.retain(|pod| active.contains(pod));
        }
    }

    fn active(&self) -> BTreeSet<PodUid> {
        let active = self.pods.iter().filter(|played| played.activity == Activity::Active);
        active.map(|played| played.pod.uid.clone()).collect()
    }

    fn hints(&mut self, step: &Value, entry: &mut Entry) -> Result<(), String> {
        self.collect();
        let mut answers = Answers::new();
        if text(&step["op"]) == "pod_hints" {
            let pod = &self.played(step)?.pod.clone();
            self.policy.hints(&self.inventory, &self.held, Unit::Pod(pod), &mut answers);
        } else {
            let (pod, container) = &self.unit(step)?;
            self.policy.hints(&self.inventory, &self.held, Unit::Container(pod, container), &mut answers);
        }
        let nodes = self.inventory.nodes();
        let each = (0..answers.len()).filter_map(|at| answers.get(at));
        let listed = |resource, answer| {
            let hints = crate::cpu::listed(nodes, answer);
            let of_all =
                self.rules.device_hint_nodes == DeviceHintNodes::OfMachine || !self.is_placed(resource);
            if of_all { in_order(&self.order, hints) } else { hints }
        };
        let each = each.map(|(resource, answer)| (resource.to_string(), listed(resource, answer)));
        entry.insert("hints".into(), Value::Object(each.collect()));
        Ok(())
    }

    /// Whether a device of the resource stands on a NUMA node of the machine.
    fn is_placed(&self, resource: &ResourceName) -> bool {
        let is_known = |node: &NodeId| self.order.contains(&node.0);
        self.inventory.devices(resource).any(|device| device.topology.ids().iter().any(is_known))
    }

    fn raise(&mut self, step: &Value, entry: &mut Entry) {
        let before = step["node_allocatable"].as_object().into_iter().flatten();
        let before =
            before.map(|(name, amount)| (ResourceName::new(name), amount.as_i64().unwrap_or_default()));
        let mut allocatable: BTreeMap<ResourceName, i64> = before.collect();
        self.held.raise_allocatable(&PodUid::new(text(&step["pod"])), &mut allocatable);
        let after = allocatable.into_iter().map(|(name, amount)| (name.to_string(), json!(amount)));
        entry.insert("error".into(), Value::Null);
        let after: Entry = after.collect();
        entry.insert(
            "node_allocatable".into(),
            if after.is_empty() { Value::Null } else { Value::Object(after) },
        );
    }

    fn count(&mut self, name: String) {
        *self.counters.entry(name).or_default() += 1;
    }
}

/// Hints in the order in which a kubelet lists the sets of these nodes.
fn in_order(order: &[i64], hints: Value) -> Value {
    let Value::Array(mut list) = hints else { return hints };
    let place = |hint: &Value| -> Vec<usize> {
        let mut places: Vec<usize> =
            numbers(&hint["nodes"]).iter().filter_map(|id| order.iter().position(|own| own == id)).collect();
        places.sort_unstable();
        places
    };
    list.sort_by_cached_key(|hint| {
        let places = place(hint);
        (places.len(), places)
    });
    Value::Array(list)
}
