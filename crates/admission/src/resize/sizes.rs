//! The requested new amounts of a pod's containers.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use k8s_quantity::{Quantity, Sign};
use pod_spec::{Amounts, Container, ContainerName, Pod, QosClass, ResourceList, ResourceName, Role};
use thiserror::Error;

/// What can be changed of a container that runs.
const RESIZABLE: [&str; 2] = ["cpu", "memory"];

/// New amounts by container. What is not named stays as it is.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sizes(pub BTreeMap<ContainerName, Size>);

/// New amounts of one container.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Size {
    /// Requests by resource.
    pub requests: ResourceList,
    /// Limits by resource.
    pub limits: ResourceList,
}

/// Amounts that no pod can be resized to. An API server refuses them too.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum SizeError {
    /// The pod has no container of this name.
    #[error("the pod has no container \"{container}\"; it has {known}")]
    UnknownContainer {
        /// What was named.
        container: ContainerName,
        /// The containers that can be resized.
        known: String,
    },
    /// An ordinary init container, which has run.
    #[error(
        "container \"{container}\" is an init container, and only sidecars and app containers can be resized"
    )]
    InitContainer {
        /// What was named.
        container: ContainerName,
    },
    /// Another resource than CPU and memory.
    #[error("{resource} of container \"{container}\" cannot be resized; cpu and memory can")]
    Resource {
        /// The container.
        container: ContainerName,
        /// The resource.
        resource: ResourceName,
    },
    /// An amount that is not above zero.
    #[error("{resource} of container \"{container}\" is {amount}, and must be above 0")]
    NotPositive {
        /// The container.
        container: ContainerName,
        /// The resource.
        resource: ResourceName,
        /// What was asked for.
        amount: Quantity,
    },
    /// A request above its limit.
    #[error("the {resource} request of container \"{container}\" is {request}, above its limit of {limit}")]
    AboveLimit {
        /// The container.
        container: ContainerName,
        /// The resource.
        resource: ResourceName,
        /// The request.
        request: Box<Quantity>,
        /// The limit.
        limit: Box<Quantity>,
    },
    /// A container's limit above that of its pod.
    #[error(
        "the {resource} limit of container \"{container}\" is {limit}, which must be less than or equal to pod limits of {most}"
    )]
    AbovePod {
        /// The container.
        container: ContainerName,
        /// The resource.
        resource: ResourceName,
        /// The limit.
        limit: Box<Quantity>,
        /// The pod's limit.
        most: Box<Quantity>,
    },
    /// Containers request more together than their pod.
    #[error(
        "the pod's {resource} request is {own}, which must be greater than or equal to aggregate container requests of {asked}"
    )]
    MoreThanPod {
        /// The resource.
        resource: ResourceName,
        /// The pod's request.
        own: Box<Quantity>,
        /// What its containers request together.
        asked: Box<Quantity>,
    },
    /// The pod would be of another class.
    #[error("the pod's QoS class is {} and would become {}; a resize must not change it", .before.name(), .after.name())]
    QosClass {
        /// Its class.
        before: QosClass,
        /// What it would be.
        after: QosClass,
    },
}

impl Sizes {
    /// `amount` of a resource for one container of an admitted pod: its request, and its limit too where that equals the
    /// request. A container with exclusive CPUs that it has chosen has as many as its limit says, which alone is set.
    pub fn set(&mut self, pod: &Pod, container: &Container, resource: &ResourceName, amount: &Quantity) {
        let size = self.0.entry(container.name.clone()).or_default();
        if resource.as_str() == "cpu" && pod.constraints.exclusive.contains_key(&container.name) {
            size.limits.insert(resource.clone(), amount.clone());
            return;
        }
        size.requests.insert(resource.clone(), amount.clone());
        if container.limits.contains_key(resource)
            && container.limits.get(resource) == container.requests.get(resource)
        {
            size.limits.insert(resource.clone(), amount.clone());
        }
    }

    /// The pod with these amounts. Its class is to be found anew.
    ///
    /// # Errors
    /// The first amount that no pod can be resized to.
    pub fn applied(&self, pod: &Pod) -> Result<Pod, SizeError> {
        let mut resized = pod.clone();
        for (name, size) in &self.0 {
            let unknown = || SizeError::UnknownContainer { container: name.clone(), known: resizable(pod) };
            let known = pod.container(name).ok_or_else(unknown)?;
            if known.role == Role::Init {
                return Err(SizeError::InitContainer { container: name.clone() });
            }
            for (resource, amount) in size.requests.iter().chain(&size.limits) {
                check(name, resource, amount)?;
            }
            for container in resized.containers.iter_mut().filter(|container| container.name == *name) {
                container.requests.extend(size.requests.clone());
                container.limits.extend(size.limits.clone());
                check_limits(container)?;
            }
        }
        let resized = resized.rounded();
        check_pod(&resized)?;
        Ok(resized)
    }
}

fn check(container: &ContainerName, resource: &ResourceName, amount: &Quantity) -> Result<(), SizeError> {
    let (container, resource) = (container.clone(), resource.clone());
    if !RESIZABLE.contains(&resource.as_str()) {
        return Err(SizeError::Resource { container, resource });
    }
    if amount.sign() != Sign::Positive {
        return Err(SizeError::NotPositive { container, resource, amount: amount.clone() });
    }
    Ok(())
}

fn check_limits(container: &Container) -> Result<(), SizeError> {
    for resource in RESIZABLE {
        let (request, limit) = (container.requests.get(resource), container.limits.get(resource));
        if let (Some(request), Some(limit)) = (request, limit)
            && request > limit
        {
            let (request, limit) = (Box::new(request.clone()), Box::new(limit.clone()));
            return Err(SizeError::AboveLimit {
                container: container.name.clone(),
                resource: resource.into(),
                request,
                limit,
            });
        }
    }
    Ok(())
}

/// Whether what the pod asks for as a whole holds its containers.
fn check_pod(pod: &Pod) -> Result<(), SizeError> {
    let Some(whole) = &pod.resources else { return Ok(()) };
    let apps = pod.containers.iter().filter(|container| container.role == Role::App);
    for (container, (name, limit)) in apps.flat_map(|app| app.limits.iter().map(move |limit| (app, limit))) {
        if let Some(most) = whole.limits.get(name).filter(|most| limit > *most) {
            let (container, resource) = (container.name.clone(), name.clone());
            let (limit, most) = (Box::new(limit.clone()), Box::new(most.clone()));
            return Err(SizeError::AbovePod { container, resource, limit, most });
        }
    }
    for (resource, asked) in pod.containers_amounts(Amounts::Requests) {
        if let Some(own) = whole.requests.get(&resource).filter(|own| asked > **own) {
            let (own, asked) = (Box::new(own.clone()), Box::new(asked));
            return Err(SizeError::MoreThanPod { resource, own, asked });
        }
    }
    Ok(())
}

/// The containers that can be resized, in the order of the pod.
fn resizable(pod: &Pod) -> String {
    let names = pod.containers.iter().filter(|container| container.role != Role::Init);
    names.map(|container| container.name.as_str()).collect::<Vec<_>>().join(", ")
}
