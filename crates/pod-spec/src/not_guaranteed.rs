//! What keeps a pod from the class Guaranteed: the commonest reason why nothing of it is pinned.

use core::fmt;

use k8s_quantity::{Quantity, Sign};

use crate::{ContainerName, Pod, PodRules, QosClass, ResourceList};

/// The first thing that keeps a pod from the class Guaranteed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotGuaranteed<'a> {
    /// The pod's status has another class.
    Status,
    /// A limit is missing or zero.
    NoLimit {
        /// Of which container; `None`: at pod level.
        container: Option<&'a ContainerName>,
        /// `cpu` or `memory`.
        resource: &'static str,
    },
    /// A container's request is not its limit.
    RequestDiffers {
        /// Of which container; `None`: at pod level.
        container: Option<&'a ContainerName>,
        /// `cpu` or `memory`.
        resource: &'static str,
        /// What is requested; `None`: nothing.
        request: Option<&'a Quantity>,
        /// The limit.
        limit: &'a Quantity,
    },
}

impl fmt::Display for NotGuaranteed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status => f.write_str("its status says so"),
            Self::NoLimit { container: Some(container), resource } => {
                write!(f, "container {container} has no {resource} limit")
            }
            Self::NoLimit { container: None, resource } => {
                write!(f, "it has no {resource} limit at pod level")
            }
            Self::RequestDiffers { container, resource, request, limit } => {
                match container {
                    Some(container) => write!(f, "container {container} requests ")?,
                    None => f.write_str("it requests ")?,
                }
                match request {
                    Some(request) => write!(f, "{request}")?,
                    None => f.write_str("none")?,
                }
                write!(f, " of its limit of {limit} {resource}")?;
                if container.is_none() { f.write_str(" at pod level") } else { Ok(()) }
            }
        }
    }
}

impl Pod {
    /// What keeps the pod from being Guaranteed; `None` if it is.
    #[must_use]
    pub fn not_guaranteed(&self, rules: impl Into<PodRules>) -> Option<NotGuaranteed<'_>> {
        let rules = rules.into();
        if self.qos_class(rules) == QosClass::Guaranteed {
            return None;
        }
        let missing = match self.classifying_resources(rules) {
            Some(resources) => unlimited(&resources.limits).map(|resource| (None, resource)),
            None => self.containers.iter().find_map(|container| {
                unlimited(&container.limits).map(|resource| (Some(&container.name), resource))
            }),
        };
        if let Some((container, resource)) = missing {
            return Some(NotGuaranteed::NoLimit { container, resource });
        }
        let differing = match self.classifying_resources(rules) {
            Some(resources) => differing(None, &resources.requests, &resources.limits),
            None => self.containers.iter().find_map(|container| {
                differing(Some(&container.name), &container.requests, &container.limits)
            }),
        };
        Some(differing.unwrap_or(NotGuaranteed::Status))
    }
}

/// The first of the two resources of which not the limit is requested.
fn differing<'a>(
    container: Option<&'a ContainerName>,
    requests: &'a ResourceList,
    limits: &'a ResourceList,
) -> Option<NotGuaranteed<'a>> {
    ["cpu", "memory"].into_iter().find_map(|resource| {
        let (request, limit) = (requests.get(resource), limits.get(resource)?);
        let differs = request != Some(limit);
        differs.then_some(NotGuaranteed::RequestDiffers { container, resource, request, limit })
    })
}

/// The first of the two resources without a positive limit.
fn unlimited(limits: &ResourceList) -> Option<&'static str> {
    let has = |resource: &&str| limits.get(*resource).is_some_and(|limit| limit.sign() == Sign::Positive);
    ["cpu", "memory"].into_iter().find(|resource| !has(resource))
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use super::*;
    use crate::{Container, PodLevelResources, Role};

    fn container(name: &str, requests: &[(&str, &str)], limits: &[(&str, &str)]) -> Container {
        let list = |amounts: &[(&str, &str)]| {
            amounts.iter().map(|(name, amount)| ((*name).into(), amount.parse().unwrap())).collect()
        };
        Container { name: name.into(), role: Role::App, requests: list(requests), limits: list(limits) }
    }

    #[test]
    fn the_first_obstacle_is_named() {
        let full = [("cpu", "2"), ("memory", "1Gi")];
        let app = || container("app", &full, &full);
        for (containers, said) in [
            (vec![app(), container("proxy", &[], &[])], Some("container proxy has no cpu limit")),
            (vec![container("a", &[], &full[..1])], Some("container a has no memory limit")),
            (
                vec![container("a", &[("cpu", "1"), ("memory", "1Gi")], &full)],
                Some("container a requests 1 of its limit of 2 cpu"),
            ),
            (
                vec![container("a", &[("cpu", "2"), ("memory", "1Mi")], &full)],
                Some("container a requests 1Mi of its limit of 1Gi memory"),
            ),
            (
                vec![app(), container("side", &[("cpu", "10m"), ("memory", "1Gi")], &full)],
                Some("container side requests 10m of its limit of 2 cpu"),
            ),
            (vec![app()], None),
        ] {
            let pod = Pod::new("default", "web", containers);
            let found = pod.not_guaranteed(PodLevelResources::Count).map(|found| found.to_string());
            assert_eq!(found.as_deref(), said);
        }
    }
}
