//! A container: when it runs, and what it asks for.

use alloc::collections::BTreeMap;

use k8s_quantity::Quantity;

use crate::{ContainerName, ResourceName};

/// A container and its part in the pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Container {
    /// Its name.
    pub name: ContainerName,
    /// When it runs.
    pub role: Role,
    /// What it is to be given.
    pub requests: ResourceList,
    /// What it may use; devices are asked for here.
    pub limits: ResourceList,
}

/// When a container runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// An ordinary init container: runs to its end before the next one; what it held is free for later ones.
    Init,
    /// A restartable init container (`restartPolicy: Always`): starts in its turn and stays.
    Sidecar,
    /// An app container.
    App,
}

impl Role {
    /// Each of them.
    pub const ALL: [Self; 3] = [Self::Init, Self::Sidecar, Self::App];

    /// The name in outputs: `init`, `sidecar` or `app`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Sidecar => "sidecar",
            Self::App => "app",
        }
    }
}

/// Amounts by resource.
pub type ResourceList = BTreeMap<ResourceName, Quantity>;
