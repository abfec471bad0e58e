//! Containers that are given their devices, and that start.

use std::collections::BTreeSet;

use device_manager::{
    Devices, Failure, Holdings, Inventory, Outcome, Question, Replies, Reply, Request, Sources,
};
use node_config::Gate;
use pod_spec::{Container, ContainerKey, Pod, ResourceName};
use serde_json::{Value, json};
use topology_hint::Affinity;
use topology_model::Nodes;

use super::{Entry, Heard, Node};
use crate::device::show;
use crate::device::stored::{Contents, Stored};

type Decision<E> = fn(Devices, &Inventory, &Holdings, &Request<'_>, &Replies) -> Result<Outcome, Failure<E>>;

impl Node {
    pub(super) fn allocate(&mut self, step: &Value, entry: &mut Entry) -> Result<(), String> {
        let (pod, container) = self.unit(step)?;
        self.decide(&pod, &container, entry, Devices::allocate)
    }

    pub(super) fn run_options(&mut self, step: &Value, entry: &mut Entry) -> Result<(), String> {
        let (pod, container) = self.unit(step)?;
        self.decide(&pod, &container, entry, Devices::start)?;
        if entry["error"].is_null() {
            entry.insert("options".into(), show::setup(&self.held, &pod.uid, &container.name));
        }
        Ok(())
    }

    /// Decides, asking plugins as long as the decision needs answers, and keeps the result.
    fn decide<E: core::error::Error>(
        &mut self,
        pod: &Pod,
        container: &Container,
        entry: &mut Entry,
        decide: Decision<E>,
    ) -> Result<(), String> {
        let key = ContainerKey { pod: pod.uid.clone(), container: container.name.clone() };
        let active = self.active();
        let sources = match self.heard {
            Heard::All => Sources::Ready,
            Heard::NotAll if self.running.contains(&key) => Sources::PendingRunning,
            Heard::NotAll => Sources::PendingNotRunning,
        };
        let (inventory, affinity) = self.wanted(&key)?;
        let request = Request {
            pod,
            container,
            affinity,
            is_active: &|pod| active.contains(pod),
            sources,
            claimed: &self.claimed(&key),
            links: None,
            keep_whole: None,
        };
        let (mut replies, mut calls) = (Replies::new(), Vec::new());
        let (error, after) = loop {
            match decide(self.policy, &inventory, &self.held, &request, &replies) {
                Ok(Outcome::NeedsPlugin(question)) => {
                    let reply = self.ask(&question, &mut calls);
                    replies.insert(question, reply);
                }
                Ok(Outcome::Done(allocation)) => {
                    if !allocation.granted.is_empty() {
                        self.stored = Stored::Written(Contents::new(&self.inventory, &allocation.after));
                    }
                    break (Value::Null, allocation.after);
                }
                Err(failure) => break (json!(shown_error(&failure.error)), failure.after),
            }
        };
        self.held = after;
        entry.insert("error".into(), error);
        calls.sort_by(|(a, _), (b, _)| a.cmp(b));
        let calls: Vec<Value> = calls.into_iter().map(|(_, call)| call).collect();
        entry.insert("rpcs".into(), if calls.is_empty() { Value::Null } else { Value::Array(calls) });
        Ok(())
    }

    /// Where a container is wanted, and the devices on a machine that has all these nodes. Cases name some that the
    /// machine lacks; which nodes it has makes no difference to who gets what.
    fn wanted(&self, key: &ContainerKey) -> Result<(Inventory, Affinity), String> {
        let Some(ids) = self.affinities.get(key) else { return Ok((self.inventory.clone(), Affinity::Any)) };
        let known = self.inventory.nodes();
        let inventory = if ids.iter().all(|id| known.index_of(*id).is_some()) {
            self.inventory.clone()
        } else {
            let nodes =
                Nodes::new(known.ids().chain(ids.iter().copied())).map_err(|error| error.to_string())?;
            self.inventory.on(nodes)
        };
        let near = inventory.nodes().mask_of(ids.iter().copied());
        Ok((inventory, Affinity::Nodes(near)))
    }

    fn claimed(&self, ContainerKey { pod, container }: &ContainerKey) -> BTreeSet<ResourceName> {
        if !self.gates.is_on(Gate::DraExtendedResource) {
            return BTreeSet::new();
        }
        let dra = self.pods.iter().filter(|played| played.pod.uid == *pod).flat_map(|played| &played.dra);
        dra.filter(|(name, _)| name == container).map(|(_, resource)| resource.clone()).collect()
    }

    fn ask(&mut self, question: &Question, calls: &mut Vec<(ResourceName, Value)>) -> Reply {
        let resource = question.resource();
        if let Question::Allocate { .. } = question {
            let name = "kubelet_device_plugin_alloc_duration_seconds";
            self.count(format!("{name}{{resource_name={resource}}}_count"));
        }
        if let Some(wire) = &mut self.wire {
            let reply = wire.ask(question);
            calls.extend(wire.calls().into_iter().map(|call| (resource.clone(), call)));
            return reply;
        }
        let Some((call, reply)) = self.plugins.answer(question) else {
            return Reply::Failed(self.plugins.vanished(resource));
        };
        calls.push((resource.clone(), call));
        reply
    }
}

/// The text without what cases leave out of it.
fn shown_error(error: &impl core::error::Error) -> String {
    let text = error.to_string();
    match text.split_once("endpoint ").zip(text.strip_suffix(" has been stopped")) {
        Some(((before, _), _)) => format!("{before}endpoint <ENDPOINT> has been stopped"),
        None => text,
    }
}
