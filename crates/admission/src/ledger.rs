//! The one state: what every pod of the node holds.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;

use cpu_manager::Holdings as CpuHoldings;
use device_manager::{Holdings as DeviceHoldings, Inventory};
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
    /// Which devices there are; they come and go with their plugins.
    pub(crate) inventory: Inventory,
    /// By provider name.
    pub(crate) others: BTreeMap<String, Held>,
    /// The merged hint of each container, as the kubelet's affinity store.
    pub(crate) hints: BTreeMap<ContainerKey, Hint>,
    /// Pods that run, in order of UID.
    pub(crate) pods: BTreeMap<PodUid, Arc<Pod>>,
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
        Self { version: self.version.next(), inventory, ..self.clone() }
    }

    /// The hint that was merged for a container; `None` if none is stored.
    #[must_use]
    pub fn hint(&self, container: &ContainerKey) -> Option<Hint> {
        self.hints.get(container).copied()
    }

    /// The admitted pods, by UID.
    pub fn pods(&self) -> impl Iterator<Item = &Pod> {
        self.pods.values().map(AsRef::as_ref)
    }

    /// The ledger after `attempt`: an admission books what it took; a refusal leaves what
    /// [`Compat::refused_pod`](crate::Compat::refused_pod) says; an attempt that waits for a plugin changes nothing.
    pub fn commit(&self, attempt: Attempt) -> Result<Self, Stale> {
        if attempt.made_against != self.version {
            return Err(Stale { made_against: attempt.made_against, current: self.version });
        }
        let after = match (&attempt.verdict, attempt.refused_pod) {
            (Verdict::Admitted(_), _) | (Verdict::Refused(_), RefusedPod::KeepBooked) => attempt.after,
            (Verdict::Refused(_), RefusedPod::HoldNothing) | (Verdict::NeedsPlugin(_), _) => self.clone(),
        };
        Ok(Self { version: self.version.next(), ..after })
    }

    /// The ledger without `pod`: everything that it held is free again. The same ledger, with its version, if no
    /// such pod runs.
    #[must_use]
    pub fn release(&self, pod: &PodUid) -> Self {
        if !self.pods.contains_key(pod) {
            return self.clone();
        }
        let mut after = Self { version: self.version.next(), ..self.clone() };
        after.pods.remove(pod);
        after.hints.retain(|container, _| container.pod != *pod);
        after.collect();
        after
    }

    /// Frees what pods hold that do not run.
    pub(crate) fn collect(&mut self) {
        let runs = |pod: &PodUid, container: &ContainerName| {
            self.pods.get(pod).is_some_and(|pod| pod.container(container).is_some())
        };
        self.cpus = self.cpus.as_ref().map(|held| held.retain(runs));
        self.memory = self.memory.as_ref().map(|held| held.retain(runs));
        self.devices = self.devices.retain(|pod| self.pods.contains_key(pod));
        for held in self.others.values_mut() {
            held.retain(|key, _| runs(&key.pod, &key.container));
        }
    }
}
