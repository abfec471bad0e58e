//! What keeps a pod from the class Guaranteed: the commonest reason why nothing of it is pinned.

use core::fmt;

use k8s_quantity::Sign;

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
    /// Requests are not what limits are.
    RequestsDiffer {
        /// `cpu` or `memory`.
        resource: &'static str,
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
            Self::RequestsDiffer { resource } => {
                write!(f, "its {resource} requests are not what its limits are")
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
        let differ = ["cpu", "memory"].into_iter().find(|resource| self.differs(resource, rules));
        Some(differ.map_or(NotGuaranteed::Status, |resource| NotGuaranteed::RequestsDiffer { resource }))
    }

    /// Whether the pod would be Guaranteed if requests of the other resource were what its limits are, and is not.
    fn differs(&self, resource: &str, rules: PodRules) -> bool {
        let mut alone = Self { status_qos: None, ..self.clone() };
        let other = if resource == "cpu" { "memory" } else { "cpu" };
        let level = |requests: &mut ResourceList, limits: &ResourceList| {
            if let Some(limit) = limits.get(other) {
                requests.insert(other.into(), limit.clone());
            }
        };
        for container in &mut alone.containers {
            level(&mut container.requests, &container.limits);
        }
        if let Some(resources) = &mut alone.resources {
            level(&mut resources.requests, &resources.limits);
        }
        alone.qos_class(rules) != QosClass::Guaranteed
    }
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
                Some("its cpu requests are not what its limits are"),
            ),
            (
                vec![container("a", &[("cpu", "2"), ("memory", "1Mi")], &full)],
                Some("its memory requests are not what its limits are"),
            ),
            (vec![app()], None),
        ] {
            let pod = Pod::new("default", "web", containers);
            let found = pod.not_guaranteed(PodLevelResources::Count).map(|found| found.to_string());
            assert_eq!(found.as_deref(), said);
        }
    }
}
