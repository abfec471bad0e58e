//! The one state: what every pod of the node holds.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use cpu_manager::{ContainerId, Holdings as CpuHoldings};
use device_manager::{Holdings as DeviceHoldings, Inventory, Sources};
use memory_manager::Holdings as MemoryHoldings;
use pod_spec::{ContainerKey, ContainerName, Pod, PodUid};
use thiserror::Error;
use topology_hint::{Held, Hint};

use crate::attempt::{Attempt, Verdict};
use crate::compat::RefusedPod;

/// Counts the changes of a ledger.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Version(u64);

impl Version {
    pub(crate) const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// What everything holds: one slice for each provider, and what the kubelet remembers besides. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Ledger {
    pub(crate) version: Version,
    /// `None`: CPU manager policy `none`.
    pub(crate) cpus: Option<CpuHoldings>,
    /// `None`: memory manager policy `None`.
    pub(crate) memory: Option<MemoryHoldings>,
    pub(crate) devices: DeviceHoldings,
    /// What the kubelet's state file has of devices: what was held when one was last given out or listed.
    pub(crate) device_file: DeviceHoldings,
    /// Which devices there are; they come and go with their plugins.
    pub(crate) inventory: Inventory,
    /// By provider name.
    pub(crate) others: BTreeMap<String, Held>,
    /// The merged hint of each container, as the kubelet's affinity store.
    pub(crate) hints: BTreeMap<ContainerKey, Hint>,
    /// Containers that have been created since the kubelet started and are still there, by their ids in the runtime.
    pub(crate) created: BTreeMap<ContainerId, ContainerKey>,
    pub(crate) sources: SourcesReady,
    /// Containers that were running when the kubelet started.
    pub(crate) was_running: BTreeSet<ContainerKey>,
    pub(crate) arrivals: u64,
    /// Pods that run, in order of UID.
    pub(crate) pods: BTreeMap<PodUid, Resident>,
}

/// A pod that runs.
#[derive(Clone, Debug)]
pub(crate) struct Resident {
    pub(crate) pod: Arc<Pod>,
    /// Counts admissions.
    pub(crate) arrival: u64,
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

    /// Devices that there are.
    #[must_use]
    pub const fn inventory(&self) -> &Inventory {
        &self.inventory
    }

    /// The ledger of a node with other devices; what is held stays held.
    #[must_use]
    pub fn with_inventory(&self, inventory: Inventory) -> Self {
        let mut after = Self { inventory, ..self.changed() };
        after.store_devices();
        after
    }

    pub(crate) fn store_devices(&mut self) {
        self.device_file = self.devices.clone();
    }

    /// The hint that was merged for a container; `None` if none is stored.
    #[must_use]
    pub fn hint(&self, container: &ContainerKey) -> Option<Hint> {
        self.hints.get(container).copied()
    }

    /// The admitted pods, by UID.
    pub fn pods(&self) -> impl Iterator<Item = &Pod> {
        self.pods.values().map(|resident| resident.pod.as_ref())
    }

    /// The admitted pods in the order in which they came.
    pub(crate) fn pods_by_arrival(&self) -> impl Iterator<Item = &Pod> {
        let mut residents: Vec<&Resident> = self.pods.values().collect();
        residents.sort_by_key(|resident| resident.arrival);
        residents.into_iter().map(|resident| resident.pod.as_ref())
    }

    /// The pod is active from now on.
    pub(crate) fn enter(&mut self, pod: &Pod) {
        let arrival = self.arrivals;
        self.arrivals += 1;
        self.pods.insert(pod.uid.clone(), Resident { pod: Arc::new(pod.clone()), arrival });
    }

    /// Containers for which a hint is stored, and it.
    pub fn hints(&self) -> impl Iterator<Item = (&ContainerKey, Hint)> {
        self.hints.iter().map(|(container, hint)| (container, *hint))
    }

    /// The ledger after `attempt`: an admission books what it took; a refusal leaves what
    /// [`Compat::refused_pod`](crate::Compat::refused_pod) says; an attempt that waits for a plugin changes nothing.
    ///
    /// # Errors
    /// The ledger has changed since the attempt was made.
    pub fn commit(&self, attempt: Attempt) -> Result<Self, Stale> {
        if attempt.made_against != self.version {
            return Err(Stale { made_against: attempt.made_against, current: self.version });
        }
        let after = match (&attempt.verdict, attempt.refused_pod) {
            (Verdict::Admitted(_), _) | (Verdict::Refused(_), RefusedPod::KeepBooked) => attempt.after,
            (Verdict::Refused(_), RefusedPod::HoldNothing) => self.without(&attempt.pod),
            (Verdict::NeedsPlugin(_), _) => self.clone(),
        };
        Ok(Self { version: self.version.next(), ..after })
    }

    /// The ledger without `pod`: everything that it held is free again. The same ledger, with its version, if nothing
    /// is known of such a pod.
    #[must_use]
    pub fn release(&self, pod: &PodUid) -> Self {
        let is_known = self.pods.contains_key(pod)
            || self.hints.keys().chain(self.created.values()).any(|container| container.pod == *pod);
        if !is_known {
            return self.clone();
        }
        let mut after = self.without(pod);
        after.collect_all();
        after.store_devices();
        after
    }

    /// The ledger in which `pod` does not run and holds nothing.
    fn without(&self, pod: &PodUid) -> Self {
        let mut after = self.changed();
        after.end_pod(pod);
        after.hints.retain(|container, _| container.pod != *pod);
        after.cpus = after.cpus.map(|held| held.retain(|other, _| other != pod));
        after.memory = after.memory.map(|held| held.retain(|other, _| other != pod));
        after.devices = after.devices.retain(|other| other != pod);
        for held in after.others.values_mut() {
            held.retain(|key, _| key.pod != *pod);
        }
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
        self.pods.remove(pod);
        let gone: BTreeSet<ContainerKey> =
            self.created.values().filter(|container| container.pod == *pod).cloned().collect();
        self.created.retain(|_, container| container.pod != *pod);
        self.hints.retain(|container, _| !gone.contains(container));
    }

    /// The ledger in which a container has been created. An ordinary init container's memory goes to the container
    /// after it then.
    #[must_use]
    pub fn create(&self, container: &ContainerKey, id: ContainerId) -> Self {
        let mut after = self.changed();
        if let Some(resident) = after.pods.get(&container.pod) {
            after.memory = after.memory.map(|held| held.start(&resident.pod, &container.container));
        }
        after.created.insert(id, container.clone());
        after
    }

    /// The ledger in which a created container has exited or been removed: its hint is gone, unless it has been
    /// created anew. What it holds it keeps for its next start.
    #[must_use]
    pub fn exit(&self, id: &ContainerId) -> Self {
        let mut after = self.changed();
        if let Some(container) = after.created.remove(id)
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

    fn changed(&self) -> Self {
        Self { version: self.version.next(), ..self.clone() }
    }

    fn collect_all(&mut self) {
        self.collect_devices();
        self.collect_cpus();
        self.collect_memory();
        let providers: Vec<String> = self.others.keys().cloned().collect();
        for provider in &providers {
            self.collect_others(provider);
        }
    }

    pub(crate) fn collect_others(&mut self, provider: &str) {
        if let (SourcesReady::Yes, Some(mut held)) = (self.sources, self.others.remove(provider)) {
            // What a pod was given as a whole is under no container.
            let is_whole =
                |key: &ContainerKey| key.container.as_str().is_empty() && self.pods.contains_key(&key.pod);
            held.retain(|key, _| is_whole(key) || self.runs(&key.pod, &key.container));
            self.others.insert(provider.into(), held);
        }
    }

    /// What the device manager is told of a container.
    pub(crate) fn sources_for(&self, container: &ContainerKey) -> Sources {
        match self.sources {
            SourcesReady::Yes => Sources::Ready,
            SourcesReady::No if self.was_running.contains(container) => Sources::PendingRunning,
            SourcesReady::No => Sources::PendingNotRunning,
        }
    }

    pub(crate) fn collect_devices(&mut self) {
        if self.sources == SourcesReady::Yes {
            self.devices = self.devices.retain(|pod| self.pods.contains_key(pod));
        }
    }

    pub(crate) fn collect_cpus(&mut self) {
        if self.sources == SourcesReady::Yes {
            let collected =
                self.cpus.as_ref().map(|held| held.retain(|pod, container| self.runs(pod, container)));
            self.cpus = collected;
        }
    }

    pub(crate) fn collect_memory(&mut self) {
        if self.sources == SourcesReady::Yes {
            let collected =
                self.memory.as_ref().map(|held| held.retain(|pod, container| self.runs(pod, container)));
            self.memory = collected;
        }
    }

    fn runs(&self, pod: &PodUid, container: &ContainerName) -> bool {
        self.pods.get(pod).is_some_and(|resident| resident.pod.container(container).is_some())
    }
}
