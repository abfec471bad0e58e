//! The claims of pods that run, put together from what each source says of them.

use std::collections::{BTreeMap, BTreeSet};

use admission_report::{ClaimedDevice, DecidedClaim, DecidedClaims};
use claim_explanation::DevicePlaces;
use device_plugin::ClaimedEntry;
use dra_model::{DeviceId, DeviceResult, ResourceClaim};
use kubelet_checkpoint::claims::PreparedClaim;
use node_input::LoadedNode;
use pod_spec::{ClaimObject, ContainerName, Pod, PodClaim, PodUid};

use super::sources::{ClaimName, ClusterClaims, Prepared, SourceAnswers};

/// The claims of a pod.
pub(super) struct HeldClaims<'p> {
    pub(super) pod: &'p Pod,
    /// Those of which devices are known, with their places.
    pub(super) decided: DecidedClaims,
    /// Those of which none is.
    pub(super) unknown: Vec<UnknownClaim>,
}

/// A claim of which no device is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct UnknownClaim {
    /// What the pod calls it.
    pub(super) name: String,
    /// The containers that use it.
    pub(super) containers: Vec<ContainerName>,
    /// Why: a sentence without a full stop.
    pub(super) why: String,
}

/// Where the devices of the node are.
pub(super) struct Places {
    known: DevicePlaces,
    /// Why the slices of the node are not known.
    unknown: Option<String>,
}

impl Places {
    /// By the slices of the API server and of the node's file.
    pub(super) fn of(node: &LoadedNode, name: &str, cluster: &Result<ClusterClaims, String>) -> Self {
        let slices = cluster.as_ref().map(|claims| claims.slices.clone()).unwrap_or_default();
        let unknown = cluster.as_ref().err().filter(|_| !node.has_slices());
        Self { known: node.device_places(slices, name), unknown: unknown.cloned() }
    }
}

/// The claims of these pods, as they are called at the API server.
pub(super) fn names(pods: &[&Pod], prepared: &Prepared) -> Vec<ClaimName> {
    let mut names: BTreeSet<ClaimName> = BTreeSet::new();
    for pod in pods {
        names.extend(pod.constraints.claims.iter().filter_map(|claim| name_of(pod, claim)));
        names.extend(prepared_for(prepared, &pod.uid).map(key));
    }
    names.into_iter().collect()
}

/// Whether manifests leave open which containers use a claim of the kubelet's file, or the file is not known.
pub(super) fn needs_list(pods: &[&Pod], prepared: &Prepared) -> bool {
    let is_open = |pod: &&Pod| unnamed(pod, prepared).next().is_some();
    prepared.is_err() || pods.iter().any(is_open)
}

/// What the claim of a pod is called; `None`: it is not made yet.
fn name_of(pod: &Pod, claim: &PodClaim) -> Option<ClaimName> {
    let name = match (claim.object.as_ref()?, &claim.made) {
        (ClaimObject::Claim(name), _) | (ClaimObject::Template(_), Some(name)) => name,
        (ClaimObject::Template(_), None) => return None,
    };
    Some((pod.namespace.clone(), name.clone()))
}

fn key(claim: &PreparedClaim) -> ClaimName {
    (claim.namespace.clone(), claim.name.clone())
}

fn prepared_for<'c>(prepared: &'c Prepared, pod: &'c PodUid) -> impl Iterator<Item = &'c PreparedClaim> + 'c {
    prepared.iter().flatten().filter(move |claim| claim.pods.contains(pod))
}

/// Claims that are prepared for a pod and that its manifest does not name: those of its extended resources, and all of a pod whose
/// manifest is not known.
fn unnamed<'c>(pod: &'c Pod, prepared: &'c Prepared) -> impl Iterator<Item = &'c PreparedClaim> + 'c {
    let named: BTreeSet<ClaimName> =
        pod.constraints.claims.iter().filter_map(|claim| name_of(pod, claim)).collect();
    prepared_for(prepared, &pod.uid).filter(move |claim| !named.contains(&key(claim)))
}

/// A device with the requests that it serves.
struct Held {
    device: ClaimedDevice,
    /// None: all of the claim.
    requests: Vec<String>,
    /// Why it is not taken for a device of the claim.
    doubt: Option<String>,
}

/// The devices of a claim; `Err`: why none is known.
type HeldDevices = Result<Vec<Held>, String>;

impl<'p> HeldClaims<'p> {
    /// The claims of all these pods; pods without any are left out.
    pub(super) fn all(pods: &[&'p Pod], answers: &SourceAnswers, places: &Places) -> Vec<Self> {
        let names: BTreeMap<&PodUid, String> =
            pods.iter().map(|pod| (&pod.uid, format!("{}/{}", pod.namespace, pod.name))).collect();
        let all = pods.iter().map(|pod| Gathering { pod, answers, names: &names }.held(places));
        all.filter(|held| !held.decided.claims.is_empty() || !held.unknown.is_empty()).collect()
    }
}

/// A pod whose claims are put together.
struct Gathering<'a, 'p> {
    pod: &'p Pod,
    answers: &'a SourceAnswers,
    /// The pods of the node, as `NAMESPACE/NAME`.
    names: &'a BTreeMap<&'p PodUid, String>,
}

impl<'p> Gathering<'_, 'p> {
    fn held(&self, places: &Places) -> HeldClaims<'p> {
        let mut claims: Vec<(DecidedClaim, Vec<Option<String>>)> = Vec::new();
        let mut unknown = Vec::new();
        let mut add = |name: &str,
                       users: &[ContainerName],
                       key: &ClaimName,
                       devices: HeldDevices,
                       own: Option<&PodClaim>| {
            let unknown_claim = |why| UnknownClaim { name: name.to_owned(), containers: users.to_vec(), why };
            match devices {
                Err(why) => unknown.push(unknown_claim(why)),
                Ok(devices) if devices.is_empty() => {}
                Ok(devices) => {
                    let containers: Vec<String> = users.iter().map(ToString::to_string).collect();
                    let doubts = devices.iter().map(|held| held.doubt.clone()).collect();
                    let devices = devices.into_iter().map(|held| held.of(own)).collect();
                    let shared_with = self.others(key);
                    let state = "allocated";
                    let claim =
                        DecidedClaim { name: name.to_owned(), state, containers, shared_with, devices };
                    claims.push((claim, doubts));
                }
            }
        };
        for own in &self.pod.constraints.claims {
            let Some(key) = name_of(self.pod, own) else { continue };
            add(&own.name, &own.containers, &key, self.devices(&key), Some(own));
        }
        for prepared in unnamed(self.pod, &self.answers.prepared) {
            let key = key(prepared);
            if let Some(users) = self.listed_users(&key) {
                add(&key.1, &users, &key, self.devices(&key), None);
                continue;
            }
            let users = self.pod.containers.iter().map(|container| container.name.clone());
            let why = "which containers use it is not known: neither a manifest nor the kubelet's pod resources service says it";
            add(&key.1, &users.collect::<Vec<_>>(), &key, Err(why.to_owned()), None);
        }
        if self.answers.prepared.is_err() && self.pod.constraints.claims.is_empty() {
            for key in self.listed_claims() {
                let users = self.listed_users(&key).unwrap_or_default();
                add(&key.1, &users, &key, self.devices(&key), None);
            }
        }
        let (claims, doubts): (Vec<_>, Vec<_>) = claims.into_iter().unzip();
        let decided = DecidedClaims { decided_as: String::new(), claims, search: None, remarks: Vec::new() };
        let mut decided = decided.located(&places.known);
        for (claim, doubts) in decided.claims.iter_mut().zip(doubts) {
            for (device, doubt) in claim.devices.iter_mut().zip(doubts) {
                if let Some(why) = doubt.or_else(|| places.unknown.clone()) {
                    let (numa_node, published_node, known_by) = (None, None, None);
                    let unknown_place = Some(why);
                    *device = ClaimedDevice {
                        numa_node,
                        published_node,
                        known_by,
                        unknown_place,
                        ..device.clone()
                    };
                }
            }
        }
        HeldClaims { pod: self.pod, decided, unknown }
    }

    /// The claim at the API server, and whether that was asked for it.
    fn object(&self, key: &ClaimName) -> AtServer<'_> {
        match &self.answers.cluster {
            Ok(cluster) if cluster.asked.contains(key) => match cluster.claims.get(key) {
                Some(claim) => AtServer::Is(claim),
                None => AtServer::Gone,
            },
            Ok(_) => AtServer::NotAsked("the API server was not asked for it yet"),
            Err(why) => AtServer::NotAsked(why),
        }
    }

    fn devices(&self, key: &ClaimName) -> HeldDevices {
        let prepared =
            prepared_for(&self.answers.prepared, &self.pod.uid).find(|claim| self::key(claim) == *key);
        let object = self.object(key);
        let (namespace, name) = key;
        let contradiction = object.contradicts(prepared, self.pod);
        let contradiction = contradiction.map(|how| format!("ResourceClaim {namespace}/{name} {how}"));
        let Some(prepared) = prepared else {
            return match (object, contradiction) {
                (_, Some(why)) => Err(why),
                (AtServer::Is(claim), None) => Ok(results(claim).map(Held::allocated).collect()),
                (AtServer::Gone, None) => Err(format!("ResourceClaim {namespace}/{name} does not exist")),
                (AtServer::NotAsked(why), None) => self.listed_devices(key).ok_or_else(|| {
                    let file = self.answers.prepared.as_ref().err();
                    let file = file.map_or("the kubelet's file does not have it", String::as_str);
                    format!("its devices are not known: {file}, and {why}")
                }),
            };
        };
        let allocated = match object {
            AtServer::Is(claim) => Some(claim),
            AtServer::Gone | AtServer::NotAsked(_) => None,
        };
        let described =
            prepared.drivers.iter().flat_map(|(driver, own)| own.iter().map(move |device| (driver, device)));
        let described = described.map(|(driver, device)| {
            (Held::named(&id(driver, &device.pool, &device.device), device.requests.clone()), device)
        });
        let mut devices: Vec<Held> = described
            .map(|(held, device)| {
                match allocated.and_then(|claim| results(claim).find(|result| held.is(result))) {
                    Some(result) => Held { requests: device.requests.clone(), ..Held::allocated(result) },
                    None => held,
                }
            })
            .collect();
        // The kubelet has a device that is not allocated: one of the two is out of date.
        let is_other =
            |held: &Held| allocated.is_some_and(|claim| !results(claim).any(|result| held.is(result)));
        let other = devices.iter().any(is_other);
        let other = other.then(|| {
            format!("ResourceClaim {namespace}/{name} has other devices than the kubelet has prepared")
        });
        let silent = prepared.drivers.iter().find(|(_, own)| own.is_empty());
        let silent = silent.zip(object.why_unknown()).map(|((driver, _), why)| {
            format!("driver {driver} has named no devices to the kubelet, and {why}")
        });
        let contradiction = contradiction.or(other).or(silent);
        if contradiction.is_some() {
            for held in &mut devices {
                held.doubt.clone_from(&contradiction);
            }
        } else {
            // Drivers may describe fewer devices to the kubelet than the claim has, or none.
            let is_described = |result: &&DeviceResult| devices.iter().any(|held| held.is(result));
            let rest = allocated.into_iter().flat_map(results).filter(|result| !is_described(result));
            let rest: Vec<Held> = rest.map(Held::allocated).collect();
            devices.extend(rest);
        }
        if devices.is_empty() { contradiction.map_or(Ok(devices), Err) } else { Ok(devices) }
    }

    /// Other pods that use the claim, as `NAMESPACE/NAME`.
    fn others(&self, key: &ClaimName) -> Vec<String> {
        let mut others = BTreeSet::new();
        if let AtServer::Is(claim) = self.object(key) {
            let users = claim.status.reserved_for.iter().filter(|user| user.resource == "pods");
            let users = users.filter(|user| user.uid != self.pod.uid.as_str());
            others.extend(users.map(|user| format!("{}/{}", key.0, user.name)));
        }
        let prepared =
            prepared_for(&self.answers.prepared, &self.pod.uid).filter(|claim| self::key(claim) == *key);
        for uid in prepared.flat_map(|claim| &claim.pods).filter(|uid| **uid != self.pod.uid) {
            others.insert(self.names.get(uid).cloned().unwrap_or_else(|| uid.to_string()));
        }
        others.into_iter().collect()
    }

    /// The containers of the pod as the kubelet's service lists them.
    fn listed(&self) -> Option<&[device_plugin::ContainerEntry]> {
        let is_own = |entry: &&device_plugin::PodEntry| {
            (&entry.namespace, &entry.name) == (&self.pod.namespace, &self.pod.name)
        };
        self.answers.listed.iter().flatten().find(is_own).map(|entry| entry.containers.as_slice())
    }

    fn listed_users(&self, key: &ClaimName) -> Option<Vec<ContainerName>> {
        let uses = |container: &&device_plugin::ContainerEntry| {
            container.claims.iter().any(|claim| (&claim.namespace, &claim.name) == (&key.0, &key.1))
        };
        let users = self.listed()?.iter().filter(uses);
        Some(users.map(|container| container.name.clone()).collect())
    }

    fn listed_claims(&self) -> BTreeSet<ClaimName> {
        let claims = self.listed().into_iter().flatten().flat_map(|container| &container.claims);
        claims.map(|claim| (claim.namespace.clone(), claim.name.clone())).collect()
    }

    fn listed_devices(&self, key: &ClaimName) -> Option<Vec<Held>> {
        let claims = self.listed()?.iter().flat_map(|container| &container.claims);
        let devices: BTreeSet<&ClaimedEntry> = claims
            .filter(|claim| (&claim.namespace, &claim.name) == (&key.0, &key.1))
            .flat_map(|claim| &claim.devices)
            .collect();
        let devices = devices
            .into_iter()
            .map(|device| Held::named(&id(&device.driver, &device.pool, &device.device), Vec::new()));
        let devices: Vec<Held> = devices.collect();
        (!devices.is_empty()).then_some(devices)
    }
}

/// A claim at the API server.
#[derive(Clone, Copy)]
enum AtServer<'a> {
    Is(&'a ResourceClaim),
    Gone,
    /// Why it is not known.
    NotAsked(&'a str),
}

impl<'a> AtServer<'a> {
    const fn why_unknown(self) -> Option<&'a str> {
        match self {
            Self::NotAsked(why) => Some(why),
            Self::Is(_) | Self::Gone => None,
        }
    }

    /// How it contradicts that the kubelet has prepared the claim for the pod, or that the pod uses it; `None`: it does not, or is
    /// not known.
    fn contradicts(self, prepared: Option<&PreparedClaim>, pod: &Pod) -> Option<&'static str> {
        let claim = match self {
            Self::Is(claim) => claim,
            Self::Gone => {
                return prepared.map(|_| "does not exist any more, and the kubelet has it prepared");
            }
            Self::NotAsked(_) => return None,
        };
        let is_other = |own: &PreparedClaim| {
            !claim.metadata.uid.is_empty() && !own.uid.is_empty() && claim.metadata.uid != own.uid
        };
        if prepared.is_some_and(is_other) {
            return Some("was made anew since the kubelet prepared it");
        }
        if claim.status.allocation.is_none() {
            return Some(match prepared {
                Some(_) => "is released, and the kubelet has it prepared",
                None => "has no devices",
            });
        }
        let is_reserved = claim.status.reserved_for.iter().any(|user| user.uid == pod.uid.as_str());
        (!is_reserved).then_some("is not reserved for the pod")
    }
}

fn id(driver: &str, pool: &str, device: &str) -> DeviceId {
    DeviceId { driver: driver.into(), pool: pool.into(), device: device.into() }
}

fn results(claim: &ResourceClaim) -> impl Iterator<Item = &DeviceResult> {
    claim.status.allocation.iter().flat_map(|allocation| &allocation.results)
}

impl Held {
    /// A device as the kubelet knows it.
    fn named(id: &DeviceId, requests: Vec<String>) -> Self {
        let request = requests.first().map_or("", String::as_str);
        Self { device: ClaimedDevice::new(request, id), requests, doubt: None }
    }

    fn allocated(result: &DeviceResult) -> Self {
        let requests = vec![result.request.to_string()];
        Self { device: ClaimedDevice::of(result), requests, doubt: None }
    }

    fn is(&self, result: &DeviceResult) -> bool {
        let ClaimedDevice { driver, pool, device, .. } = &self.device;
        (driver.as_str(), pool.as_str(), device.as_str())
            == (result.device.driver.as_str(), result.device.pool.as_str(), result.device.device.as_str())
    }

    /// The device, with the containers that have it where not all do that use the claim.
    fn of(self, own: Option<&PodClaim>) -> ClaimedDevice {
        let some = own.filter(|own| !own.requests.is_empty() && !self.requests.is_empty());
        let containers = some.map(|own| {
            let has_it =
                |user: &&ContainerName| self.requests.iter().any(|request| own.serves(user, request));
            own.containers.iter().filter(has_it).map(ToString::to_string).collect()
        });
        ClaimedDevice { containers, ..self.device }
    }
}
