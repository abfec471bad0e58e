//! Extended resources that classes serve: a pod's `example.com/gpu: 2` as requests of one special claim.
//!
//! Each long-lived container (not an ordinary init container) has its own request for a resource. Ordinary init
//! containers run before these, so they reuse the requests of long-lived containers behind them, in order, and ask for what
//! is still missing; they run one after the other, so only the largest remainder becomes a request, to which the others
//! are mapped.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use pod_spec::{Amounts, Container, Overhead, Pod, PodLevelResources, ResourceName, Role};

use crate::text::is_label_key;
use crate::{AllocationMode, DeviceClass, DeviceRequest, RequestName, RequestedDevices};

/// What each class serves besides its `extendedResourceName`: this and its name.
const OF_CLASS: &str = "deviceclass.resource.kubernetes.io/";

/// Which class serves a resource.
#[derive(Clone, Debug, Default)]
pub struct ExtendedResources<'a>(BTreeMap<String, &'a DeviceClass>);

/// The requests of a pod's special claim, and who uses them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExtendedClaim {
    /// In the order of their names as text: `container-10-request-0` comes before `container-2-request-0`.
    pub requests: Vec<DeviceRequest>,
    /// By resource; long-lived containers first.
    pub mappings: Vec<ResourceMapping>,
}

/// A container's resource that a request serves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResourceMapping {
    /// The container.
    pub container: String,
    /// The resource.
    pub resource: String,
    /// The request.
    pub request: RequestName,
}

impl<'a> ExtendedResources<'a> {
    /// With classes in the order in which they are observed. Of several for one resource the newest serves it, and of
    /// equally old ones the one with the lowest name. An older one that is observed later serves nothing at all.
    #[must_use]
    pub fn of(classes: impl IntoIterator<Item = &'a DeviceClass>) -> Self {
        let mut all = Self::default();
        classes.into_iter().for_each(|class| all.observe(class));
        all
    }

    fn observe(&mut self, class: &'a DeviceClass) {
        let other = class.extended_resource.as_ref().and_then(|resource| self.0.get(resource));
        let rank = |class: &DeviceClass| class.metadata.created.unwrap_or(i64::MIN);
        if let Some(other) = other
            && (rank(class) < rank(other)
                || (rank(class) == rank(other) && class.metadata.name >= other.metadata.name))
        {
            return;
        }
        if let Some(resource) = &class.extended_resource {
            self.0.insert(resource.clone(), class);
        }
        self.0.insert(format!("{OF_CLASS}{}", class.metadata.name), class);
    }

    /// The class that serves a resource.
    #[must_use]
    pub fn class(&self, resource: &str) -> Option<&'a DeviceClass> {
        self.0.get(resource).copied()
    }

    /// What a node without enough of them leaves to claims: the special claim's requests for a node whose device plugins
    /// offer `allocatable` of each resource.
    ///
    /// # Errors
    /// The resources that neither a class nor a device plugin of the node serves.
    pub fn claim(
        &self,
        pod: &Pod,
        allocatable: &BTreeMap<String, i64>,
    ) -> Result<ExtendedClaim, Vec<String>> {
        let (mut left, mut refused) = (Vec::new(), Vec::new());
        for resource in wanted(pod) {
            let offered = allocatable.get(&resource);
            match self.class(&resource) {
                Some(class) if offered.is_none_or(|offered| *offered == 0) => left.push((resource, class)),
                _ if offered.is_none() => refused.push(resource),
                _ => {}
            }
        }
        if !refused.is_empty() {
            return Err(refused);
        }
        let mut claim = ExtendedClaim::default();
        for (resource, class) in left {
            Split { pod, resource: &resource, class }.add_to(&mut claim);
        }
        claim.requests.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(claim)
    }
}

/// The extended resources that a pod wants any of, sorted.
#[must_use]
pub fn wanted(pod: &Pod) -> Vec<String> {
    let amounts = pod.effective(Amounts::Requests, PodLevelResources::Count, Overhead::Added);
    let names = amounts.iter().filter(|(name, amount)| is_extended(name.as_str()) && amount.value() != 0);
    names.map(|(name, _)| name.to_string()).collect()
}

/// Names outside of Kubernetes' domain that a quota can name too, and those of classes.
fn is_extended(name: &str) -> bool {
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    let has_quota = is_label_key(&format!("requests.{name}")).is_empty();
    name.starts_with(OF_CLASS) || (!is_native && !name.starts_with("requests.") && has_quota)
}

/// One resource of a pod.
struct Split<'a> {
    pod: &'a Pod,
    resource: &'a str,
    class: &'a DeviceClass,
}

impl Split<'_> {
    fn add_to(&self, claim: &mut ExtendedClaim) {
        let containers: Vec<&Container> = self.pod.containers.iter().collect();
        let mut long_lived: Vec<Option<DeviceRequest>> = Vec::new();
        for (number, container) in containers.iter().enumerate() {
            let request = (container.role != Role::Init).then(|| self.serve(number, container, &[], claim));
            long_lived.push(request.flatten());
        }
        let (mut largest, mut names) = (None::<DeviceRequest>, BTreeSet::new());
        let mut short_lived = ExtendedClaim::default();
        for (number, container) in
            containers.iter().enumerate().filter(|(_, container)| container.role == Role::Init)
        {
            let behind: Vec<&DeviceRequest> = long_lived.iter().skip(number).flatten().collect();
            let Some(request) = self.serve(number, container, &behind, &mut short_lived) else { continue };
            names.insert(request.name.clone());
            if largest.as_ref().is_none_or(|largest| count(largest) < count(&request)) {
                largest = Some(request);
            }
        }
        if let Some(largest) = &largest {
            for mapping in short_lived.mappings.iter_mut().filter(|mapping| names.contains(&mapping.request))
            {
                mapping.request = largest.name.clone();
            }
        }
        claim.mappings.extend(short_lived.mappings);
        claim.requests.extend(largest.into_iter().chain(long_lived.into_iter().flatten()));
    }

    /// Maps a container to requests that it can reuse, and to a new one for what these lack, which is returned.
    fn serve(
        &self,
        number: usize,
        container: &Container,
        reusable: &[&DeviceRequest],
        claim: &mut ExtendedClaim,
    ) -> Option<DeviceRequest> {
        let wanted = container.requests.get(&ResourceName::new(self.resource))?.as_int64()?;
        if wanted == 0 {
            return None;
        }
        let mut map = |request: &RequestName| {
            let (container, resource) = (container.name.to_string(), self.resource.to_string());
            claim.mappings.push(ResourceMapping { container, resource, request: request.clone() });
        };
        let mut missing = wanted;
        for request in reusable {
            map(&request.name);
            missing -= count(request);
            if missing <= 0 {
                return None;
            }
        }
        let position =
            container.requests.keys().position(|name| name.as_str() == self.resource).unwrap_or_default();
        let name = RequestName::from(format!("container-{number}-request-{position}"));
        map(&name);
        let exactly = RequestedDevices {
            class: self.class.metadata.name.as_str().into(),
            mode: AllocationMode::ExactCount(missing),
            ..RequestedDevices::default()
        };
        Some(DeviceRequest { name, exactly: Some(exactly), first_available: Vec::new() })
    }
}

fn count(request: &DeviceRequest) -> i64 {
    request.exactly.as_ref().map_or(0, |devices| devices.mode.count())
}
