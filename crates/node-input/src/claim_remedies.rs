//! Changes that bring the devices of claims to the CPUs and memory of their containers: each is tried on the node beside the same
//! pods, and those that align are named.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use admission_report::{
    Alignment, BoundMemory, ClaimRemedy, ClaimedDevice, ContainerClaim, ContainerReport, DecidedClaims,
    Facts, Note, Remark, Report,
};
use claim_explanation::{CPU_DRIVER, DevicePlace, KnownBy, PLACES, Place, PlaceAttribute};
use device_manager::Replies;
use dra_model::{
    AllocationMode, Device, DeviceRequest, QualifiedName, RequestName, RequestedDevices, ResourceSlice,
};
use k8s_quantity::{Format, Quantity};
use node_config::Scope;
use pod_claims::ClaimChange;
use pod_spec::{ContainerName, Pod};
use topology_admission::{Detail, Ledger, Outcome, Series, Tries};
use topology_model::{NodeId, NodeIds};
use topology_policy::KubeletPolicy;

use crate::allocated_claims::with_places;
use crate::claims::NodeClaims;
use crate::node::LoadedNode;
use crate::other_rules::OtherRules;
use crate::sources::ADVICE;

/// What devices of the CPU driver for whole NUMA nodes or sockets give out.
const CPU_CAPACITY: &str = "dra.cpu/cpu";

/// Tries changes for the pods of a sequence.
pub(crate) struct TriedChanges<'n> {
    node: &'n LoadedNode,
    /// The same by other rules; `None`: a kubelet does not start with them.
    others: HashMap<OtherRules, Option<LoadedNode>>,
    /// For so many pods changes were tried.
    pods: usize,
    /// Whether a pod came for which none were tried.
    is_over: bool,
}

/// A pod that comes to a node.
#[derive(Clone, Copy)]
pub(crate) struct PodOnNode<'a> {
    /// As it came.
    pub(crate) whole: &'a Pod,
    /// The same as the managers see it: without extended resources that its claims serve.
    pub(crate) rest: &'a Pod,
    /// What the node held before.
    pub(crate) before: &'a Ledger,
}

impl<'n> TriedChanges<'n> {
    pub(crate) fn on(node: &'n LoadedNode) -> Self {
        Self { node, others: HashMap::new(), pods: 0, is_over: false }
    }

    /// Adds to the report on a pod what aligns each claim that lies elsewhere than its container's CPUs and memory. Returns the note
    /// that no changes are tried from this pod on.
    pub(crate) fn add_to(
        &mut self,
        pod: PodOnNode<'_>,
        claims: &mut NodeClaims,
        report: &mut Report,
    ) -> Option<Note> {
        let mut claimed = report.containers().iter().flat_map(|container| &container.claimed);
        let is_elsewhere = claimed.any(|claim| claim.alignment == Alignment::Elsewhere);
        let decided = report.claims.clone().filter(|_| is_elsewhere)?;
        if self.pods == ClaimRemedy::MOST_PODS {
            let is_first = !std::mem::replace(&mut self.is_over, true);
            return is_first.then(|| Note::on_pod(Remark::ChangesNotTried { after: self.pods }));
        }
        self.pods += 1;
        let as_is = report.clone();
        report.add_remedies(|container, claim| {
            let mut trial =
                Trial { tried: self, pod, claims, decided: &decided, as_is: &as_is, container, claim };
            trial.remedies()
        });
        None
    }
}

/// A claim that lies elsewhere than the CPUs and memory of a container.
struct Trial<'t, 'n> {
    tried: &'t mut TriedChanges<'n>,
    pod: PodOnNode<'t>,
    claims: &'t mut NodeClaims,
    decided: &'t DecidedClaims,
    as_is: &'t Report,
    container: &'t ContainerName,
    claim: &'t ContainerClaim,
}

/// Of which containers of a pod a change may take the exclusive CPUs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lost {
    /// Of none.
    None,
    /// Of the one whose claim has CPUs then.
    OfOwn,
}

impl Trial<'_, '_> {
    /// Of each kind the first change that aligns.
    fn remedies(&mut self) -> Vec<ClaimRemedy> {
        let constraint = self.first_claim(self.constraints());
        let selector = self.first_claim(self.selectors());
        let driver = self.cpu_driver();
        let rules = self.rules();
        constraint.into_iter().chain(selector).chain(driver).chain(rules).collect()
    }

    /// The first of these changes of the claim with which it is aligned.
    fn first_claim(&mut self, changes: Vec<ClaimChange>) -> Option<ClaimRemedy> {
        let aligns = |change: &ClaimChange| {
            let Some(decided) = self.claims.decide_changed(self.pod.whole, change) else { return false };
            if self.tried.node.node.has_claim_hints() {
                // CPUs and memory follow the other devices.
                let containers = self.containers_by(OtherRules::default(), &decided);
                return containers.is_some_and(|own| self.is_aligned(&own, Lost::None));
            }
            let report = self.as_is.clone().with_claims(decided);
            self.is_aligned(report.containers(), Lost::None)
        };
        changes.into_iter().find(aligns).map(ClaimRemedy::Claim)
    }

    /// Whether the claim is aligned with what the containers are given, and no container of the pod is worse off: none of its claims
    /// that was aligned is not any more, none lies elsewhere that did not, and it keeps its exclusive CPUs but for those that are
    /// `lost`.
    fn is_aligned(&self, containers: &[ContainerReport], lost: Lost) -> bool {
        let before = self.as_is.containers();
        let is_own = |container: &ContainerReport| container.name == *self.container;
        let alignment = |container: &ContainerReport, claim: &str| {
            let mut claims = container.claimed.iter().filter(|own| own.claim == claim);
            claims.next().map(|own| own.alignment)
        };
        let is_worse = |now: &ContainerReport| {
            let was = before.iter().find(|was| was.name == now.name);
            let had_cpus = was.is_some_and(|was| was.exclusive_cpus.is_some());
            let loses_cpus = had_cpus && now.exclusive_cpus.is_none();
            let is_off = now.claimed.iter().any(|claim| {
                let was = was.and_then(|was| alignment(was, &claim.claim));
                let is_aligned = claim.alignment == Alignment::Aligned;
                (was == Some(Alignment::Aligned) && !is_aligned)
                    || (claim.alignment == Alignment::Elsewhere && was != Some(Alignment::Elsewhere))
            });
            is_off || (loses_cpus && !(lost == Lost::OfOwn && is_own(now)))
        };
        let own = containers.iter().find(|container| is_own(container));
        own.and_then(|own| alignment(own, &self.claim.claim)) == Some(Alignment::Aligned)
            && !containers.iter().any(is_worse)
    }

    /// The devices of the claim by request, with the slices' word on them.
    fn devices(&self) -> BTreeMap<RequestName, Vec<(&ResourceSlice, &Device)>> {
        let mut devices: BTreeMap<RequestName, Vec<_>> = BTreeMap::new();
        let Some(ledger) = self.claims.ledger() else { return devices };
        let listed = ledger.devices();
        for device in devices_of(self.decided, &self.claim.claim) {
            let found = listed.iter().find(|(slice, own)| {
                slice.driver == *device.driver
                    && slice.pool.name == *device.pool
                    && own.name == *device.device
            });
            devices.entry(request_of(device).into()).or_default().extend(found);
        }
        devices
    }

    /// A constraint on each attribute that says where a device is, for the requests whose devices have it.
    fn constraints(&self) -> Vec<ClaimChange> {
        let devices = self.devices();
        let places = [Place::NumaNode, Place::PcieRoot];
        let attributes =
            places.into_iter().flat_map(|place| PLACES.iter().filter(move |row| row.place == place));
        let changes = attributes.filter_map(|row| {
            let with = devices.iter().filter(|(_, devices)| {
                devices.iter().all(|(slice, device)| device.attribute(&slice.driver, row.name).is_some())
            });
            let with: Vec<(&RequestName, usize)> =
                with.map(|(request, devices)| (request, devices.len())).collect();
            let requests = if with.len() == devices.len() {
                Vec::new()
            } else {
                with.iter().map(|(request, _)| (*request).clone()).collect()
            };
            let is_of_several = with.iter().map(|(_, count)| count).sum::<usize>() > 1;
            let (claim, attribute) = (self.claim.claim.clone(), row.name.into());
            is_of_several.then_some(ClaimChange::Match { claim, attribute, requests })
        });
        changes.collect()
    }

    /// A selector for each NUMA node that is published of the container's CPUs and memory, in the requests whose devices lie elsewhere.
    fn selectors(&self) -> Vec<ClaimChange> {
        let ContainerClaim { cpu_nodes, memory_nodes, elsewhere, claim, .. } = self.claim;
        let is_on = |nodes: &NodeIds, node: NodeId| nodes.iter().any(|own| own == node);
        let is_own = |place: &&DevicePlace| {
            let DevicePlace { node, reported, .. } = **place;
            cpu_nodes.iter().all(|own| is_on(own, node))
                && memory_nodes.iter().all(|own| is_on(own, node) || is_on(own, reported))
        };
        // Devices of a node can publish one of memory alone.
        let own = self.claims.places().known().filter(is_own);
        let own: BTreeSet<i64> = own.map(|place| place.reported.0).collect();
        let is_elsewhere = |name: &String| elsewhere.iter().any(|devices| devices.devices.contains(name));
        // The requests by the attribute that says where their devices are.
        let mut by_attribute: BTreeMap<&str, Vec<RequestName>> = BTreeMap::new();
        for device in devices_of(self.decided, claim).filter(|device| is_elsewhere(&device.device)) {
            let request = request_of(device);
            let Some(KnownBy::Attribute(attribute)) = device.known_by else {
                return Vec::new();
            };
            let requests = by_attribute.entry(attribute).or_default();
            if !requests.iter().any(|known| known.as_str() == request) {
                requests.push(request.into());
            }
        }
        let [(attribute, requests)] = &by_attribute.into_iter().collect::<Vec<_>>()[..] else {
            return Vec::new();
        };
        let change = |value| ClaimChange::Select {
            claim: claim.clone(),
            requests: requests.clone(),
            attribute: QualifiedName::from(*attribute),
            value,
        };
        own.into_iter().map(change).collect()
    }

    /// The CPU driver in the place of the CPU manager, with the claim's devices on one NUMA node.
    fn cpu_driver(&mut self) -> Option<ClaimRemedy> {
        let containers = self.as_is.containers();
        let container = containers.iter().find(|container| container.name == *self.container)?;
        let count = i64::try_from(container.exclusive_cpus.as_ref()?.len()).ok()?;
        let name = self.container.as_str();
        let mut devices = self.decided.claims.iter().flat_map(|claim| claim.devices_of(name));
        if devices.any(ClaimedDevice::is_cpu) {
            // It has such CPUs already.
            let decided = self.decided;
            let memory = self.memory_by_driver(decided)?;
            return Some(ClaimRemedy::CpuDriver { change: None, memory, others: self.others_with_cpus() });
        }
        let mut own = self.decided.claims.iter().filter(|claim| claim.name == self.claim.claim);
        if own.next()?.containers != [name] {
            return None;
        }
        for change in self.cpu_requests(count) {
            let Some(decided) = self.claims.decide_changed(self.pod.whole, &change) else { continue };
            // The devices of a class can be of several drivers.
            if !self.is_of_cpus(&decided, &change) {
                continue;
            }
            if let Some(memory) = self.memory_by_driver(&decided) {
                let others = self.others_with_cpus();
                return Some(ClaimRemedy::CpuDriver { change: Some(change), memory, others });
            }
        }
        None
    }

    /// What becomes of the memory manager where the claim is aligned with these devices and without the CPU manager; `None`: it is not.
    fn memory_by_driver(&mut self, decided: &DecidedClaims) -> Option<BoundMemory> {
        [BoundMemory::AsConfigured, BoundMemory::None].into_iter().find(|memory| {
            let rules = OtherRules {
                cpu_policy: Some("none".to_owned()),
                memory_policy: (*memory == BoundMemory::None).then(|| "None".to_owned()),
                ..OtherRules::default()
            };
            self.containers_by(rules, decided).is_some_and(|own| self.is_aligned(&own, Lost::OfOwn))
        })
    }

    /// How many containers of other pods on the node have exclusive CPUs.
    fn others_with_cpus(&self) -> usize {
        let PodOnNode { rest, before, .. } = self.pod;
        let held = before.cpus().into_iter().flat_map(cpu_manager::Holdings::iter);
        held.filter(|(pod, _, _)| **pod != rest.uid).count()
    }

    /// Whether the request that `change` adds has devices of the CPU driver alone.
    fn is_of_cpus(&self, decided: &DecidedClaims, change: &ClaimChange) -> bool {
        let ClaimChange::Cpus { request: DeviceRequest { name, .. }, .. } = change else { return false };
        let own = devices_of(decided, &self.claim.claim).filter(|device| *name == *request_of(device));
        let drivers: BTreeSet<&str> = own.map(|device| device.driver.as_str()).collect();
        drivers.into_iter().eq([CPU_DRIVER])
    }

    /// A request for so many CPUs of each class, by each attribute that says where a CPU of the driver is.
    fn cpu_requests(&self, count: i64) -> Vec<ClaimChange> {
        let Some(ledger) = self.claims.ledger() else { return Vec::new() };
        let listed = ledger.devices();
        let of_driver = || listed.iter().filter(|(slice, _)| slice.driver == *CPU_DRIVER);
        let Some((_, cpu)) = of_driver().next() else { return Vec::new() };
        let capacity = cpu.is_shareable().then(|| {
            let amount = Quantity::from_units(count, Format::DecimalSi);
            BTreeMap::from([(QualifiedName::from(CPU_CAPACITY), amount)])
        });
        let mode = AllocationMode::ExactCount(if capacity.is_some() { 1 } else { count });
        let devices = self.devices();
        let mut name = "cpus".to_owned();
        while devices.contains_key(name.as_str()) {
            name.push_str("-1");
        }
        // A device without the attribute matches nothing.
        let is_published = |row: &&PlaceAttribute| {
            of_driver().any(|(slice, device)| device.attribute(&slice.driver, row.name).is_some())
        };
        let attributes = PLACES.iter().filter(|row| row.place == Place::NumaNode).filter(is_published);
        let attributes: Vec<_> = attributes.collect();
        let changes = ledger.classes().iter().flat_map(|class| {
            let exactly = RequestedDevices {
                class: class.metadata.name.as_str().into(),
                mode: mode.clone(),
                capacity: capacity.clone(),
                ..RequestedDevices::default()
            };
            let request = DeviceRequest {
                name: name.as_str().into(),
                exactly: Some(exactly),
                ..DeviceRequest::default()
            };
            attributes.iter().map(move |row| ClaimChange::Cpus {
                claim: self.claim.claim.clone(),
                request: request.clone(),
                attribute: row.name.into(),
            })
        });
        changes.collect()
    }

    /// Another policy and another scope, or where neither alone aligns both.
    fn rules(&mut self) -> Vec<ClaimRemedy> {
        // Policy none aligns nothing: what it gives is by chance.
        const STRICTEST: [KubeletPolicy; 3] =
            [KubeletPolicy::SingleNumaNode, KubeletPolicy::Restricted, KubeletPolicy::BestEffort];
        let own = self.tried.node.node.rules();
        let other_scope = match own.scope {
            Scope::Container => Scope::Pod,
            Scope::Pod => Scope::Container,
        };
        let others = || STRICTEST.into_iter().filter(|policy| *policy != own.policy);
        let mut policies = others().map(|policy| (Some(policy), None));
        let policy = policies.find(|(policy, scope)| self.aligns_by(*policy, *scope));
        let has_scope = own.policy != KubeletPolicy::None;
        let scope =
            (has_scope && self.aligns_by(None, Some(other_scope))).then_some((None, Some(other_scope)));
        let mut found: Vec<_> = policy.into_iter().chain(scope).collect();
        if found.is_empty() {
            let mut both = others().map(|policy| (Some(policy), Some(other_scope)));
            found.extend(both.find(|(policy, scope)| self.aligns_by(*policy, *scope)));
        }
        found.into_iter().map(|(policy, scope)| ClaimRemedy::Rules { policy, scope }).collect()
    }

    fn aligns_by(&mut self, policy: Option<KubeletPolicy>, scope: Option<Scope>) -> bool {
        let rules = OtherRules {
            policy: policy.map(|policy| policy.name().to_owned()),
            scope: scope.map(|scope| scope.name().to_owned()),
            ..OtherRules::default()
        };
        let decided = self.decided;
        self.containers_by(rules, decided).is_some_and(|own| self.is_aligned(&own, Lost::None))
    }

    /// What the containers are given by other rules beside the same pods; `None`: the kubelet does not start so, or does not admit
    /// the pod.
    fn containers_by(&mut self, rules: OtherRules, claims: &DecidedClaims) -> Option<Vec<ContainerReport>> {
        let PodOnNode { rest: pod, before, .. } = self.pod;
        let pod = &with_places(pod, claims.places());
        let TriedChanges { node, others, .. } = &mut *self.tried;
        let other = others.entry(rules).or_insert_with_key(|rules| node.by(rules).ok()).as_ref()?;
        let ledger = node.restarted_as(other, before).ok()?;
        if other.fate(&ledger, pod, &Replies::default()).is_some() {
            return None;
        }
        let mut series = Series::new(&other.node, ledger, Detail::default(), Tries(0));
        let decided = series.decide(pod, &Replies::default());
        let Outcome::Admitted(placement) = &decided.outcome else { return None };
        let facts = Facts {
            node: &other.node,
            before: &decided.before,
            after: series.ledger(),
            pod,
            trace: &decided.trace,
            moved: &decided.moved,
            advice: ADVICE,
        };
        Some(Report::admitted(&facts, placement).with_claims(claims.clone()).containers().to_vec())
    }
}

/// The devices of the claim that the pod calls so.
fn devices_of<'d>(decided: &'d DecidedClaims, claim: &'d str) -> impl Iterator<Item = &'d ClaimedDevice> {
    decided.claims.iter().filter(move |own| own.name == claim).flat_map(|own| &own.devices)
}

/// The request that a device serves, without the alternative.
fn request_of(device: &ClaimedDevice) -> &str {
    device.request.split_once('/').map_or(device.request.as_str(), |(request, _)| request)
}
