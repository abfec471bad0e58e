//! One CPU manager and what the kubelet keeps around it: which pods are active, where the Topology Manager wants each
//! container, the state file.

use std::collections::BTreeMap;

use cpu_manager::{AllocateError, Collected, Containers, Decision, Holdings};
use kubelet_checkpoint::Forms;
use kubelet_checkpoint::cpu::ContainerIds;
use kubelet_release::MetricPrefix;
use pod_spec::{ContainerName, Pod, PodRules, PodUid};
use serde_json::Value;
use topology_hint::Affinity;
use topology_model::NodeId;

use super::metrics::Metrics;
use super::pods;
use super::setup::{Made, Manager};
use super::stored::File;
use crate::case::numbers;

/// One CPU manager and what the kubelet keeps around it.
pub(super) struct Kubelet {
    pub(super) made: Made,
    pub(super) held: Holdings,
    pub(super) metrics: Metrics,
    metric_prefix: MetricPrefix,
    pub(super) file: File,
    /// Every pod ever seen, by uid, as it was written.
    pub(super) known: BTreeMap<String, Pod>,
    pod_rules: PodRules,
    /// The uids of those that are active, in order of admission.
    pub(super) active: Vec<String>,
    pub(super) containers: Containers,
    /// Where containers are wanted, by uid and name.
    pub(super) affinities: BTreeMap<(String, String), Value>,
    pub(super) sources: Sources,
}

/// Whether it is known which pods there are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sources {
    Ready,
    NotReady,
}

impl Kubelet {
    /// A new node.
    pub(super) fn new(made: Made, forms: Forms, metric_prefix: MetricPrefix, pod_rules: PodRules) -> Self {
        let mut file = File::none(forms);
        // A new node is consistent with itself.
        let held = file.start(&made, &ContainerIds::new()).unwrap_or_default();
        Self {
            metrics: Metrics::of(&made, &held, metric_prefix),
            metric_prefix,
            made,
            held,
            file,
            known: BTreeMap::new(),
            pod_rules,
            active: Vec::new(),
            containers: Containers::default(),
            affinities: BTreeMap::new(),
            sources: Sources::Ready,
        }
    }

    /// Starts again from the state file. Everything that was in memory alone is gone.
    pub(super) fn restart(&mut self, made: Made, forms: Forms, pod_rules: PodRules) -> Result<(), String> {
        self.pod_rules = pod_rules;
        self.file = self.file.reopen(forms);
        self.held = self.file.start(&made, &ContainerIds::new())?;
        self.metrics = Metrics::of(&made, &self.held, self.metric_prefix);
        self.made = made;
        self.containers = Containers::default();
        self.affinities.clear();
        self.sources = Sources::Ready;
        Ok(())
    }

    /// A pod that was seen, with its class.
    pub(super) fn pod(&self, uid: &str) -> Option<Pod> {
        self.known.get(uid).map(|pod| pods::classified(pod.clone(), self.pod_rules))
    }

    /// What is held from now on; a change is written.
    fn set_held(&mut self, held: Holdings) {
        if !held.is_stored_as(&self.held) {
            self.file.write(&self.made, &held);
        }
        self.held = held;
    }

    pub(super) fn manager(&self) -> Option<&Manager> {
        match &self.made {
            Made::Nothing(_) => None,
            Made::Manager(manager) => Some(manager),
        }
    }

    pub(super) fn allocate(
        &mut self,
        pod: &Pod,
        container: &pod_spec::Container,
    ) -> Result<(), AllocateError> {
        let Made::Manager(manager) = &self.made else { return Ok(()) };
        let affinity = self.affinity(manager, pod, container.name.as_str());
        let mut after = self.held.clone();
        let decision = manager.policy.allocate_in(&mut after, pod, container, affinity);
        self.keep_decision(after, decision)
    }

    pub(super) fn allocate_pod(&mut self, pod: &Pod) -> Result<(), AllocateError> {
        let Made::Manager(manager) = &self.made else { return Ok(()) };
        let first = pod.containers.first().map_or("", |container| container.name.as_str());
        let affinity = self.affinity(manager, pod, first);
        let mut after = self.held.clone();
        let decision = manager.policy.allocate_pod_in(&mut after, pod, affinity);
        self.keep_decision(after, decision)
    }

    fn keep_decision<G>(&mut self, after: Holdings, decision: Decision<G>) -> Result<(), AllocateError> {
        self.metrics.apply(decision.counted);
        self.set_held(after);
        decision.granted.map(|_| ())
    }

    fn affinity(&self, manager: &Manager, pod: &Pod, name: &str) -> Affinity {
        match self.affinities.get(&(pod.uid.to_string(), name.to_owned())) {
            None | Some(Value::Null) => Affinity::Any,
            Some(mask) => Affinity::Nodes(manager.nodes.mask_of(numbers(mask).into_iter().map(NodeId))),
        }
    }

    pub(super) fn deactivate(&mut self, uid: &str) {
        self.active.retain(|active| active != uid);
    }

    fn is_active(&self, pod: &PodUid, container: &ContainerName) -> bool {
        let is_listed = self.active.iter().any(|active| active == pod.as_str());
        is_listed && self.known.get(pod.as_str()).is_some_and(|pod| pod.container(container).is_some())
    }

    /// Frees what containers hold that no active pod lists, if it is known which pods there are.
    pub(super) fn collect(&mut self) {
        if self.sources == Sources::Ready {
            let collected = self.held.collect(|pod, container| self.is_active(pod, container));
            self.containers = self.containers.retain(|pod, container| self.is_active(pod, container));
            let other_orders = self.other_orders();
            self.keep(collected);
            for other in &other_orders {
                self.metrics.or(other);
            }
        }
    }

    /// The metrics if the dead were released in other orders; not for more than six.
    fn other_orders(&self) -> Vec<Metrics> {
        let dead = self.held.iter().filter(|(pod, name, _)| !self.is_active(pod, name));
        let dead: Vec<_> = dead.map(|(pod, name, _)| (pod.clone(), name.clone())).collect();
        let Made::Manager(manager) = &self.made else { return Vec::new() };
        if dead.len() > 6 {
            return Vec::new();
        }
        let metrics = |order: Vec<(PodUid, ContainerName)>| {
            let (mut held, mut metrics) = (self.held.clone(), self.metrics.clone());
            for (pod, name) in order {
                let collected = held.collect(|of, it| *of != pod || *it != name);
                metrics.apply(manager.policy.metrics_of_collection(&held, &collected));
                held = collected.after;
            }
            metrics
        };
        orders(&dead).into_iter().map(metrics).collect()
    }

    pub(super) fn keep(&mut self, collected: Collected) {
        if let Made::Manager(manager) = &self.made {
            self.metrics.apply(manager.policy.metrics_of_collection(&self.held, &collected));
        }
        self.set_held(collected.after);
    }
}

/// All orders of some things.
fn orders<T: Clone>(things: &[T]) -> Vec<Vec<T>> {
    let Some((last, others)) = things.split_last() else { return vec![Vec::new()] };
    let insert = |order: Vec<T>| {
        (0..=order.len()).map(move |at| {
            let mut order = order.clone();
            order.insert(at, last.clone());
            order
        })
    };
    orders(others).into_iter().flat_map(insert).collect()
}
