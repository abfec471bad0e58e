//! Extended resources of pods that classes serve in place of a device plugin.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use dra_model::{
    ExtendedClaim, ExtendedResources, Metadata, ResourceClaim, ResourceClaimSpec, ResourceMapping,
    wanted_extended_resources,
};
use pod_spec::{Container, Pod, ResourceName};

use crate::claim::{ClaimState, PodClaim};
use crate::objects::ClusterObjects;

/// The claim that kube-scheduler makes for extended resources of a pod, and the resources that it serves.
pub(crate) struct Served {
    pub(crate) claim: PodClaim,
    pub(crate) resources: Vec<String>,
    /// Which request serves which container.
    pub(crate) mappings: Vec<ResourceMapping>,
}

/// The claim for the pod's extended resources; `None`: device plugins serve all that it requests, or it requests none.
pub(crate) fn of(pod: &Pod, objects: &ClusterObjects, plugins: &BTreeMap<String, i64>) -> Option<Served> {
    let wanted = wanted_extended_resources(pod);
    if wanted.is_empty() {
        return None;
    }
    let classes = ExtendedResources::of(&objects.classes);
    let mut plugins = plugins.clone();
    let mut resources = Vec::new();
    for resource in wanted {
        if classes.class(&resource).is_none() {
            // No class serves the resource: the device manager decides on it.
            plugins.entry(resource).or_insert(1);
        } else if plugins.get(&resource).is_none_or(|offered| *offered == 0) {
            resources.push(resource);
        }
    }
    let ExtendedClaim { requests, mappings } = classes.claim(pod, &plugins).ok()?;
    if requests.is_empty() {
        return None;
    }
    let metadata = Metadata {
        name: alloc::format!("{}-extended-resources", pod.name),
        namespace: pod.namespace.clone(),
        ..Metadata::default()
    };
    let spec = ResourceClaimSpec { requests, ..ResourceClaimSpec::default() };
    let claim = ResourceClaim { metadata, spec, ..ResourceClaim::default() };
    let claim = PodClaim { name: String::new(), state: ClaimState::ExtendedResources, claim };
    Some(Served { claim, resources, mappings })
}

/// The pod without these resources: device plugins are not asked for those that its claims serve.
#[must_use]
pub fn without_resources(pod: &Pod, resources: &[String]) -> Pod {
    let is_served = |name: &ResourceName| resources.iter().any(|served| served == name.as_str());
    let containers = pod.containers.iter().map(|container| {
        let mut container: Container = container.clone();
        container.requests.retain(|name, _| !is_served(name));
        container.limits.retain(|name, _| !is_served(name));
        container
    });
    let containers: Vec<Container> = containers.collect();
    Pod { containers: containers.into(), ..pod.clone() }
}
