//! What a plugin does: one method for each event, each with nothing to do unless it is written.

use std::fmt;
use std::time::Instant;

use crate::adjustment::Adjustment;
use crate::event::Events;
use crate::messages::{Container, LinuxResources, PodSandbox, ValidateContainerAdjustmentRequest};
use crate::notice::Notice;
use crate::runtime_info::RuntimeInfo;
use crate::updates::{ContainerId, ResourceUpdate, Updates};

/// Why a request fails. The runtime shows the text in its error, and the kubelet in the status of the pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal(String);

impl Refusal {
    /// A refusal with a text for people.
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }

    /// The text.
    pub fn reason(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Any error is a reason to refuse: its text with those of its causes.
impl<E: std::error::Error> From<E> for Refusal {
    fn from(error: E) -> Self {
        let mut reason = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            reason = format!("{reason}: {error}");
            cause = error.source();
        }
        Self(reason)
    }
}

/// The pods and containers of the node when a plugin is connected.
#[derive(Clone, PartialEq, Default, Debug)]
#[non_exhaustive]
pub struct NodeState {
    /// Pods in every state.
    pub pods: Vec<PodSandbox>,
    /// Containers that are created or run, with all updates so far.
    pub containers: Vec<Container>,
    /// In how many messages they came.
    pub pages: usize,
}

/// Something that happens to a pod.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PodEvent<'a> {
    /// The pod. The plugin may never have accepted it: a creation that failed is undone for all plugins.
    pub pod: &'a PodSandbox,
    /// When the answer is due; later it is thrown away, and the request has failed. `None` without a deadline.
    pub due: Option<Instant>,
}

/// Something that happens to a container, as the plugins before left it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ContainerEvent<'a> {
    /// Its pod.
    pub pod: &'a PodSandbox,
    /// The container. The plugin may never have accepted it: a creation that failed is undone for all plugins.
    pub container: &'a Container,
    /// When the answer is due; later it is thrown away, and the request has failed. `None` without a deadline.
    pub due: Option<Instant>,
}

/// The answer to a creation: how the new container is changed, and others with it.
///
/// containerd applies updates of others before it creates the container, and only logs one that fails.
#[derive(Clone, PartialEq, Debug)]
pub struct Creation {
    created: ContainerId,
    /// How the container itself is changed.
    pub adjust: Adjustment,
    updates: Updates,
}

/// An update of the container that is being created, which [`Creation::adjust`] is for. With NRI it fails the creation.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("container {0} is being created: it is adjusted, not updated")]
pub struct UpdateOfCreated(pub ContainerId);

impl Creation {
    /// An answer that changes nothing, for the container with an id.
    pub fn of(created: ContainerId) -> Self {
        Self { created, adjust: Adjustment::new(), updates: Updates::new() }
    }

    /// Changes another container.
    ///
    /// # Errors
    /// It is the one that is being created.
    pub fn update(&mut self, id: ContainerId, update: ResourceUpdate) -> Result<(), UpdateOfCreated> {
        if id == self.created {
            return Err(UpdateOfCreated(id));
        }
        self.updates.set(id, update);
        Ok(())
    }

    /// The changes of others.
    pub const fn updates(&self) -> &Updates {
        &self.updates
    }

    pub(crate) fn into_parts(self) -> (Adjustment, Updates) {
        (self.adjust, self.updates)
    }
}

/// What a validator says of a container's merged adjustment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The container may be created.
    Accept,
    /// The creation fails, for this reason.
    Reject(String),
}

/// A plugin. Requests come one after the other on one thread, that of [`Plugin::run`](crate::Plugin::run).
///
/// A refusal fails the request where the table of [`Event`](crate::Event) in the crate's documentation says so;
/// elsewhere the runtime logs it. All pods of the node wait while a method runs.
#[expect(unused_variables, reason = "the methods that do nothing name what they are given")]
pub trait Handler {
    /// The events that it wants. Others do not come.
    fn events(&self) -> Events;

    /// The runtime configures the plugin, at the beginning of each connection.
    ///
    /// # Errors
    /// The runtime is none for this plugin. It drops the plugin.
    fn configured(&mut self, runtime: &RuntimeInfo) -> Result<(), Refusal> {
        Ok(())
    }

    /// What is there, at the beginning of each connection. Compare all that runs with what should be: containers may
    /// have started without the plugin. The runtime applies the updates afterwards and only logs one that fails.
    ///
    /// # Errors
    /// The plugin cannot work here. The runtime drops it, with a line in its log.
    fn synchronize(&mut self, node: NodeState) -> Result<Updates, Refusal> {
        Ok(Updates::new())
    }

    /// The pause container of a pod runs.
    ///
    /// # Errors
    /// Fails the request: the sandbox is taken down. The kubelet shows the reason in events only.
    fn run_pod_sandbox(&mut self, event: PodEvent<'_>) -> Result<(), Refusal> {
        Ok(())
    }

    /// The resources of a pod are about to change, its overhead and the sum of its containers.
    ///
    /// # Errors
    /// Fails the request.
    fn update_pod_sandbox(
        &mut self,
        event: PodEvent<'_>,
        overhead: Option<&LinuxResources>,
        resources: Option<&LinuxResources>,
    ) -> Result<(), Refusal> {
        Ok(())
    }

    /// The resources of a pod have changed.
    ///
    /// # Errors
    /// The runtime logs it.
    fn post_update_pod_sandbox(&mut self, event: PodEvent<'_>) -> Result<(), Refusal> {
        Ok(())
    }

    /// A pod stops. After a restart of the runtime this does not come for older pods: release by containers.
    ///
    /// # Errors
    /// The runtime logs it.
    fn stop_pod_sandbox(&mut self, event: PodEvent<'_>) -> Result<(), Refusal> {
        Ok(())
    }

    /// A pod is gone. After a restart of the runtime this does not come for older pods.
    ///
    /// # Errors
    /// The runtime logs it.
    fn remove_pod_sandbox(&mut self, event: PodEvent<'_>) -> Result<(), Refusal> {
        Ok(())
    }

    /// A container is about to be created.
    ///
    /// # Errors
    /// Fails the request; the kubelet tries again, and shows the reason in the status of the pod.
    fn create_container(&mut self, event: ContainerEvent<'_>, answer: &mut Creation) -> Result<(), Refusal> {
        Ok(())
    }

    /// A container was created.
    ///
    /// # Errors
    /// The runtime logs it.
    fn post_create_container(&mut self, event: ContainerEvent<'_>) -> Result<(), Refusal> {
        Ok(())
    }

    /// A container's cgroup and process exist, and nothing of its image has run: the place to verify what is effective.
    ///
    /// # Errors
    /// Fails the request: the container is dead, and counts as a restart.
    fn start_container(&mut self, event: ContainerEvent<'_>) -> Result<(), Refusal> {
        Ok(())
    }

    /// A container runs.
    ///
    /// # Errors
    /// The runtime logs it.
    fn post_start_container(&mut self, event: ContainerEvent<'_>) -> Result<(), Refusal> {
        Ok(())
    }

    /// The resources of a container are about to change to those of the request. An update of this container is laid
    /// over it; without one the request passes as it is.
    ///
    /// # Errors
    /// Fails the request.
    fn update_container(
        &mut self,
        event: ContainerEvent<'_>,
        resources: Option<&LinuxResources>,
        updates: &mut Updates,
    ) -> Result<(), Refusal> {
        Ok(())
    }

    /// The resources of a container have changed.
    ///
    /// # Errors
    /// The runtime logs it.
    fn post_update_container(&mut self, event: ContainerEvent<'_>) -> Result<(), Refusal> {
        Ok(())
    }

    /// A container has stopped. The runtime applies updates afterwards.
    ///
    /// # Errors
    /// The runtime logs it.
    fn stop_container(&mut self, event: ContainerEvent<'_>, updates: &mut Updates) -> Result<(), Refusal> {
        Ok(())
    }

    /// A container is gone.
    ///
    /// # Errors
    /// The runtime logs it.
    fn remove_container(&mut self, event: ContainerEvent<'_>) -> Result<(), Refusal> {
        Ok(())
    }

    /// All plugins have answered a creation: whether their merged adjustment stands. The request has all fields of
    /// the protocol.
    ///
    /// # Errors
    /// Fails the creation, as a rejection does.
    fn validate(&mut self, request: &ValidateContainerAdjustmentRequest) -> Result<Verdict, Refusal> {
        Ok(Verdict::Accept)
    }

    /// The connection changes, or an answer came too late.
    fn notice(&mut self, notice: &Notice) {}
}

#[cfg(test)]
mod tests {
    use super::{Creation, Refusal};
    use crate::updates::{ContainerId, ResourceUpdate};

    #[test]
    fn the_created_container_is_not_updated() {
        let id = ContainerId::new;
        let update = ResourceUpdate::new().cpus("1".parse().unwrap());
        let mut creation = Creation::of(id("new"));
        creation.update(id("old"), update.clone()).unwrap();
        let error = creation.update(id("new"), update).unwrap_err();
        assert_eq!(
            Refusal::from(error).reason(),
            "container new is being created: it is adjusted, not updated"
        );
        assert_eq!(creation.updates().len(), 1);
    }

    #[test]
    fn a_refusal_has_the_causes_of_an_error() {
        let error = "x".parse::<crate::Cpus>().unwrap_err();
        let refusal = Refusal::from(error);
        assert!(refusal.reason().starts_with("expected a list such as 0-3,8: "), "{refusal}");
    }
}
