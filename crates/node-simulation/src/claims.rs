//! Pods that get devices by claims instead of from device plugins: what becomes of their extended resources.
//!
//! Each container gets one claim, made of a template for each pod: a request for each extended resource, for as many devices as the
//! container's limit says, then its exclusive CPUs where the CPU driver gives them out. A pod has the same amounts either way, so
//! that runs with plugins and with claims can be compared. CPUs stay in the container's requests too, as the CPU driver demands.
//!
//! A claim names no NUMA node. With [`Claims::match_attribute`] all devices of a claim have the same value of an attribute, and no
//! pod that needs devices of two values ever fits: there is no rule that only prefers one value.

mod alignment;
mod cpu_driver;
mod published;
mod site;

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use self::published::Published;

use cpu_manager::Static;
use dra_model::{
    AllocationMode, Constraint, DeviceRequest, Metadata, RequestedDevices, ResourceClaimSpec,
    ResourceClaimTemplate,
};
use k8s_quantity::{Format, Quantity};
use pod_spec::{ClaimObject, Container, Pod, PodClaim, ResourceName, Unit};

pub use alignment::DeviceAlignments;
pub(crate) use alignment::{of_plugins, of_pod};
pub use cpu_driver::{CpuDevices, CpuDriver, PrepareError};
pub(crate) use site::{ClaimSite, Held, HostClaims, WithoutDevices};

/// How pods claim devices.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Claims {
    /// `matchAttribute` of all requests of a claim, `domain/id`; `None`: the devices of a claim have nothing in common. The devices
    /// publish their NUMA node as `resource.kubernetes.io/numaNode` and as `dra.net/numaNode`, the CPU driver as
    /// `dra.cpu/numaNodeID` and as `dra.net/numaNode`.
    pub match_attribute: Option<String>,
    /// The resources that are claimed. The others stay with device plugins.
    pub resources: BTreeSet<ResourceName>,
    /// Which devices the CPU driver makes of CPUs; `None`: CPUs are not claimed.
    pub cpus: Option<CpuDevices>,
}

/// A pod that claims devices, and the templates of its claims.
#[derive(Clone, Debug)]
pub(crate) struct Claiming {
    /// Without the resources that its claims serve.
    pub(crate) pod: Pod,
    pub(crate) templates: Vec<ResourceClaimTemplate>,
}

/// What containers with exclusive CPUs ask of the CPU driver.
pub(crate) struct CpuRequests<'a> {
    /// The static CPU manager that would give the CPUs.
    pub(crate) counts: &'a Static,
    pub(crate) driver: &'a CpuDriver,
}

impl Claiming {
    /// The pod as it claims what `published` has.
    pub(crate) fn new(
        pod: &Pod,
        claims: &Claims,
        published: &Published,
        cpus: Option<&CpuRequests<'_>>,
    ) -> Self {
        let mut own = Self { pod: pod.clone(), templates: Vec::new() };
        // Claims that the pod names itself are not decided here.
        own.pod.constraints.claims.clear();
        let mut containers = Vec::new();
        for container in &pod.containers {
            let (rest, mut requests) = device_requests(container, published);
            let count = cpus
                .and_then(|cpus| Some((cpus.counts.asked(Unit::Container(pod, container))?, cpus.driver)));
            requests.extend(count.and_then(|(count, driver)| cpu_request(count, driver)));
            containers.push(rest);
            if !requests.is_empty() {
                own.claim(container, requests, claims);
            }
        }
        own.pod.containers = containers.into();
        own
    }

    fn claim(&mut self, container: &Container, requests: Vec<DeviceRequest>, claims: &Claims) {
        let name = format!("{}-{}", self.pod.name, container.name);
        let constraint = claims
            .match_attribute
            .as_deref()
            .map(|attribute| Constraint { match_attribute: Some(attribute.into()), ..Constraint::default() });
        self.pod.constraints.claims.push(PodClaim {
            name: String::from(container.name.as_str()),
            object: Some(ClaimObject::Template(name.clone())),
            made: None,
            containers: [container.name.clone()].into(),
            requests: Vec::new(),
            classes: Vec::new(),
        });
        let metadata = Metadata { namespace: self.pod.namespace.clone(), ..Metadata::named(&name) };
        let spec = ResourceClaimSpec {
            requests,
            constraints: constraint.into_iter().collect(),
            ..ResourceClaimSpec::default()
        };
        self.templates.push(ResourceClaimTemplate { metadata, spec, ..ResourceClaimTemplate::default() });
    }
}

/// The container without the resources that drivers publish, and the requests for these.
fn device_requests(container: &Container, published: &Published) -> (Container, Vec<DeviceRequest>) {
    let mut rest = container.clone();
    let mut requests = Vec::new();
    for (resource, class) in published.classes_of() {
        let Some(amount) = rest.limits.remove(resource.as_str()) else { continue };
        rest.requests.remove(resource.as_str());
        let count = amount.value();
        if count > 0 {
            let devices = RequestedDevices {
                class: class.clone(),
                mode: AllocationMode::ExactCount(count),
                ..RequestedDevices::default()
            };
            let name = format!("devices-{}", requests.len());
            requests.push(DeviceRequest {
                name: name.into(),
                exactly: Some(devices),
                ..DeviceRequest::default()
            });
        }
    }
    (rest, requests)
}

/// The request for so many CPUs; `None`: for none.
fn cpu_request(count: usize, driver: &CpuDriver) -> Option<DeviceRequest> {
    let class = published::CPU_CLASS.into();
    let count = i64::try_from(count).ok().filter(|count| *count > 0)?;
    let devices = match driver.largest_group() {
        None => {
            RequestedDevices { class, mode: AllocationMode::ExactCount(count), ..RequestedDevices::default() }
        }
        // More CPUs than a group has are an equal share of each of several groups.
        Some(largest) => {
            let groups = (count + largest - 1) / largest.max(1);
            let share = Quantity::from_units((count + groups - 1) / groups.max(1), Format::DecimalSi);
            RequestedDevices {
                class,
                mode: AllocationMode::ExactCount(groups),
                capacity: Some([(cpu_driver::CPU_CAPACITY.into(), share)].into()),
                ..RequestedDevices::default()
            }
        }
    };
    Some(DeviceRequest { name: "cpus".into(), exactly: Some(devices), ..DeviceRequest::default() })
}
