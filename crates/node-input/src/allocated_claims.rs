//! Where the devices of allocated claims are, for a node whose CPUs and memory follow them (`devices.claims: hint`).

use std::collections::BTreeSet;

use admission_report::{ClaimedDevice, DecidedClaim, DecidedClaims};
use claim_explanation::DevicePlaces;
use dra_model::ResourceClaim;
use pod_claims::ClusterObjects;
use pod_spec::{ClaimObject, ClaimPlaces, Pod, PodClaim, UnknownPlace};

use crate::node::LoadedNode;

/// The claims of pods with their allocations, and the devices of a node.
pub struct AllocatedClaims<'a> {
    claims: Result<&'a [ResourceClaim], &'a str>,
    places: DevicePlaces,
}

impl<'a> AllocatedClaims<'a> {
    /// `objects` has the claims of the pods and slices of the node, beside those of its node file. `name` is what slices call the
    /// node; `None`: as it is called, or as the one node that slices name.
    #[must_use]
    pub fn on(node: &LoadedNode, objects: &'a ClusterObjects, name: Option<&str>) -> Self {
        let named = objects.slices.iter().filter_map(|slice| slice.nodes.node_name.as_deref());
        let named: BTreeSet<&str> = named.collect();
        let name = name.or_else(|| node.node.identity().map(|identity| identity.name.as_str()));
        let name = name.or_else(|| named.first().copied().filter(|_| named.len() == 1)).unwrap_or_default();
        Self { claims: Ok(&objects.claims), places: node.device_places(objects.slices.clone(), name) }
    }

    /// Of which nothing is known, for this reason: a sentence without a full stop.
    #[must_use]
    pub fn unknown(why: &'a str) -> Self {
        Self { claims: Err(why), places: DevicePlaces::default() }
    }

    /// The pod with the places of the devices of its claims.
    #[must_use]
    pub fn placed(&self, mut pod: Pod) -> Pod {
        let mut decided = Vec::new();
        let mut unknown = Vec::new();
        for own in &pod.constraints.claims {
            match self.allocated(&pod, own) {
                Ok(claim) => decided.push(claim),
                Err(why) => unknown.push(UnknownPlace { claim: own.name.clone(), why }),
            }
        }
        let decided =
            DecidedClaims { decided_as: String::new(), claims: decided, search: None, remarks: Vec::new() };
        let mut places = decided.located(&self.places).places();
        places.unknown.extend(unknown);
        pod.constraints.claim_places = places;
        pod
    }

    /// The devices of a claim of the pod; `Err`: why none is known.
    fn allocated(&self, pod: &Pod, own: &PodClaim) -> Result<DecidedClaim, String> {
        let claims = self.claims.map_err(str::to_owned)?;
        let (namespace, name) = name_of(pod, own)?;
        let is_called = |claim: &&ResourceClaim| {
            let metadata = &claim.metadata;
            let own = if metadata.namespace.is_empty() { "default" } else { &metadata.namespace };
            own == namespace && metadata.name == name
        };
        let called = format!("ResourceClaim {namespace}/{name}");
        let claim = claims.iter().find(is_called).ok_or_else(|| format!("{called} is not known"))?;
        let allocation = claim.status.allocation.as_ref();
        let allocation = allocation.ok_or_else(|| format!("{called} has no devices"))?;
        let mut users = claim.status.reserved_for.iter().filter(|user| user.resource == "pods").peekable();
        if users.peek().is_some()
            && !users
                .any(|user| user.uid == pod.uid.as_str() || (user.uid.is_empty() && user.name == pod.name))
        {
            return Err(format!("{called} is not reserved for the pod"));
        }
        let devices = allocation.results.iter().map(|result| {
            let request = result.request.to_string();
            let has_it = own.containers.iter().filter(|user| own.serves(user, &request));
            let containers = Some(has_it.map(ToString::to_string).collect());
            ClaimedDevice { containers, ..ClaimedDevice::of(result) }
        });
        Ok(DecidedClaim {
            name: own.name.clone(),
            state: "allocated",
            containers: own.containers.iter().map(ToString::to_string).collect(),
            shared_with: Vec::new(),
            devices: devices.collect(),
        })
    }
}

/// The claims of pods as they are called at an API server, by namespace and name; those that are not made of their templates yet are
/// left out.
#[must_use]
pub fn claim_names<'p>(pods: impl IntoIterator<Item = &'p Pod>) -> Vec<(String, String)> {
    let pods = pods.into_iter();
    let names = pods.flat_map(|pod| pod.constraints.claims.iter().filter_map(|own| name_of(pod, own).ok()));
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

/// What the claim of a pod is called; `Err`: why that is not known.
fn name_of(pod: &Pod, own: &PodClaim) -> Result<(String, String), String> {
    let name = match (&own.object, &own.made) {
        (Some(ClaimObject::Claim(name)), _) | (Some(ClaimObject::Template(_)), Some(name)) => name,
        (Some(ClaimObject::Template(name)), None) => {
            return Err(format!("it is not made of ResourceClaimTemplate {name} yet"));
        }
        (None, _) => return Err("the pod names no object for it".to_owned()),
    };
    Ok((pod.namespace.clone(), name.clone()))
}

/// The pod with these places of the devices of its claims.
pub(crate) fn with_places(pod: &Pod, places: ClaimPlaces) -> Pod {
    let mut pod = pod.clone();
    pod.constraints.claim_places = places;
    pod
}
