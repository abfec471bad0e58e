//! The claims of a cluster with their devices, and decisions on further pods beside them.

mod pools;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use claim_allocator::{Allocator, Decision, Expressions, Question, WorkLimit};
use dra_model::{
    Consumer, Device, DeviceClass, DeviceId, Feature, Features, Implementation, Node, ResourceClaim,
    ResourceSlice, node_devices,
};
use pod_spec::{Pod, PodUid};

use crate::claim::{ClaimState, PodClaim};
use crate::decision::{ClaimsDecision, Missing, Outcome};
use crate::extended::{self, Served};
use crate::lookup::{elsewhere, is_reserved_for, listed, obstacle};
use crate::objects::{ClusterObjects, namespace_of};

/// A cluster's objects, and one node on which pods are decided on one after the other.
pub struct ClaimLedger {
    objects: ClusterObjects,
    /// The slices of `objects` with the taints of `DeviceTaintRule`s.
    slices: Vec<ResourceSlice>,
    node: Node,
    features: Features,
    plugins: BTreeMap<String, i64>,
    expressions: Expressions,
    unusable_pools: Vec<String>,
}

impl ClaimLedger {
    /// For a node whose device plugins offer the amounts `plugins` of extended resources.
    #[must_use]
    pub fn new(
        objects: ClusterObjects,
        node: Node,
        features: Features,
        plugins: BTreeMap<String, i64>,
    ) -> Self {
        let has_taints = features.has(Feature::DeviceTaints);
        let slices = if has_taints { objects.tainted_slices() } else { objects.slices.clone() };
        let implementation = Implementation::of(features);
        let unusable_pools = pools::unusable(&slices, &node, features, implementation);
        let expressions = Expressions::new();
        Self { objects, slices, node, features, plugins, expressions, unusable_pools }
    }

    /// The same with expressions that another ledger has compiled.
    #[must_use]
    pub fn with_expressions(self, expressions: Expressions) -> Self {
        Self { expressions, ..self }
    }

    /// The expressions that were compiled for its decisions.
    #[must_use]
    pub fn into_expressions(self) -> Expressions {
        self.expressions
    }

    /// The feature gates of its decisions.
    #[must_use]
    pub const fn features(&self) -> Features {
        self.features
    }

    /// Whether a pod has claims that can be decided on.
    #[must_use]
    pub fn is_about(&self, pod: &Pod) -> bool {
        self.missing().is_none() && (!pod.constraints.claims.is_empty() || self.served(pod).is_some())
    }

    /// The slices, with the taints of `DeviceTaintRule`s.
    #[must_use]
    pub fn slices(&self) -> &[ResourceSlice] {
        &self.slices
    }

    /// The devices that slices have for the node, each with its slice.
    #[must_use]
    pub fn devices(&self) -> Vec<(&ResourceSlice, &Device)> {
        node_devices(&self.slices, &self.node, self.features)
    }

    /// The classes.
    #[must_use]
    pub fn classes(&self) -> &[DeviceClass] {
        &self.objects.classes
    }

    /// The node.
    #[must_use]
    pub const fn node(&self) -> &Node {
        &self.node
    }

    /// Decides on the claims of a pod; `None`: it has none.
    #[must_use]
    pub fn decide(&mut self, pod: &Pod) -> Option<ClaimsDecision> {
        self.decide_changed(pod, |_| {})
    }

    /// The same as if its claims were as `change` makes them before the search.
    #[must_use]
    pub fn decide_changed(
        &mut self,
        pod: &Pod,
        change: impl FnOnce(&mut [PodClaim]),
    ) -> Option<ClaimsDecision> {
        let served = self.served(pod);
        if pod.constraints.claims.is_empty() && served.is_none() {
            return None;
        }
        let mut claims = match listed(pod, &self.objects) {
            Ok(claims) => claims,
            // Without any claims and slices in the input, a claim that was not found is unknown, not missing.
            Err(_) if self.missing().is_some() && self.objects.claims.is_empty() => {
                return Some(ClaimsDecision::of(Vec::new(), self.unknown()));
            }
            Err(obstacle) => return Some(ClaimsDecision::of(Vec::new(), Outcome::Stopped(obstacle))),
        };
        let mut of_resources = (Vec::new(), Vec::new());
        if let Some(Served { claim, resources, mappings }) = served {
            claims.push(claim);
            of_resources = (resources, mappings);
        }
        change(&mut claims);
        let mut decision = self.decide_claims(pod, claims);
        (decision.served_resources, decision.mappings) = of_resources;
        decision.unlisted_devices = self.unlisted_devices(&decision.claims);
        Some(decision)
    }

    /// Reserves the devices of an allocated decision, for decisions on later pods.
    pub fn hold(&mut self, pod: &Pod, decision: &ClaimsDecision) {
        if !decision.is_allocated() {
            return;
        }
        for decided in &decision.claims {
            let mut claim = decided.claim.clone();
            if !is_reserved_for(&claim, pod) {
                let (name, uid) = (pod.name.clone(), String::from(pod.uid.as_str()));
                claim.status.reserved_for.push(Consumer {
                    resource: "pods".into(),
                    name,
                    uid,
                    ..Consumer::default()
                });
            }
            let is_same = |own: &&mut ResourceClaim| {
                own.metadata.name == claim.metadata.name
                    && namespace_of(&own.metadata) == namespace_of(&claim.metadata)
            };
            match self.objects.claims.iter_mut().find(is_same) {
                Some(own) => *own = claim,
                None => self.objects.claims.push(claim),
            }
        }
    }

    /// Takes back what [`hold`](Self::hold) reserved for the pod of this UID by the same decision. A claim that was made for the pod
    /// is gone; any other loses its devices once no pod has it reserved, as kube-controller-manager deallocates it.
    pub fn release(&mut self, pod: &PodUid, decision: &ClaimsDecision) {
        for decided in &decision.claims {
            let is_same = |own: &ResourceClaim| {
                own.metadata.name == decided.claim.metadata.name
                    && namespace_of(&own.metadata) == namespace_of(&decided.claim.metadata)
            };
            let Some(at) = self.objects.claims.iter().position(is_same) else { continue };
            match decided.state {
                ClaimState::FromTemplate(_) | ClaimState::NotMadeYet(_) | ClaimState::ExtendedResources => {
                    self.objects.claims.remove(at);
                }
                ClaimState::Allocated | ClaimState::Pending => {
                    let status = &mut self.objects.claims[at].status;
                    status.reserved_for.retain(|user| user.uid != pod.as_str());
                    if status.reserved_for.is_empty() {
                        status.allocation = None;
                    }
                }
            }
        }
    }

    fn served(&self, pod: &Pod) -> Option<Served> {
        let is_on = self.features.has(Feature::ExtendedResource);
        is_on.then(|| extended::of(pod, &self.objects, &self.plugins)).flatten()
    }

    /// The objects without which no devices can be searched for.
    fn missing(&self) -> Option<Missing> {
        if self.objects.slices.is_empty() {
            Some(Missing::Slices)
        } else {
            self.objects.classes.is_empty().then_some(Missing::Classes)
        }
    }

    fn unknown(&self) -> Outcome {
        self.missing().map_or(Outcome::Cut, Outcome::Unknown)
    }

    fn decide_claims(&mut self, pod: &Pod, claims: Vec<PodClaim>) -> ClaimsDecision {
        let needs_devices = claims.iter().any(|claim| claim.state != ClaimState::Allocated);
        if let Some(missing) = self.missing().filter(|_| needs_devices) {
            return ClaimsDecision::of(claims, Outcome::Unknown(missing));
        }
        if let Some(obstacle) = obstacle(&claims, pod, &self.objects) {
            return ClaimsDecision::of(claims, Outcome::Stopped(obstacle));
        }
        // kube-scheduler searches before it checks the nodes of allocated claims.
        let found =
            if needs_devices { self.search(claims) } else { ClaimsDecision::of(claims, Outcome::Allocated) };
        match found.claims.iter().find_map(|claim| elsewhere(claim, &self.node)) {
            Some(obstacle) if found.is_allocated() => {
                ClaimsDecision { outcome: Outcome::Stopped(obstacle), ..found }
            }
            _ => found,
        }
    }

    /// The question about these claims of a pod, which have no devices yet, on the node.
    #[must_use]
    pub fn question<'a>(&'a self, claims: &'a [ResourceClaim]) -> Question<'a> {
        Question {
            node: &self.node,
            declared_features: &[],
            features: self.features,
            implementation: None,
            classes: &self.objects.classes,
            slices: &self.slices,
            allocated: &self.objects.claims,
            claims,
        }
    }

    fn search(&mut self, mut claims: Vec<PodClaim>) -> ClaimsDecision {
        let pending = claims.iter().filter(|claim| claim.state != ClaimState::Allocated);
        let pending: Vec<ResourceClaim> = pending.map(|claim| claim.claim.clone()).collect();
        let mut expressions = core::mem::take(&mut self.expressions);
        let question = self.question(&pending);
        let limit = WorkLimit::default();
        let (decision, cost) = match Allocator::with_expressions(&question, &mut expressions) {
            Ok(allocator) => (allocator.decide(limit), allocator.cost(limit)),
            Err(error) => (Decision::Error(error), None),
        };
        self.expressions = expressions;
        let outcome = match decision {
            Decision::Fits(allocations) => {
                let pending = claims.iter_mut().filter(|claim| claim.state != ClaimState::Allocated);
                for (claim, allocation) in pending.zip(allocations) {
                    claim.claim.status.allocation = Some(allocation);
                }
                Outcome::Allocated
            }
            Decision::DoesNotFit => Outcome::DoesNotFit,
            Decision::Error(error) => Outcome::Error(error),
            Decision::Cut => Outcome::Cut,
        };
        let unusable_pools = self.unusable_pools.clone();
        ClaimsDecision { cost, unusable_pools, ..ClaimsDecision::of(claims, outcome) }
    }

    /// Devices of allocated claims that no slice lists.
    fn unlisted_devices(&self, claims: &[PodClaim]) -> Vec<(String, DeviceId)> {
        if self.objects.slices.is_empty() {
            return Vec::new();
        }
        let allocated = claims.iter().filter(|claim| claim.state == ClaimState::Allocated);
        let results = allocated.flat_map(|claim| {
            let results = claim.claim.status.allocation.iter().flat_map(|allocation| &allocation.results);
            results.map(|result| (claim.name.clone(), result.device.clone()))
        });
        results.filter(|(_, device)| !self.objects.lists(device)).collect()
    }
}
