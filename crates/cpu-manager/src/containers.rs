//! What a running kubelet remembers of containers, and forgets when it restarts: their ids in the runtime, and which
//! CPUs were last written for them.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::fmt;

use cpuset::CpuSet;
use pod_spec::{ContainerKey, ContainerName, PodUid};

use crate::{Collected, Holdings};

/// A container's id in the runtime, without the `containerd://` before it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ContainerId(Arc<str>);

impl ContainerId {
    /// The id of a container's status: what follows the only `://`; `None` if there is none, or more than one.
    #[must_use]
    pub fn of_status(text: &str) -> Option<Self> {
        let (_, id) = text.split_once("://")?;
        (!id.contains("://")).then(|| Self::from(id))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ContainerId {
    fn from(id: &str) -> Self {
        Self(Arc::from(id))
    }
}

impl fmt::Display for ContainerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// CPUs to be written for a container.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Update {
    /// Its id in the runtime.
    pub id: ContainerId,
    /// Which it is.
    pub container: ContainerKey,
    /// Its own CPUs, or the shared pool; never empty.
    pub cpus: CpuSet,
}

/// The containers that were started. A value: every change gives the next one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Containers {
    ids: BTreeMap<ContainerId, ContainerKey>,
    /// By pod and name, not by id: a container that is started again is not written again.
    written: BTreeMap<ContainerKey, CpuSet>,
}

impl Containers {
    /// The container of an id.
    #[must_use]
    pub fn get(&self, id: &ContainerId) -> Option<&ContainerKey> {
        self.ids.get(id)
    }

    /// The CPUs last written for a container; `None` if nothing was.
    #[must_use]
    pub fn written(&self, container: &ContainerKey) -> Option<&CpuSet> {
        self.written.get(container)
    }

    /// A container is about to be started. If it has exclusive CPUs, the runtime gets them at its creation.
    #[must_use]
    pub fn start(&self, id: ContainerId, container: ContainerKey, held: &Holdings) -> Self {
        let mut after = self.clone();
        if let Some(own) = held.assigned(&container.pod, &container.container) {
            after.written.insert(container.clone(), own.clone());
        }
        after.ids.insert(id, container);
        after
    }

    /// A container is seen running.
    #[must_use]
    pub fn seen(&self, id: ContainerId, container: ContainerKey) -> Self {
        let mut after = self.clone();
        after.ids.insert(id, container);
        after
    }

    /// The runtime has taken an update.
    #[must_use]
    pub fn wrote(&self, update: &Update) -> Self {
        let mut after = self.clone();
        after.written.insert(update.container.clone(), update.cpus.clone());
        after
    }

    /// A container is removed by its id: what it holds is released. An unknown id changes nothing.
    pub fn remove(&self, id: &ContainerId, held: &Holdings) -> (Self, Collected) {
        let mut after = self.clone();
        let removed = after.ids.remove(id);
        if let Some(container) = &removed {
            after.written.remove(container);
        }
        let is_it = |pod: &PodUid, name: &ContainerName| {
            removed.as_ref().is_some_and(|it| it.pod == *pod && it.container == *name)
        };
        (after, held.collect(|pod, name| !is_it(pod, name)))
    }

    /// Those that `keep` says yes to: what is left when dead pods are collected, together with
    /// [`Holdings::collect`].
    #[must_use]
    pub fn retain(&self, mut keep: impl FnMut(&PodUid, &ContainerName) -> bool) -> Self {
        let mut after = self.clone();
        after.ids.retain(|_, container| keep(&container.pod, &container.container));
        after.written.retain(|container, _| keep(&container.pod, &container.container));
        after
    }
}
