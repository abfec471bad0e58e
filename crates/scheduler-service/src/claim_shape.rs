//! What of a pod's claims decides which devices they get: pods that agree in it get the same devices on the same node.

use dra_model::{
    AllocationResult, DeviceClass, ExtendedResources, ResourceClaim, ResourceClaimSpec,
    ResourceClaimTemplate, wanted_extended_resources,
};
use pod_spec::{ClaimObject, ContainerName, Pod, PodClaim, Role};

/// What of a pod's claims decides.
#[derive(PartialEq)]
pub(crate) struct Shape {
    claims: Vec<ClaimShape>,
    extended: Vec<ExtendedShape>,
}

/// What of a claim decides which devices it gets, and who has them.
#[derive(PartialEq)]
struct ClaimShape {
    name: String,
    containers: Vec<ContainerName>,
    requests: Vec<(ContainerName, String)>,
    spec: ResourceClaimSpec,
    allocation: Option<AllocationResult>,
}

/// What a container requests of an extended resource that a class serves.
#[derive(PartialEq)]
struct ExtendedShape {
    resource: String,
    container: ContainerName,
    role: Role,
    amount: i64,
}

impl Shape {
    /// Of a pod. `claim` is the object that a claim of the pod is, and `template` the one of that name in its namespace. `None`: the pod
    /// has no claims, or one of them is not known.
    pub(crate) fn of<'a>(
        pod: &Pod,
        classes: impl IntoIterator<Item = &'a DeviceClass>,
        claim: impl Fn(&PodClaim) -> Option<&'a ResourceClaim>,
        template: impl Fn(&str) -> Option<&'a ResourceClaimTemplate>,
    ) -> Option<Self> {
        let claims = pod.constraints.claims.iter().map(|own| {
            let (spec, allocation) = match claim(own) {
                Some(claim) => (claim.spec.clone(), claim.status.allocation.clone()),
                None => match own.object.as_ref()? {
                    ClaimObject::Template(name) => (template(name)?.spec.clone(), None),
                    ClaimObject::Claim(_) => return None,
                },
            };
            let PodClaim { name, containers, requests, .. } = own.clone();
            Some(ClaimShape { name, containers, requests, spec, allocation })
        });
        let claims = claims.collect::<Option<Vec<_>>>()?;
        let wanted = wanted_extended_resources(pod);
        let mut extended = Vec::new();
        if !wanted.is_empty() {
            let classes = ExtendedResources::of(classes);
            for resource in wanted.into_iter().filter(|resource| classes.class(resource).is_some()) {
                let of_container = pod.containers.iter().filter_map(|container| {
                    let amount = container.requests.get(resource.as_str())?.value();
                    let (resource, container, role) =
                        (resource.clone(), container.name.clone(), container.role);
                    Some(ExtendedShape { resource, container, role, amount })
                });
                extended.extend(of_container);
            }
        }
        (!claims.is_empty() || !extended.is_empty()).then_some(Self { claims, extended })
    }

    /// The extended resources, once for each container.
    pub(crate) fn resources(&self) -> impl Iterator<Item = &str> {
        self.extended.iter().map(|own| own.resource.as_str())
    }
}
