//! What happens with devices when a container starts.

use alloc::collections::BTreeMap;

use pod_spec::ResourceName;
use thiserror::Error;

use crate::allocate::{Allocation, Failure, Outcome};
use crate::inventory::Inventory;
use crate::question::{PluginError, Question, Replies, Reply};
use crate::{AllocateError, Devices, Holdings, Request};

/// Why a container cannot start. The texts are the kubelet's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The plugin has been gone for longer than the grace period.
    #[error("endpoint not found in cache for a registered resource: {0}")]
    NoEndpoint(ResourceName),
    /// The plugin asks for `PreStartContainer`, and the container holds none of its devices.
    #[error(
        "no devices found allocated in local cache for pod {pod}, container {container}, resource {resource}"
    )]
    NothingHeld {
        /// UID of the pod.
        pod: pod_spec::PodUid,
        /// Name of the container.
        container: pod_spec::ContainerName,
        /// Which resource.
        resource: ResourceName,
    },
    /// The plugin's `PreStartContainer` failed.
    #[error("device plugin PreStartContainer rpc failed with err: {0}")]
    PreStart(#[source] PluginError),
    /// The container has nothing of a resource and was served again, which failed.
    #[error(transparent)]
    Allocate(#[from] AllocateError),
}

impl Devices {
    /// Readies a container's devices for its start: calls `PreStartContainer` of the plugins that want it, and
    /// serves it once more if it has nothing of a resource that it asks for (which happens around restarts of
    /// the kubelet).
    ///
    /// What the plugins answered, in [`Holdings::of_container`] of what is returned, says how the container is
    /// to be set up ([`Setup::merged`](crate::Setup::merged)). A plugin that has not come back since a restart
    /// is not called.
    pub fn start(
        self,
        inventory: &Inventory,
        held: &Holdings,
        request: &Request<'_>,
        replies: &Replies,
    ) -> Result<Outcome, Failure<StartError>> {
        let Request { pod, container, is_active, .. } = *request;
        let mut is_served = true;
        let asked = container.limits.iter().filter(|(_, limit)| limit.value() != 0);
        for (resource, _) in asked.filter(|(resource, _)| held.is_device(inventory, resource)) {
            match told(inventory, held, request, replies, resource) {
                Ok(None) => {}
                Ok(Some(question)) => return Ok(Outcome::NeedsPlugin(question)),
                Err(error) => return Err(Failure { error, after: held.clone() }),
            }
            if is_active(&pod.uid) && held.held(&pod.uid, &container.name, resource).is_none() {
                is_served = false;
            }
        }
        if is_served {
            return Ok(Outcome::Done(Allocation { granted: BTreeMap::new(), after: held.clone() }));
        }
        self.allocate(inventory, held, request, replies)
            .map_err(|Failure { error, after }| Failure { error: error.into(), after })
    }
}

/// `None` if the plugin has answered `PreStartContainer`, or does not ask for it; else the question.
fn told(
    inventory: &Inventory,
    held: &Holdings,
    request: &Request<'_>,
    replies: &Replies,
    resource: &ResourceName,
) -> Result<Option<Question>, StartError> {
    let Request { pod, container, .. } = *request;
    let endpoint = inventory.endpoint(resource).ok_or_else(|| StartError::NoEndpoint(resource.clone()))?;
    if !endpoint.options().pre_start {
        return Ok(None);
    }
    let Some(held) = held.held(&pod.uid, &container.name, resource) else {
        return Err(StartError::NothingHeld {
            pod: pod.uid.clone(),
            container: container.name.clone(),
            resource: resource.clone(),
        });
    };
    endpoint.check(resource).map_err(StartError::PreStart)?;
    let question = Question::PreStart { resource: resource.clone(), devices: held.devices() };
    match replies.get(&question) {
        Some(Reply::Started) => Ok(None),
        Some(Reply::Failed(error)) => Err(StartError::PreStart(error.clone().into())),
        _ => Ok(Some(question)),
    }
}
