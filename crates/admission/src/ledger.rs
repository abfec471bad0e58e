//! The one state: what every pod of the node holds.

pub(crate) mod residents;
pub(crate) mod layered;
pub(crate) mod dead;
mod collect;
pub(crate) mod slices;
pub(crate) mod runs;
mod alike;
mod held;
mod lean;
mod mix;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;

use cpu_manager::{ContainerId, Holdings as CpuHoldings};
use device_manager::{Holdings as DeviceHoldings, Inventory, Moment};
use memory_manager::Holdings as MemoryHoldings;
use pod_spec::{Container, ContainerKey, ContainerName, Holder, Pod, PodUid, ResourceName};
use thiserror::Error;
use topology_hint::{Grant, Held, Hint};

use crate::ledger::dead::Dead;
use crate::ledger::layered::Layered;
use crate::ledger::residents::{Requests, Residents};
use crate::placement::KnownMix;

/// Counts the changes of a ledger.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Version(u64);

impl Version {
    /// The number of changes, for a document.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }

    pub(crate) const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// What everything holds: one slice for each provider, and what the kubelet remembers besides. Cheap to clone.
#[derive(Clone, PartialEq, Debug)]
pub struct Ledger {
    version: Version,
    /// `None`: CPU manager policy `none`.
    cpus: Option<CpuHoldings>,
    /// `None`: memory manager policy `None`.
    memory: Option<MemoryHoldings>,
    devices: DeviceHoldings,
    /// What the kubelet's state file has of devices. It is written when some are given out, and when a plugin lists
    /// its own or is forgotten; not when dead pods are collected, and not when a plugin goes away.
    device_file: DeviceHoldings,
    /// Which devices there are; they come and go with their plugins.
    inventory: Arc<Inventory>,
    /// By provider name.
    others: Arc<BTreeMap<String, Held>>,
    /// The merged hint of each container, as the kubelet's affinity store.
    hints: Layered<ContainerKey, Hint>,
    /// Containers that have been created since the kubelet started and are still there, by their ids in the runtime.
    created: Arc<BTreeMap<ContainerId, ContainerKey>>,
    sources: SourcesReady,
    /// Containers that were running when the kubelet started.
    was_running: Arc<BTreeSet<ContainerKey>>,
    pods: Residents,
    dead: Dead,
    mix: KnownMix,
}

/// Whether every source of pods has reported since the kubelet started: before that, nothing is known to be dead.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SourcesReady {
    /// They have.
    #[default]
    Yes,
    /// Not yet.
    No,
}

/// The ledger has changed since the attempt was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("attempt was made against version {made_against:?} of the ledger, which is now at {current:?}")]
pub struct Stale {
    /// The version that the attempt saw.
    pub made_against: Version,
    /// The version that the ledger has.
    pub current: Version,
}

impl Ledger {
    /// The version, raised by every change.
    #[must_use]
    pub const fn version(&self) -> Version {
        self.version
    }

    /// Exclusive CPUs and the shared pool; `None` under CPU manager policy `none`.
    #[must_use]
    pub const fn cpus(&self) -> Option<&CpuHoldings> {
        self.cpus.as_ref()
    }

    /// Memory and huge pages that are booked; `None` under memory manager policy `None`.
    #[must_use]
    pub const fn memory(&self) -> Option<&MemoryHoldings> {
        self.memory.as_ref()
    }

    /// Devices that are held.
    #[must_use]
    pub const fn devices(&self) -> &DeviceHoldings {
        &self.devices
    }

    /// The devices of the file that a kubelet with this ledger has written: a kubelet writes it when it gives devices
    /// out and when a plugin lists devices or is forgotten, and not when it collects what dead pods hold.
    #[must_use]
    pub const fn device_file(&self) -> &DeviceHoldings {
        &self.device_file
    }

    /// What a provider of your own has granted.
    pub fn held_by(&self, provider: &str) -> impl Iterator<Item = (&Holder, &Grant)> + use<'_> {
        self.others.get(provider).into_iter().flatten()
    }

    /// Devices that there are.
    #[must_use]
    pub fn inventory(&self) -> &Inventory {
        &self.inventory
    }

    /// The ledger of a node whose plugins have listed other devices, or were forgotten; what is held stays held, and
    /// is stored.
    #[must_use]
    pub fn with_inventory(&self, inventory: Inventory) -> Self {
        let mut after = Self { inventory: Arc::new(inventory), ..self.changed() };
        after.store_devices();
        after
    }

    /// The ledger of a node that a plugin has left: its devices are not healthy any more. Nothing is stored, so a start
    /// after it ([`Node::restore`](crate::Node::restore)) finds what was held when the kubelet last wrote its file.
    #[must_use]
    pub fn disconnect(&self, resource: &ResourceName, now: Moment) -> Self {
        let mut after = self.changed();
        Arc::make_mut(&mut after.inventory).disconnect(resource, now);
        after
    }

    pub(crate) fn store_devices(&mut self) {
        self.device_file = self.devices.stored();
    }

    /// Stores the devices as they were before a container was given any of a resource that is not among `before`.
    pub(crate) fn store_devices_before(&mut self, pod: &Pod, container: &Container, before: &[ResourceName]) {
        self.device_file = self.devices.stored_before(&pod.uid, &container.name, before);
    }

    /// The hint that was merged for a container; `None` if none is stored.
    #[must_use]
    pub fn hint(&self, container: &ContainerKey) -> Option<Hint> {
        self.hints.get(container).copied()
    }

    /// The admitted pods, by UID.
    pub fn pods(&self) -> impl Iterator<Item = &Pod> {
        self.pods.iter()
    }

    /// An admitted pod.
    #[must_use]
    pub fn pod(&self, uid: &PodUid) -> Option<&Pod> {
        self.pods.get(uid).map(AsRef::as_ref)
    }

    /// Whether a pod of this UID is admitted.
    #[must_use]
    pub fn has_pod(&self, pod: &PodUid) -> bool {
        self.pods.contains(pod)
    }

    /// The same, to be kept without copying them.
    pub fn shared_pods(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods.iter_shared()
    }

    /// The admitted pods in the order in which they came.
    pub fn pods_by_arrival(&self) -> impl Iterator<Item = &Pod> {
        self.pods.by_arrival()
    }

    /// How many pods run.
    pub(crate) const fn pod_count(&self) -> usize {
        self.pods.len()
    }

    /// For a ledger that has been filled: copies of it are cheap to change.
    pub(crate) fn settle_pods(&mut self) {
        self.pods.settle();
    }

    /// The pod is active from now on.
    pub(crate) fn enter(&mut self, pod: Arc<Pod>, requests: Requests) {
        if self.pods.contains(&pod.uid) {
            // It may have lost containers.
            self.dead = Dead::EVERYWHERE;
        }
        self.pods.enter(pod, requests);
    }

    /// How much of a resource an admitted pod counts for: thousandths of `cpu`, whole units of all else.
    pub(crate) fn requested(&self, pod: &PodUid, resource: &ResourceName) -> i64 {
        let mut requests = self.pods.requests(pod).iter();
        requests.find(|(of, _)| of == resource).map_or(0, |(_, amount)| *amount)
    }

    /// The pods that hold anything of what can be aligned.
    pub(crate) fn holders(&self) -> BTreeSet<PodUid> {
        let cpus = self.cpus.iter();
        let cpus = cpus
            .flat_map(|held| held.iter().map(|(pod, ..)| pod).chain(held.whole_pods().map(|(pod, _)| pod)));
        let memory = self.memory.iter();
        let memory = memory
            .flat_map(|held| held.iter().map(|(pod, ..)| pod).chain(held.whole_pods().map(|(pod, _)| pod)));
        let others = self.others.values().flat_map(|held| held.keys().map(Holder::pod));
        cpus.chain(memory).chain(self.devices.pods()).chain(others).cloned().collect()
    }

    /// Whether the end of either of two pods leaves the same: they ask for the same, and hold the same memory and nothing
    /// else.
    pub(crate) fn are_alike(&self, first: &Pod, second: &Pod) -> bool {
        let shares_cpus = |pod: &PodUid| {
            let held = self.cpus.as_ref();
            held.is_none_or(|held| held.of_pod(pod).next().is_none() && held.whole_pod(pod).is_none())
        };
        let has_others = |pod: &PodUid| {
            self.devices.has_pod(pod)
                || self.others.values().any(|held| held.keys().any(|of| of.pod() == pod))
        };
        let has_memory_alone = |pod: &Pod| shares_cpus(&pod.uid) && !has_others(&pod.uid);
        let holds_the_same = |held: &memory_manager::Holdings| {
            held.of_pod(&first.uid).eq(held.of_pod(&second.uid))
                && held.whole_pod(&first.uid) == held.whole_pod(&second.uid)
        };
        first.asks_the_same(second)
            && has_memory_alone(first)
            && has_memory_alone(second)
            && self.memory.as_ref().is_none_or(holds_the_same)
    }

    /// The pod's containers for which a hint is stored.
    fn hinted(&self, pod: &PodUid) -> impl Iterator<Item = &ContainerKey> {
        let first = ContainerKey { pod: pod.clone(), container: ContainerName::new("") };
        self.hints
            .range(first..)
            .map(|(container, _)| container)
            .take_while(move |container| container.pod == *pod)
    }

    /// Containers for which a hint is stored, and it.
    pub fn hints(&self) -> impl Iterator<Item = (&ContainerKey, Hint)> {
        self.hints.iter().map(|(container, hint)| (container, *hint))
    }

    /// The ledger of which this is the next version: copies of it are cheap to change.
    pub(crate) fn follow(self, before: &Self) -> Self {
        let mut after = Self { version: before.version.next(), ..self };
        after.pods.settle();
        after.hints.settle();
        after
    }

    /// Whether anything here is about the pod: it runs, holds something, or did.
    pub(crate) fn knows(&self, pod: &PodUid) -> bool {
        let has_cpus =
            |held: &CpuHoldings| held.of_pod(pod).next().is_some() || held.whole_pod(pod).is_some();
        let has_memory =
            |held: &MemoryHoldings| held.of_pod(pod).next().is_some() || held.whole_pod(pod).is_some();
        let others = self.others.values().flat_map(|held| held.keys().map(Holder::pod));
        let containers = self.created.values().chain(self.was_running.iter());
        self.pods.contains(pod)
            || self.hinted(pod).next().is_some()
            || self.cpus.as_ref().is_some_and(has_cpus)
            || self.memory.as_ref().is_some_and(has_memory)
            || self.devices.has_pod(pod)
            || self.device_file.has_pod(pod)
            || containers.map(|key| &key.pod).chain(others).any(|holder| holder == pod)
    }

    /// The ledger without `pod`: everything that it held is free again. The same ledger, with its version, if nothing
    /// is known of such a pod.
    #[must_use]
    pub fn release(&self, pod: &PodUid) -> Self {
        let is_known = self.pods.contains(pod)
            || self.hinted(pod).next().is_some()
            || self.created.values().any(|container| container.pod == *pod);
        if !is_known {
            return self.clone();
        }
        let mut after = self.without(pod);
        after.collect_all();
        after.store_devices();
        after
    }

    /// The ledger in which `pod` does not run and holds nothing.
    pub(crate) fn without(&self, pod: &PodUid) -> Self {
        let mut after = self.changed();
        let dead = after.dead;
        after.end_pod(pod);
        // Of this one nothing is left below.
        after.dead = dead;
        for container in self.hinted(pod) {
            after.hints.remove(container);
        }
        after.cpus = after.cpus.map(|held| held.release_pod(pod));
        after.memory = after.memory.map(|held| held.release_pod(pod));
        after.devices = after.devices.release(pod);
        if after.others.values().any(|held| held.keys().any(|holder| holder.pod() == pod)) {
            for held in Arc::make_mut(&mut after.others).values_mut() {
                held.retain(|holder, _| holder.pod() != pod);
            }
        }
        after.recount_mix(self, pod);
        after
    }

    /// The ledger in which `pod` has ended and nothing is collected yet, as the kubelet leaves it until its next
    /// admission: what the pod held is still held, only the hints of its created containers are gone.
    #[must_use]
    pub fn end(&self, pod: &PodUid) -> Self {
        let mut after = self.changed();
        after.end_pod(pod);
        after
    }

    /// `pod` is not active any more; what it holds stays until it is collected.
    fn end_pod(&mut self, pod: &PodUid) {
        self.remove_pod(pod);
        let gone: BTreeSet<ContainerKey> =
            self.created.values().filter(|container| container.pod == *pod).cloned().collect();
        retain(&mut self.created, |_, container| container.pod != *pod);
        for container in &gone {
            self.hints.remove(container);
        }
    }

    /// The ledger in which a container has been created. An ordinary init container's memory goes to the container
    /// after it then.
    #[must_use]
    pub fn create(&self, container: &ContainerKey, id: ContainerId) -> Self {
        let mut after = self.changed();
        if let Some(pod) = after.pods.get(&container.pod) {
            after.memory = after.memory.map(|held| held.start(pod, &container.container));
            after.recount_mix(self, &container.pod);
        }
        Arc::make_mut(&mut after.created).insert(id, container.clone());
        after
    }

    /// The ledger in which a created container has exited or been removed: its hint is gone, unless it has been
    /// created anew. What it holds it keeps for its next start.
    #[must_use]
    pub fn exit(&self, id: &ContainerId) -> Self {
        let mut after = self.changed();
        if let Some(container) = Arc::make_mut(&mut after.created).remove(id)
            && !after.created.values().any(|other| *other == container)
        {
            after.hints.remove(&container);
        }
        after
    }

    /// The ledger without what dead pods hold: the kubelet's periodic collection.
    #[must_use]
    pub fn collect(&self) -> Self {
        let mut after = self.changed();
        after.collect_all();
        after
    }

    /// The ledger of a node that has heard of all its pods, or has not.
    #[must_use]
    pub fn with_sources(&self, sources: SourcesReady) -> Self {
        Self { sources, ..self.changed() }
    }

    /// Whether the node has heard of all its pods.
    #[must_use]
    pub const fn sources(&self) -> SourcesReady {
        self.sources
    }

    pub(crate) fn changed(&self) -> Self {
        Self { version: self.version.next(), ..self.clone() }
    }
}

/// Keeps those entries that `keep` says yes to; what is shared is copied only if one goes.
fn retain<K: Ord + Clone, V: Clone>(map: &mut Arc<BTreeMap<K, V>>, keep: impl Fn(&K, &V) -> bool) {
    if map.iter().any(|(key, value)| !keep(key, value)) {
        Arc::make_mut(map).retain(|key, value| keep(key, value));
    }
}
