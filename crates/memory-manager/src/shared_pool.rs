//! Pods with pod-level resources: containers without exclusive amounts share what the others leave, and
//! something must be left.

use alloc::vec::Vec;
use core::fmt;

use pod_spec::{Pod, ResourceName, Role};
use thiserror::Error;

use crate::request::NotInt64;
use crate::{Request, Static};

/// The containers of a pod would leave nothing for those that share. The texts are the kubelet's, as is the reason
/// `EmptyPodSharedPoolError`. Of several resources the kubelet tells any, here
/// the first by name.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum EmptySharedPool {
    /// Nothing for an init container, since sidecars before it have it all.
    #[error("pod rejected, pod has shared init containers but no {0} available for them")]
    Init(UsedUp),
    /// Nothing for a sidecar or an app container.
    #[error(
        "pod rejected, sum of exclusive container {0} requests equals pod budget, leaving no memory for shared containers"
    )]
    App(UsedUp),
    /// What a container takes is no 64-bit integer in the form in which it is written.
    #[error(transparent)]
    NotInt64(#[from] NotInt64),
}

/// The resources of which nothing is left, by name; at least one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UsedUp(Vec<ResourceName>);

impl UsedUp {
    /// The resources.
    pub fn iter(&self) -> impl Iterator<Item = &ResourceName> {
        self.0.iter()
    }
}

/// The first of them.
impl fmt::Display for UsedUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.first().map_or(Ok(()), |first| first.fmt(f))
    }
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
                    if let Some(used_up) = taken.used_up(amounts) {
                        return Err(EmptySharedPool::Init(used_up));
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
            Some(used_up) if taken.shares => Err(EmptySharedPool::App(used_up)),
            _ => Ok(()),
        }
    }
}

impl Taken {
    /// What nothing is left of, if anything.
    fn used_up(&self, amounts: &Request) -> Option<UsedUp> {
        let taken = |resource: &ResourceName| self.exclusive.bytes(resource.as_str()).unwrap_or(0);
        let used_up = amounts.iter().filter(|(resource, bytes)| taken(resource) >= *bytes);
        let used_up: Vec<_> = used_up.map(|(resource, _)| resource.clone()).collect();
        (!used_up.is_empty()).then_some(UsedUp(used_up))
    }
}
