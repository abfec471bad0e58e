//! The claims of pods on a node: objects from manifests, and decisions before those of the managers.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use admission_report::{DecidedClaims, Report, Unschedulable};
use claim_advice::ForbiddenPair;
use claim_explanation::DevicePlaces;
use dra_model::{Feature, Features, Node, ResourceSlice};
use kubelet_release::Release;
use pod_claims::{
    ClaimChange, ClaimLedger, ClaimsDecision, ClusterObjects, DecidedAs, Missing, Outcome, without_resources,
};
use pod_spec::{ClaimObject, Pod, PodUid};
use thiserror::Error;

use crate::explained_claims::ExplainedClaims;
use crate::node::LoadedNode;

/// A claim can be reserved for so many pods.
const MOST_USERS: usize = 256;

/// A value of `--feature-gates` that kube-scheduler does not take, or that changes nothing about claims.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BadFeatureGates {
    /// No assignment.
    #[error("expected NAME=true or NAME=false, found {0:?}")]
    NoAssignment(String),
    /// A value that is neither.
    #[error("{name}: expected true or false, found {found:?}")]
    Value {
        /// The gate.
        name: String,
        /// What stands behind its `=`.
        found: String,
    },
    /// A gate that has nothing to do with claims.
    #[error("{name:?} is no gate that decides on claims, expected one of {}", names())]
    Unknown {
        /// As it was written.
        name: String,
    },
    /// A gate that is on for good.
    #[error("cannot set feature gate DRAPrioritizedList to false, feature is locked to true")]
    Locked,
}

fn names() -> String {
    Feature::ALL.map(Feature::name).join(", ")
}

/// kube-scheduler's gates with these set: `NAME=true` or `NAME=false` each.
///
/// # Errors
/// [`BadFeatureGates`]
pub fn scheduler_features<'a>(gates: impl IntoIterator<Item = &'a str>) -> Result<Features, BadFeatureGates> {
    let mut features = Features::DEFAULT;
    for gate in gates {
        let no_assignment = || BadFeatureGates::NoAssignment(gate.to_owned());
        let (name, value) = gate.split_once('=').ok_or_else(no_assignment)?;
        let unknown = || BadFeatureGates::Unknown { name: name.to_owned() };
        let feature = Feature::ALL.into_iter().find(|feature| feature.name() == name).ok_or_else(unknown)?;
        features = match value {
            "true" => features.and(&[feature]),
            "false" if feature == Feature::PrioritizedList => return Err(BadFeatureGates::Locked),
            "false" => features.without(feature),
            found => return Err(BadFeatureGates::Value { name: name.to_owned(), found: found.to_owned() }),
        };
    }
    Ok(features)
}

/// Decides on the claims of pods that come to a node one after the other.
pub struct NodeClaims {
    ledger: Result<ClaimLedger, String>,
    places: DevicePlaces,
    node: String,
    features: Features,
    notes: Vec<String>,
    /// What excludes each other on the node.
    pairs: Vec<ForbiddenPair>,
    /// The pods that name a `ResourceClaim`, by its namespace and name.
    users: BTreeMap<(String, String), Vec<(PodUid, String)>>,
    /// The last explanation: pods of one workload are refused for one reason.
    explained: ExplainedClaims,
}

/// What became of a pod's claims.
pub(crate) enum PodClaims {
    /// It has none.
    None,
    /// Nothing is known that decides on them.
    Unknown(Missing),
    /// They have devices.
    Decided(ClaimsDecision, DecidedClaims),
    /// They are not decided, for this reason.
    Undecided(String),
    /// They keep kube-scheduler from placing it here.
    Unschedulable(DecidedClaims, Unschedulable),
}

impl NodeClaims {
    /// With the objects of the cluster that `node` belongs to, which replace those of the same name in its node file. Extended
    /// resources that its device plugins offer stay theirs.
    #[must_use]
    pub fn on(node: &LoadedNode, given: ClusterObjects, features: Features) -> Self {
        let mut notes = Vec::new();
        let mut objects = node.packed.as_ref().map(|packed| packed.objects.clone()).unwrap_or_default();
        objects.extend(given);
        let found = match node.node.identity() {
            Some(identity) => Ok(Node { name: identity.name.clone(), labels: identity.labels.clone() }),
            None => named_by(&objects.slices, &mut notes).map_err(|unknown| match unknown {
                UnknownNode::ByLabels(_) => format!("{unknown} (--node FILE has them)"),
                UnknownNode::OfSeveral { .. } => unknown.to_string(),
            }),
        };
        let name = found.as_ref().map(|node| node.name.clone()).unwrap_or_default();
        let resources = node.plugin_resources();
        let resources = resources.iter().map(String::as_str);
        // Which classes there are does not depend on the node.
        let (slices, here) = match &found {
            Ok(here) => (objects.slices.as_slice(), here),
            Err(_) => (&[][..], &Node::default()),
        };
        let cpus = node.cpu_manager();
        let pairs = ForbiddenPair::all(slices, &objects.classes, here, features, cpus, resources);
        let ledger = found.map(|found| ClaimLedger::new(objects, found, features, plugins(node)));
        let places = ledger.as_ref().map(|ledger| {
            let machine = node.machine.as_deref();
            DevicePlaces::of(ledger.slices(), ledger.node(), features, node.view(), machine)
        });
        let places = places.unwrap_or_default();
        let (users, explained) = (BTreeMap::new(), ExplainedClaims::default());
        Self { ledger, places, node: name, features, notes, pairs, users, explained }
    }

    /// The same beside pods that come to the cluster, of which several can share a claim.
    #[must_use]
    pub(crate) fn beside(mut self, pods: &[Pod]) -> Self {
        for pod in pods {
            for object in pod.constraints.claims.iter().filter_map(|claim| claim.object.as_ref()) {
                let ClaimObject::Claim(name) = object else { continue };
                let users = self.users.entry((pod.namespace.clone(), name.clone())).or_default();
                users.push((pod.uid.clone(), format!("{}/{}", pod.namespace, pod.name)));
            }
        }
        self
    }

    /// Whether the CPU driver is one of the two that exclude each other on the node.
    pub(crate) fn excludes_cpu_driver(&self) -> bool {
        self.pairs.iter().any(|pair| matches!(pair, ForbiddenPair::Cpus { .. }))
    }

    /// The claims of a pod as they were decided on.
    fn decided(&self, pod: &Pod, decision: &ClaimsDecision) -> DecidedClaims {
        let mut decided = DecidedClaims::of(pod, decision, self.features).located(&self.places);
        for claim in &pod.constraints.claims {
            let Some(ClaimObject::Claim(name)) = &claim.object else { continue };
            let users = self.users.get(&(pod.namespace.clone(), name.clone()));
            let others = users.into_iter().flatten().filter(|(uid, _)| *uid != pod.uid);
            let own = decided.claims.iter_mut().filter(|own| own.name == claim.name);
            for own in own {
                for (_, other) in others.clone() {
                    if own.shared_with.len() < MOST_USERS && !own.shared_with.contains(other) {
                        own.shared_with.push(other.clone());
                    }
                }
            }
        }
        decided
    }

    /// The ledger of claims; `None`: the node is not known.
    pub(crate) fn ledger(&self) -> Option<&ClaimLedger> {
        self.ledger.as_ref().ok()
    }

    /// Where the devices of the node are.
    pub(crate) const fn places(&self) -> &DevicePlaces {
        &self.places
    }

    /// The claims of a pod as if `change` had been made to them; `None`: then they get no devices, or kube-scheduler runs out of
    /// time.
    pub(crate) fn decide_changed(&mut self, pod: &Pod, change: &ClaimChange) -> Option<DecidedClaims> {
        let ledger = self.ledger.as_mut().ok()?;
        let mut is_made = false;
        let decision = ledger.decide_changed(pod, |claims| is_made = change.make(claims))?;
        let has_devices = is_made && decision.is_allocated() && Unschedulable::of(&decision, "").is_none();
        has_devices.then(|| self.decided(pod, &decision))
    }

    /// What is to be known before the first decision on `pods`, as text to be shown: what excludes each other on the node, and more
    /// if some of them have claims.
    pub fn notes(&self, node: &LoadedNode, pods: &[Pod]) -> Vec<String> {
        let pairs = self.pairs.iter().map(|pair| format!("{pair}; avoided by {}", pair.remedy()));
        let mut notes: Vec<String> = pairs.collect();
        if let Err(why) = &self.ledger {
            notes.push(format!("slices are not looked at: {why}"));
        }
        let has_decision =
            self.ledger.as_ref().is_ok_and(|ledger| pods.iter().any(|pod| ledger.is_about(pod)));
        if !has_decision {
            return notes;
        }
        let release = node.node.kubelet_rules().version.release();
        let other = (release != Release::V1_37).then(|| {
            format!(
                "claims are decided as {}; the rules of the node are those of kubelet {release}",
                DecidedAs(self.features)
            )
        });
        notes.extend(other.into_iter().chain(self.notes.iter().cloned()));
        notes
    }

    pub(crate) fn decide(&mut self, pod: &Pod) -> PodClaims {
        let ledger = match &mut self.ledger {
            Ok(ledger) => ledger,
            Err(_) if pod.constraints.claims.is_empty() => return PodClaims::None,
            Err(why) => return PodClaims::Undecided(why.clone()),
        };
        let Some(decision) = ledger.decide(pod) else { return PodClaims::None };
        match &decision.outcome {
            Outcome::Unknown(missing) => return PodClaims::Unknown(*missing),
            Outcome::Cut => {
                let why = "the search for devices took more than a million steps".to_owned();
                return PodClaims::Undecided(why);
            }
            _ => {}
        }
        let decided = self.decided(pod, &decision);
        let Ok(ledger) = &mut self.ledger else { return PodClaims::None };
        match Unschedulable::of(&decision, &self.node) {
            Some(why) if why.is_of_search() => {
                PodClaims::Unschedulable(decided, self.explained.explain(ledger, &decision, why))
            }
            Some(why) => PodClaims::Unschedulable(decided, why),
            None => PodClaims::Decided(decision, decided),
        }
    }

    /// How many copies of a pod get devices one after the other, at most so many. Each has its claims made of templates anew.
    #[must_use]
    pub fn count(mut self, pod: &Pod, most: usize) -> ClaimCount {
        let decided_as = DecidedAs(self.features).to_string();
        let mut rest = None;
        for fit in 0..most {
            let copy = copy(pod, fit);
            match self.decide(&copy) {
                PodClaims::None | PodClaims::Unknown(_) => return ClaimCount::None,
                PodClaims::Undecided(why) => return ClaimCount::Undecided(why),
                PodClaims::Unschedulable(_, why) => {
                    let rest = rest.unwrap_or_else(|| Box::new(pod.clone()));
                    return ClaimCount::Counted { fit, next: Some(why.to_string()), decided_as, rest };
                }
                decided @ PodClaims::Decided(..) => {
                    rest.get_or_insert_with(|| Box::new(decided.rest_of(pod).into_owned()));
                    self.hold(&copy, &decided);
                }
            }
        }
        let rest = rest.unwrap_or_else(|| Box::new(pod.clone()));
        ClaimCount::Counted { fit: most, next: None, decided_as, rest }
    }

    pub(crate) fn hold(&mut self, pod: &Pod, claims: &PodClaims) {
        if let (Ok(ledger), PodClaims::Decided(decision, _)) = (&mut self.ledger, claims) {
            ledger.hold(pod, decision);
            self.explained = ExplainedClaims::default();
        }
    }
}

/// How many copies of a pod get devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClaimCount {
    /// It has no claims, or nothing is known that decides on them.
    None,
    /// They are not decided, for this reason.
    Undecided(String),
    /// So many do.
    Counted {
        /// How many.
        fit: usize,
        /// Why not one more; `None`: as many as were asked about.
        next: Option<String>,
        /// By which release and gates, as text to be shown.
        decided_as: String,
        /// The pod as the managers see it: without extended resources that its claims serve.
        rest: Box<Pod>,
    },
}

/// One of several pods that are alike, not created yet.
fn copy(pod: &Pod, number: usize) -> Pod {
    let name = format!("{}-{number}", pod.name);
    let uid = PodUid::new(&format!("{}_{name}", pod.namespace));
    let mut copy = Pod { name, uid, created: None, ..pod.clone() };
    for claim in &mut copy.constraints.claims {
        claim.made = None;
    }
    copy
}

impl PodClaims {
    /// The pod as the managers see it: without extended resources that its claims serve.
    pub(crate) fn rest_of<'p>(&self, pod: &'p Pod) -> Cow<'p, Pod> {
        match self {
            Self::Decided(decision, _) if !decision.served_resources.is_empty() => {
                Cow::Owned(without_resources(pod, &decision.served_resources))
            }
            _ => Cow::Borrowed(pod),
        }
    }

    pub(crate) fn add_to(&self, report: Report) -> Report {
        match self {
            Self::Decided(_, decided) => report.with_claims(decided.clone()),
            Self::Undecided(why) => report.with_claims_undecided(why),
            Self::Unknown(missing) => report.with_claims_without(&not_given(*missing)),
            Self::None | Self::Unschedulable(..) => report,
        }
    }
}

/// What is missing, and the options that give it, as the end of a sentence.
fn not_given(missing: Missing) -> String {
    let what = match missing {
        Missing::Slices => "slices",
        Missing::Classes => "device classes",
    };
    format!("no {what} are given: add them with -f FILE or --kubeconfig FILE")
}

/// What device plugins offer of each resource.
fn plugins(node: &LoadedNode) -> BTreeMap<String, i64> {
    let mut plugins = BTreeMap::new();
    for resource in node.inventory.resources() {
        // How many is for the device manager to count; a resource without devices is there all the same.
        plugins.insert(resource.to_string(), 1);
    }
    plugins
}

/// Why slices do not say which node this one is. Displays as the end of a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum UnknownNode {
    /// The slice of this name selects nodes by labels.
    ByLabels(String),
    /// They are those of so many nodes, one of which is called so.
    OfSeveral {
        /// Name of the first.
        first: String,
        /// How many.
        count: usize,
    },
}

impl fmt::Display for UnknownNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByLabels(slice) => {
                write!(f, "ResourceSlice {slice} selects nodes by labels, which are not known")
            }
            Self::OfSeveral { first, count } => write!(
                f,
                "the slices are those of {count} nodes, {first} and others, and the name of this one is not known (--node-name \
                 NAME)"
            ),
        }
    }
}

/// Whether a slice, or a device of it, selects nodes by labels.
pub(crate) fn selects_by_labels(slice: &ResourceSlice) -> bool {
    let devices = slice.devices().iter().map(|device| &device.nodes);
    std::iter::once(&slice.nodes).chain(devices).any(|nodes| nodes.node_selector.is_some())
}

/// The node that slices name, where nothing else does.
pub(crate) fn named_by(slices: &[ResourceSlice], notes: &mut Vec<String>) -> Result<Node, UnknownNode> {
    if let Some(slice) = slices.iter().find(|slice| selects_by_labels(slice)) {
        return Err(UnknownNode::ByLabels(slice.metadata.name.clone()));
    }
    let names: BTreeSet<&str> = slices.iter().filter_map(|slice| slice.nodes.node_name.as_deref()).collect();
    let mut found = names.iter();
    match (found.next(), names.len()) {
        (None, _) => Ok(Node::default()),
        (Some(name), 1) => {
            notes.push(format!("all slices that name a node name {name}, which is taken for this one"));
            Ok(Node { name: (*name).to_owned(), ..Node::default() })
        }
        (Some(first), count) => Err(UnknownNode::OfSeveral { first: (*first).to_owned(), count }),
    }
}
