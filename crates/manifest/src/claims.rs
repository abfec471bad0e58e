//! Claims of devices, and the objects that say of which device classes.

use std::collections::BTreeMap;

use pod_spec::{ClaimObject, ContainerName, Pod, PodClaim};

use crate::ManifestError;
use crate::names::check_name;
use crate::node::Field;

/// The claims of a pod: those that it lists, in their order, and those that only containers name.
pub(crate) fn read_claims(spec: &Field<'_>) -> Result<Vec<PodClaim>, ManifestError> {
    let mut claims = Vec::new();
    for claim in items(spec, "resourceClaims")? {
        let name = check_name(&claim.require("name", "the claim's name")?)?.to_owned();
        let object = match (claim.get("resourceClaimName")?, claim.get("resourceClaimTemplateName")?) {
            (Some(claim), _) => Some(ClaimObject::Claim(claim.text("a ResourceClaim")?.to_owned())),
            (None, Some(made_of)) => {
                Some(ClaimObject::Template(made_of.text("a ResourceClaimTemplate")?.to_owned()))
            }
            (None, None) => None,
        };
        claims.push(PodClaim { object, ..named(name) });
    }
    for list in ["initContainers", "containers"] {
        for container in items(spec, list)? {
            let Some(resources) = container.get("resources")? else { continue };
            let used = items(&resources, "claims")?;
            if used.is_empty() {
                continue;
            }
            let user = ContainerName::new(container.require("name", "a name")?.text("a name")?);
            for claim in used {
                let name_field = claim.require("name", "the claim's name")?;
                let name = check_name(&name_field)?;
                let at = claims.iter().position(|known| known.name == name);
                let at = at.unwrap_or_else(|| {
                    claims.push(named(name.to_owned()));
                    claims.len() - 1
                });
                let PodClaim { containers: users, requests, .. } = &mut claims[at];
                let is_first = !users.contains(&user);
                if is_first {
                    users.push(user.clone());
                }
                let request = claim.get("request")?.map(|field| field.text("a request")).transpose()?;
                match request.filter(|request| !request.is_empty()) {
                    // Beside the whole claim a request of it adds nothing.
                    Some(request) if is_first || requests.iter().any(|(other, _)| *other == user) => {
                        requests.push((user.clone(), request.to_owned()));
                    }
                    Some(_) => {}
                    None => requests.retain(|(other, _)| *other != user),
                }
            }
        }
    }
    Ok(claims)
}

/// A claim of which no more than the name is known.
fn named(name: String) -> PodClaim {
    let (containers, requests, classes) = (Vec::new(), Vec::new(), Vec::new());
    PodClaim { name, object: None, made: None, containers, requests, classes }
}

/// Adds to the claims of a pod what its status says of them.
pub(crate) fn read_made(claims: &mut [PodClaim], status: &Field<'_>) -> Result<(), ManifestError> {
    for listed in items(status, "resourceClaimStatuses")? {
        let text = |key| {
            let field = listed.get(key)?.map(|field| field.text("a name").map(str::to_owned));
            field.transpose()
        };
        let (Some(name), made) = (text("name")?, text("resourceClaimName")?) else { continue };
        for claim in claims.iter_mut().filter(|claim| claim.name == name) {
            claim.made.clone_from(&made);
        }
    }
    Ok(())
}

fn items<'a>(parent: &Field<'a>, list: &str) -> Result<Vec<Field<'a>>, ManifestError> {
    parent.get(list)?.map_or(Ok(Vec::new()), |list| list.items())
}

/// `ResourceClaim` and `ResourceClaimTemplate` objects by namespace, with the device classes that they ask for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClaimObjects(BTreeMap<(String, ClaimObject), Vec<String>>);

impl ClaimObjects {
    /// Takes an object, if it is one of these.
    pub(crate) fn read(
        &mut self,
        object: &Field<'_>,
        version: &str,
        kind: &str,
    ) -> Result<bool, ManifestError> {
        if !version.starts_with("resource.k8s.io/") {
            return Ok(false);
        }
        let (of, spec): (fn(String) -> ClaimObject, &[&str]) = match kind {
            "ResourceClaim" => (ClaimObject::Claim, &["spec"]),
            "ResourceClaimTemplate" => (ClaimObject::Template, &["spec", "spec"]),
            // `read_resource_objects` reads these.
            "ResourceSlice" | "DeviceClass" | "DeviceTaintRule" => return Ok(true),
            list if list.ends_with("List") => return Ok(true),
            _ => return Ok(false),
        };
        let text = |path: &[&str]| {
            let field = object.descend(path)?;
            Ok::<_, ManifestError>(field.map_or(Ok(""), |field| field.text("a text"))?.to_owned())
        };
        let namespace = Some(text(&["metadata", "namespace"])?).filter(|namespace| !namespace.is_empty());
        let key = (namespace.unwrap_or_else(|| "default".to_owned()), of(text(&["metadata", "name"])?));
        let mut classes = Vec::new();
        if let Some(devices) = object.descend(spec)?.map_or(Ok(None), |spec| spec.get("devices"))? {
            for request in items(&devices, "requests")? {
                // `exactly` and `firstAvailable` from v1beta2 on, the request itself before.
                let mut wanted = vec![request.clone()];
                wanted.extend(request.get("exactly")?);
                wanted.extend(items(&request, "firstAvailable")?);
                for wanted in wanted {
                    if let Some(class) = wanted.get("deviceClassName")? {
                        classes.push(check_name(&class)?.to_owned());
                    }
                }
            }
        }
        classes.sort();
        classes.dedup();
        self.0.insert(key, classes);
        Ok(true)
    }

    /// The same with those of another text.
    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Says of the claims of these pods for which device classes they are, as far as their objects are here.
    pub fn name_classes(&self, pods: &mut [Pod]) {
        for Pod { namespace, constraints, .. } in pods {
            for claim in &mut constraints.claims {
                let Some(object) = claim.object.clone() else { continue };
                if let Some(classes) = self.0.get(&(namespace.clone(), object)) {
                    claim.classes.clone_from(classes);
                }
            }
        }
    }
}
