//! Bringing the CPUs of running containers in line with what they hold: statuses in, updates out.
//!
//! The CPUs of a container with exclusive ones are written at its creation and after a restart of the kubelet;
//! those of one in the shared pool after each change of the pool. What is written is decided by comparing with
//! what was last written for a container of this name, so a container that restarts with another id is written
//! again only if its CPUs changed: it was created with the right ones.

use pod_spec::{ContainerKey, ContainerName, Pod};

use crate::{ContainerId, Containers, Holdings, Update};

/// What the runtime says of a container.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// `containerID`, as `containerd://4f5a…`; may be empty.
    pub id: alloc::string::String,
    /// Its state.
    pub state: ContainerState,
}

/// Whether a container runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContainerState {
    /// It does not run yet, or its status has no state.
    Waiting,
    /// It runs.
    Running,
    /// It has ended. What it holds stays with it until its pod is gone.
    Terminated,
}

impl Containers {
    /// One container of one round: the containers seen, and what is to be written for it. When the runtime has taken
    /// an update, [`Containers::wrote`] says so; else the next round gives it again.
    ///
    /// Dead pods are collected before a round; pods and their containers come in the order of admission and of the
    /// pod. Not for policy `none`.
    #[must_use]
    pub fn reconcile(
        &self,
        held: &Holdings,
        pod: &Pod,
        container: &ContainerName,
        status: &Status,
    ) -> (Self, Option<Update>) {
        let Some(id) = ContainerId::of_status(&status.id) else { return (self.clone(), None) };
        if status.state != ContainerState::Running {
            return (self.clone(), None);
        }
        let key = ContainerKey { pod: pod.uid.clone(), container: container.clone() };
        let cpus = held.assigned(&pod.uid, container).unwrap_or(held.shared());
        let is_written = self.written(&key).map_or_else(|| cpus.is_empty(), |written| written == cpus);
        let update = (!is_written && !cpus.is_empty()).then(|| Update {
            id: id.clone(),
            container: key.clone(),
            cpus: cpus.clone(),
        });
        (self.seen(id, key), update)
    }
}
