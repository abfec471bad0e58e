//! The claims of one machine: what its pods hold, and whether further pods get devices there.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use admission_report::{DecidedClaims, Unschedulable};
use claim_allocator::{Cost, Timeout};
use claim_explanation::{Asked, DevicePlaces, Limits, explain};
use cpuset::CpuSet;
use device_manager::{DeviceId, Inventory};
use dra_model::{DeviceResult, Features, Node as ClusterNode, ResourceClaim};
use pod_claims::{ClaimLedger, ClaimsDecision, ClusterObjects, Outcome};
use pod_spec::{Pod, PodUid, ResourceName};
use topology_admission::Node;
use topology_model::KubeletView;

use super::cpu_driver::{CpuDriver, PrepareError};
use super::published::{NODE, Published};
use super::{Claiming, Claims, CpuRequests};

/// What drivers offer on one kind of machine.
#[derive(Clone, Debug)]
pub(crate) struct HostClaims<'a> {
    claims: &'a Claims,
    /// The node whose CPU manager says how many exclusive CPUs a container asks for.
    counts: &'a Node,
    published: Published,
    places: DevicePlaces,
    driver: Option<CpuDriver>,
}

impl<'a> HostClaims<'a> {
    pub(crate) fn new(
        claims: &'a Claims,
        counts: &'a Node,
        inventory: &Inventory,
        view: &KubeletView,
        driver: Option<CpuDriver>,
    ) -> Self {
        let published = Published::new(inventory, &claims.resources, driver.as_ref());
        let places = DevicePlaces::of(&published.slices, &this_node(), Features::DEFAULT, view, None);
        Self { claims, counts, published, places, driver }
    }

    /// A pod as it claims its devices.
    pub(crate) fn claiming(&self, pod: &Pod) -> Claiming {
        let requests = self
            .counts
            .cpus()
            .zip(self.driver.as_ref())
            .map(|(counts, driver)| CpuRequests { counts, driver });
        Claiming::new(pod, self.claims, &self.published, requests.as_ref())
    }

    /// A machine on which nothing runs, for pods of these kinds.
    pub(crate) fn site(&self, kinds: &[Claiming]) -> ClaimSite {
        let objects = ClusterObjects {
            slices: self.published.slices.clone(),
            classes: self.published.classes.clone(),
            templates: kinds.iter().flat_map(|kind| kind.templates.iter().cloned()).collect(),
            ..ClusterObjects::default()
        };
        ClaimSite {
            ledger: ClaimLedger::new(objects, this_node(), Features::DEFAULT, BTreeMap::new()),
            held: BTreeMap::new(),
            cpus: CpuSet::new(),
            taken: BTreeMap::new(),
            answers: alloc::vec![None; kinds.len()],
        }
    }
}

fn this_node() -> ClusterNode {
    ClusterNode { name: NODE.into(), ..ClusterNode::default() }
}

/// One machine.
pub(crate) struct ClaimSite {
    ledger: ClaimLedger,
    held: BTreeMap<PodUid, Held>,
    /// CPUs that claims have, as the CPU driver counts them.
    cpus: CpuSet,
    /// Devices that claims have, as their plugins call them.
    taken: BTreeMap<ResourceName, BTreeSet<DeviceId>>,
    /// By kind of pod; `None`: not asked since the last change.
    answers: Vec<Option<Answer>>,
}

/// Whether a pod gets devices on a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Answer {
    /// `None`: our search was cut.
    pub(crate) fits: Option<bool>,
    /// What kube-scheduler's search costs; `None`: it does not search.
    pub(crate) cost: Option<Cost>,
}

impl Answer {
    /// Whether kube-scheduler ends the search before its answer.
    pub(crate) fn times_out(self) -> bool {
        self.cost.is_some_and(|cost| cost.timeout() == Timeout::Will)
    }
}

/// What a pod has by claims.
pub(crate) struct Held {
    decision: ClaimsDecision,
    /// The CPUs of the CPU driver.
    pub(crate) cpus: CpuSet,
    /// The other devices, as their plugins call them.
    pub(crate) devices: Vec<(ResourceName, DeviceId)>,
}

impl ClaimSite {
    /// Whether a pod of this kind gets devices.
    pub(crate) fn answer(&mut self, kind: usize, pod: &Pod) -> Answer {
        if let Some(known) = self.answers.get(kind).copied().flatten() {
            return known;
        }
        let answer = match self.ledger.decide(pod) {
            None => Answer { fits: Some(true), cost: None },
            Some(decision) => {
                let fits = (decision.outcome != Outcome::Cut).then(|| decision.is_allocated());
                Answer { fits, cost: decision.cost }
            }
        };
        if let Some(slot) = self.answers.get_mut(kind) {
            *slot = Some(answer);
        }
        answer
    }

    /// The devices of a pod, which does not hold them yet, without the CPUs that the CPU driver gives; `None`: it claims none.
    ///
    /// # Errors
    /// Why kube-scheduler finds none.
    pub(crate) fn decide(
        &mut self,
        host: &HostClaims<'_>,
        pod: &Pod,
    ) -> Result<Option<Held>, WithoutDevices> {
        let Some(decision) = self.ledger.decide(pod) else { return Ok(None) };
        if let Some(why) = Unschedulable::of(&decision, NODE) {
            return Err(WithoutDevices::NotFound(Box::new((decision, why))));
        }
        if !decision.is_allocated() {
            return Err(WithoutDevices::NotDecided);
        }
        let own =
            results(&decision).filter_map(|result| host.published.plugin_device(&result.device).cloned());
        Ok(Some(Held { devices: own.collect(), cpus: CpuSet::new(), decision }))
    }

    /// Has the CPU driver prepare the claims of a pod that the kubelet has admitted.
    ///
    /// # Errors
    /// It cannot.
    pub(crate) fn prepare(&self, host: &HostClaims<'_>, held: &mut Held) -> Result<(), PrepareError> {
        let Some(driver) = &host.driver else { return Ok(()) };
        let mut others = self.cpus.clone();
        for claim in &held.decision.claims {
            let results = claim.claim.status.allocation.iter().flat_map(|allocation| &allocation.results);
            let results: Vec<DeviceResult> = results.cloned().collect();
            let given = driver.prepare(&others, &results)?;
            others |= &given;
            held.cpus |= &given;
        }
        Ok(())
    }

    /// The reason of [`WithoutDevices::NotFound`] in words.
    pub(crate) fn explain(&self, decision: &ClaimsDecision, why: Unschedulable) -> String {
        if !why.is_of_search() {
            return why.message;
        }
        let (names, claims): (Vec<String>, Vec<ResourceClaim>) =
            decision.searched().map(|(name, claim)| (String::from(name), claim)).unzip();
        let question = self.ledger.question(&claims);
        let asked = Asked { question: &question, names: &names };
        why.explained(explain(&asked, Limits::default())).message
    }

    /// Where the devices are that a pod has.
    pub(crate) fn located(host: &HostClaims<'_>, pod: &Pod, held: &Held) -> DecidedClaims {
        DecidedClaims::of(pod, &held.decision, Features::DEFAULT).located(&host.places)
    }

    pub(crate) fn hold(&mut self, pod: &Pod, held: Held) {
        self.ledger.hold(pod, &held.decision);
        self.answers.fill(None);
        self.cpus |= &held.cpus;
        for (resource, id) in &held.devices {
            self.taken.entry(resource.clone()).or_default().insert(id.clone());
        }
        self.held.insert(pod.uid.clone(), held);
    }

    pub(crate) fn release(&mut self, pod: &PodUid) {
        let Some(held) = self.held.remove(pod) else { return };
        self.ledger.release(pod, &held.decision);
        self.answers.fill(None);
        // The driver does not know that a CPU can have several holders: with the first of them it is free.
        self.cpus -= &held.cpus;
        for (resource, id) in &held.devices {
            if let Some(taken) = self.taken.get_mut(resource) {
                taken.remove(id);
            }
        }
    }

    pub(crate) const fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    pub(crate) fn is_taken(&self, resource: &ResourceName, id: &DeviceId) -> bool {
        self.taken.get(resource).is_some_and(|taken| taken.contains(id))
    }
}

/// Why a pod that claims devices does not run on a machine.
pub(crate) enum WithoutDevices {
    /// kube-scheduler finds none there.
    NotFound(Box<(ClaimsDecision, Unschedulable)>),
    /// Our search took too many steps.
    NotDecided,
}

fn results(decision: &ClaimsDecision) -> impl Iterator<Item = &DeviceResult> {
    decision
        .claims
        .iter()
        .flat_map(|claim| claim.claim.status.allocation.iter().flat_map(|allocation| &allocation.results))
}
