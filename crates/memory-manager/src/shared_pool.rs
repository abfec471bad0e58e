//! Pods with pod-level resources: containers without amounts of their own share what the others leave, and
//! something must be left.

use pod_spec::{Pod, ResourceName, Role};
use thiserror::Error;

use crate::request::NotInt64;
use crate::{Request, Static};

/// The containers of a pod would leave nothing for those that share. The texts are the kubelet's, as is the reason
/// `EmptyPodSharedPoolError`. Of several resources the first by name is told.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum EmptySharedPool {
    /// Nothing for an init container, since sidecars before it have it all.
    #[error("pod rejected, pod has shared init containers but no {0} available for them")]
    Init(ResourceName),
    /// Nothing for a sidecar or an app container.
    #[error(
        "pod rejected, sum of exclusive container {0} requests equals pod budget, leaving no memory for shared containers"
    )]
    App(ResourceName),
    /// What a container takes is no 64-bit integer in the form in which it is written.
    #[error(transparent)]
    NotInt64(#[from] NotInt64),
}

/// What the containers of a pod take out of its amounts.
#[derive(Default)]
struct Taken {
    exclusive: Request,
    shares: bool,
}

impl Static {
    /// Whether a pod with these pod-level amounts leaves some for those of its containers that share.
    pub(crate) fn check_shared_pool(&self, pod: &Pod, amounts: &Request) -> Result<(), EmptySharedPool> {
        let mut taken = Taken::default();
        for container in &pod.containers {
            let own = self.container_request(pod, container)?;
            match container.role {
                Role::Init if own.is_empty() => {
                    if let Some(resource) = taken.used_up(amounts) {
                        return Err(EmptySharedPool::Init(resource.clone()));
                    }
                }
                Role::Init => {}
                Role::Sidecar | Role::App => {
                    taken.shares |= own.is_empty();
                    taken.exclusive.add(&own);
                }
            }
        }
        match taken.used_up(amounts) {
            Some(resource) if taken.shares => Err(EmptySharedPool::App(resource.clone())),
            _ => Ok(()),
        }
    }
}

impl Taken {
    /// The first resource of which nothing is left.
    fn used_up<'a>(&self, amounts: &'a Request) -> Option<&'a ResourceName> {
        let taken = |resource: &ResourceName| self.exclusive.bytes(resource.as_str()).unwrap_or(0);
        amounts.iter().find(|(resource, bytes)| taken(resource) >= *bytes).map(|(resource, _)| resource)
    }
}
