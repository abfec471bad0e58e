//! A container: when it runs, and what it asks for.

use alloc::collections::BTreeMap;

use k8s_quantity::{ParseError, Quantity};

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

impl Container {
    /// An app container whose requests and limits are both `amounts`, written as in a manifest. With `cpu` and `memory` among
    /// them a pod of such containers is `Guaranteed`.
    ///
    /// ```
    /// let app = pod_spec::Container::guaranteed("app", [("cpu", "4"), ("memory", "1Gi")])?;
    /// assert_eq!(app.requests, app.limits);
    /// # Ok::<(), k8s_quantity::ParseError>(())
    /// ```
    ///
    /// # Errors
    /// An amount is no quantity.
    pub fn guaranteed<'a>(
        name: impl Into<ContainerName>,
        amounts: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, ParseError> {
        let parsed = amounts.into_iter().map(|(resource, amount)| Ok((resource.into(), amount.parse()?)));
        let limits: ResourceList = parsed.collect::<Result<_, ParseError>>()?;
        Ok(Self { name: name.into(), role: Role::App, requests: limits.clone(), limits })
    }
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
