//! Finds the claims of a pod among a cluster's objects.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use dra_model::{
    DeviceRequest, Metadata, Node, RequestForm, RequestName, RequestedDevices, ResourceClaim,
    ResourceClaimSpec,
};
use pod_spec::{ClaimObject, Pod};

use crate::claim::{ClaimState, Obstacle, PodClaim};
use crate::objects::{ClusterObjects, namespace_of};

/// The most pods that a claim can be reserved for.
const MOST_USERS: usize = 256;

/// The claims that a pod lists, in its order.
///
/// # Errors
/// One of them does not exist, or belongs to another pod.
pub(crate) fn listed(pod: &Pod, objects: &ClusterObjects) -> Result<Vec<PodClaim>, Obstacle> {
    let claims = pod.constraints.claims.iter();
    claims.map(|claim| Listed { pod, claim, objects }.find()).collect()
}

/// The first obstacle of these claims that does not depend on a node.
pub(crate) fn obstacle(claims: &[PodClaim], pod: &Pod, objects: &ClusterObjects) -> Option<Obstacle> {
    claims.iter().find_map(|claim| reserved_to_limit(claim, pod).or_else(|| without_class(claim, objects)))
}

/// `namespace/name`.
pub(crate) fn reference(metadata: &Metadata) -> String {
    format!("{}/{}", namespace_of(metadata), metadata.name)
}

/// Whether the claim is reserved for the pod already.
pub(crate) fn is_reserved_for(claim: &ResourceClaim, pod: &Pod) -> bool {
    claim.status.reserved_for.iter().any(|user| {
        user.resource == "pods"
            && (user.uid == pod.uid.as_str() || (user.uid.is_empty() && user.name == pod.name))
    })
}

struct Listed<'a> {
    pod: &'a Pod,
    claim: &'a pod_spec::PodClaim,
    objects: &'a ClusterObjects,
}

impl Listed<'_> {
    fn find(&self) -> Result<PodClaim, Obstacle> {
        match (&self.claim.object, &self.claim.made) {
            (None, _) => Err(Obstacle::NotListed(self.claim.name.clone())),
            (Some(ClaimObject::Claim(name)), _) => self.existing(name),
            (Some(ClaimObject::Template(_)), Some(made)) => {
                let found = self.existing(made)?;
                self.check_owner(&found.claim)?;
                Ok(found)
            }
            (Some(ClaimObject::Template(template)), None) => self.of_template(template),
        }
    }

    fn existing(&self, name: &str) -> Result<PodClaim, Obstacle> {
        let object = || format!("{}/{name}", self.pod.namespace);
        let claim = self.objects.claim(&self.pod.namespace, name);
        let claim =
            claim.ok_or_else(|| Obstacle::NoClaim { claim: self.claim.name.clone(), object: object() })?;
        let state =
            if claim.status.allocation.is_some() { ClaimState::Allocated } else { ClaimState::Pending };
        let mut claim = claim.clone();
        claim.metadata.namespace.clone_from(&self.pod.namespace);
        Ok(PodClaim { name: self.claim.name.clone(), state, claim })
    }

    fn check_owner(&self, claim: &ResourceClaim) -> Result<(), Obstacle> {
        let owner = claim.metadata.controller.as_ref();
        let is_own = owner.is_some_and(|owner| owner.kind == "Pod" && owner.uid == self.pod.uid.as_str());
        if is_own {
            return Ok(());
        }
        let owner = owner.map(|owner| owner.name.clone()).unwrap_or_default();
        Err(Obstacle::OfAnotherPod {
            claim: self.claim.name.clone(),
            object: reference(&claim.metadata),
            owner,
        })
    }

    fn of_template(&self, template: &str) -> Result<PodClaim, Obstacle> {
        let Pod { namespace, name: pod, created, .. } = self.pod;
        let Some(found) = self.objects.template(namespace, template) else {
            let object = format!("{namespace}/{template}");
            return Err(Obstacle::NoTemplate { claim: self.claim.name.clone(), object });
        };
        let state = if created.is_some() { ClaimState::NotMadeYet } else { ClaimState::FromTemplate };
        let metadata = Metadata {
            name: format!("{pod}-{}", self.claim.name),
            namespace: namespace.clone(),
            ..found.claim_metadata.clone()
        };
        let claim = ResourceClaim { metadata, spec: found.spec.clone(), ..ResourceClaim::default() };
        Ok(PodClaim { name: self.claim.name.clone(), state: state(template.to_string()), claim })
    }
}

fn reserved_to_limit(claim: &PodClaim, pod: &Pod) -> Option<Obstacle> {
    let users = claim.claim.status.reserved_for.len();
    let is_full = claim.state == ClaimState::Allocated && users >= MOST_USERS;
    (is_full && !is_reserved_for(&claim.claim, pod)).then(|| Obstacle::ReservedToLimit {
        claim: claim.name.clone(),
        object: reference(&claim.claim.metadata),
    })
}

fn without_class(claim: &PodClaim, objects: &ClusterObjects) -> Option<Obstacle> {
    if claim.state == ClaimState::Allocated {
        return None;
    }
    let (request, devices) = requested(&claim.claim.spec)
        .find(|(_, devices)| !devices.class.is_empty() && objects.class(&devices.class).is_none())?;
    Some(Obstacle::NoClass { claim: reference(&claim.claim.metadata), request, class: devices.class.clone() })
}

/// The devices that a claim requests, each entry with the name of its request, or `request/alternative`.
pub(crate) fn requested(spec: &ResourceClaimSpec) -> impl Iterator<Item = (RequestName, &RequestedDevices)> {
    spec.requests.iter().flat_map(devices_of)
}

fn devices_of(request: &DeviceRequest) -> Vec<(RequestName, &RequestedDevices)> {
    match request.form() {
        RequestForm::Exactly(devices) => alloc::vec![(request.name.clone(), devices)],
        RequestForm::FirstAvailable(alternatives) => {
            let full = |devices: &RequestedDevices| format!("{}/{}", request.name, devices.name);
            alternatives.iter().map(|devices| (RequestName::from(full(devices)), devices)).collect()
        }
        RequestForm::Neither => Vec::new(),
    }
}

/// The obstacle of an allocated claim whose devices cannot be used on the node.
pub(crate) fn elsewhere(claim: &PodClaim, node: &Node) -> Option<Obstacle> {
    if claim.state != ClaimState::Allocated {
        return None;
    }
    let selector = claim.claim.status.allocation.as_ref()?.node_selector.as_ref()?;
    match selector.matches(node) {
        Ok(true) => None,
        Ok(false) => {
            Some(Obstacle::Elsewhere { claim: claim.name.clone(), object: reference(&claim.claim.metadata) })
        }
        Err(error) => Some(Obstacle::BadNodeSelector {
            claim: reference(&claim.claim.metadata),
            error: error.to_string(),
        }),
    }
}
