//! Which devices kube-scheduler will give the claims of a pod on each node, those of its extended resources included that classes serve.
//!
//! An extender is asked after the in-tree filters, and its question does not name the devices. They are those that kube-scheduler's
//! allocator chooses first, which is decided here by the same rules, from the slices, classes, claims, templates and rules for taints that
//! the API server has, and from the labels of nodes where slices select by these. Where a claim cannot be found or gets no devices, and
//! where one of these is not known, the prediction is unknown: it scores nothing and refuses nothing.
//!
//! # What is decided when
//!
//! A prediction depends on the *claims* of a pod (what they request, and which containers use them), on the *devices* of a node with
//! the claims that hold some, and on what its device plugins offer of the extended resources. The changes of devices are counted for
//! each node. Predictions of the last [`SHAPES`] kinds of claims are kept with that count, so that a filter decides each node once for
//! each kind, and after a change only what has changed. Pods without claims cost nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use admission_report::DecidedClaims;
use claim_explanation::DevicePlaces;
use dra_model::{
    AllocationResult, DeviceClass, DeviceTaintRule, DriverName, Features, Node, PoolName, ResourceClaim,
    ResourceClaimTemplate, ResourceSlice,
};
use pod_claims::{ClaimLedger, ClusterObjects, Expressions};
use pod_spec::{ClaimObject, ClaimPlaces, Pod, PodClaim};
use scheduler_extender::topology_admission::Node as KubeletNode;

use crate::claim_kinds::Kind;
use crate::claim_shape::Shape;

/// Predictions of so many kinds of claims are kept.
const SHAPES: usize = 64;

/// On so many nodes the cost of kube-scheduler's search is looked at.
const MOST_SEARCHED: usize = 16;

/// Namespace and name.
pub(crate) type Key = (String, String);

/// The objects, and predictions by them.
#[derive(Default)]
pub(crate) struct DevicePredictions {
    slices: BTreeMap<String, ResourceSlice>,
    classes: BTreeMap<String, DeviceClass>,
    claims: BTreeMap<Key, ResourceClaim>,
    templates: BTreeMap<Key, ResourceClaimTemplate>,
    taint_rules: BTreeMap<String, DeviceTaintRule>,
    /// The labels of each node, by its name.
    labels: BTreeMap<String, BTreeMap<String, String>>,
    /// The slices of each node, by its name.
    of_node: BTreeMap<String, BTreeSet<String>>,
    /// Those that name no node.
    of_no_node: BTreeSet<String>,
    /// The slices of each pool.
    of_pool: BTreeMap<Pool, BTreeSet<String>>,
    /// The claims with devices of each pool.
    holders: BTreeMap<Pool, BTreeSet<Key>>,
    /// How often what decides on a node has changed.
    changes: BTreeMap<String, u64>,
    /// How often what decides on all nodes has.
    changes_of_all: u64,
    /// Which kinds are watched.
    heard: BTreeSet<Kind>,
    /// Those of selectors, compiled once for all nodes.
    expressions: Expressions,
    kept: Vec<Kept>,
    asked: u64,
    /// How often devices were searched for.
    searches: u64,
}

/// A driver's pool.
type Pool = (DriverName, PoolName);

/// Predictions for one kind of claims.
struct Kept {
    shape: Shape,
    asked: u64,
    nodes: BTreeMap<String, Prediction>,
}

/// A prediction for one node.
struct Prediction {
    /// The changes until then.
    version: u64,
    offered: Offered,
    places: Option<Arc<ClaimPlaces>>,
}

/// How many devices of the pod's extended resources the device plugins of a node offer.
type Offered = BTreeMap<String, i64>;

/// A node for which devices are predicted.
pub(crate) struct OnNode<'a> {
    pub(crate) name: &'a str,
    pub(crate) machine: &'a KubeletNode,
    /// How many healthy devices of a resource its device plugins have.
    pub(crate) plugin_devices: &'a dyn Fn(&str) -> i64,
}

/// A kind of claims that predictions are kept for; valid until the next one is asked about.
#[derive(Clone, Copy)]
pub(crate) struct Asked(usize);

impl DevicePredictions {
    /// All objects of the kind are known, and from now on each change.
    pub(crate) fn heard(&mut self, kind: Kind) {
        self.heard.insert(kind);
    }

    /// Objects are there, new or changed.
    pub(crate) fn apply(&mut self, objects: ClusterObjects) {
        let ClusterObjects { slices, classes, claims, templates, taint_rules } = objects;
        for slice in slices {
            self.slice_is_gone(&slice.metadata.name.clone());
            let name = slice.metadata.name.clone();
            if let Some(node) = &slice.nodes.node_name {
                self.of_node.entry(node.clone()).or_default().insert(name.clone());
                self.node_changes(node);
            } else {
                self.of_no_node.insert(name.clone());
                self.changes_of_all += 1;
            }
            let pool = pool_of(&slice);
            self.of_pool.entry(pool.clone()).or_default().insert(name.clone());
            self.slices.insert(name, slice);
            self.pool_changes(&pool);
        }
        for class in classes {
            self.changes_of_all += 1;
            self.classes.insert(class.metadata.name.clone(), class);
        }
        for claim in claims {
            let key = key(&claim.metadata.namespace, &claim.metadata.name);
            let before = self.claims.get(&key).and_then(|claim| claim.status.allocation.clone());
            if before != claim.status.allocation {
                self.release(&key, before.as_ref());
                for pool in pools(claim.status.allocation.as_ref()) {
                    self.holders.entry(pool.clone()).or_default().insert(key.clone());
                    self.pool_changes(&pool);
                }
            }
            self.claims.insert(key, claim);
        }
        for rule in taint_rules {
            self.changes_of_all += 1;
            self.taint_rules.insert(rule.metadata.name.clone(), rule);
        }
        for template in templates {
            self.templates.insert(key(&template.metadata.namespace, &template.metadata.name), template);
        }
    }

    /// An object is gone; claims and templates by namespace and name.
    pub(crate) fn is_gone(&mut self, kind: Kind, namespace: &str, name: &str) {
        match kind {
            Kind::Slices => self.slice_is_gone(name),
            Kind::Classes => {
                self.classes.remove(name);
                self.changes_of_all += 1;
            }
            Kind::Claims => {
                let key = key(namespace, name);
                if let Some(claim) = self.claims.remove(&key) {
                    self.release(&key, claim.status.allocation.as_ref());
                }
            }
            Kind::Templates => drop(self.templates.remove(&key(namespace, name))),
            Kind::TaintRules => {
                self.taint_rules.remove(name);
                self.changes_of_all += 1;
            }
        }
    }

    /// A node has these labels; `None`: it is gone, or its labels are not known any more.
    pub(crate) fn labelled(&mut self, node: &str, labels: Option<BTreeMap<String, String>>) {
        if self.labels.get(node) != labels.as_ref() {
            match labels {
                Some(labels) => drop(self.labels.insert(node.to_owned(), labels)),
                None => drop(self.labels.remove(node)),
            }
            self.node_changes(node);
        }
    }

    /// What is to be predicted for a pod; `None`: it has no claims, or they are not known.
    pub(crate) fn asked(&mut self, pod: &Pod) -> Option<Asked> {
        let shape = self.shape(pod)?;
        self.asked += 1;
        let at = if let Some(at) = self.kept.iter().position(|kept| kept.shape == shape) {
            at
        } else {
            if self.kept.len() >= SHAPES {
                let oldest = self.kept.iter().enumerate().min_by_key(|(_, kept)| kept.asked);
                oldest.map(|(at, _)| at).map(|at| self.kept.swap_remove(at));
                // Selectors of claims that do not come again are not kept for good.
                self.expressions = Expressions::new();
            }
            self.kept.push(Kept { shape, asked: 0, nodes: BTreeMap::new() });
            self.kept.len() - 1
        };
        self.kept[at].asked = self.asked;
        Some(Asked(at))
    }

    /// Where the devices of the pod's claims would be on a node; `None`: that is not known. `asked` is what the pod was asked about with.
    pub(crate) fn places(
        &mut self,
        Asked(at): Asked,
        pod: &Pod,
        node: &OnNode<'_>,
    ) -> Option<Arc<ClaimPlaces>> {
        let version = self.changes_of_all + self.changes.get(node.name).copied().unwrap_or(0);
        let resources = self.kept.get(at)?.shape.resources();
        let offered = resources.map(|resource| (resource.to_owned(), (node.plugin_devices)(resource)));
        let offered: Offered = offered.collect();
        if let Some(known) = self.kept[at].nodes.get(node.name)
            && known.version == version
            && known.offered == offered
        {
            return known.places.clone();
        }
        self.searches += 1;
        let places = self.predict(pod, node, &offered).map(Arc::new);
        let prediction = Prediction { version, offered, places: places.clone() };
        self.kept[at].nodes.insert(node.name.to_owned(), prediction);
        places
    }

    fn predict(&mut self, pod: &Pod, node: &OnNode<'_>, offered: &Offered) -> Option<ClaimPlaces> {
        let view = &node.machine.origin()?.view;
        let (here, objects) = self.objects(pod, node.name)?;
        let places = DevicePlaces::of(&objects.slices, &here, Features::DEFAULT, view, None);
        let expressions = std::mem::take(&mut self.expressions);
        let ledger = ClaimLedger::new(objects, here, Features::DEFAULT, offered.clone());
        let mut ledger = ledger.with_expressions(expressions);
        let decision = ledger.decide(pod);
        self.expressions = ledger.into_expressions();
        let decision = decision?;
        if !decision.is_allocated() {
            return None;
        }
        let decided = DecidedClaims::of(pod, &decision, Features::DEFAULT);
        Some(ClaimPlaces { unknown: Vec::new(), ..decided.located(&places).places() })
    }

    /// This node, or the first nodes that have slices, with what decides on the claims of the pod there.
    pub(crate) fn searched_nodes(&self, pod: &Pod, node: Option<&str>) -> Vec<(Node, ClusterObjects)> {
        if let Some(node) = node {
            return self.objects(pod, node).into_iter().collect();
        }
        let first = self.of_node.keys().take(MOST_SEARCHED);
        first.filter_map(|node| self.objects(pod, node)).collect()
    }

    /// What decides on the claims of the pod on a node; `None`: that is not known.
    fn objects(&self, pod: &Pod, node: &str) -> Option<(Node, ClusterObjects)> {
        let own = self.of_node.get(node).into_iter().flatten();
        let names: BTreeSet<&String> = own.chain(&self.of_no_node).collect();
        let slices: Vec<&ResourceSlice> = names.iter().filter_map(|name| self.slices.get(*name)).collect();
        let by_labels = |slice: &ResourceSlice| {
            let devices = slice.devices().iter().map(|device| &device.nodes);
            std::iter::once(&slice.nodes).chain(devices).any(|nodes| nodes.node_selector.is_some())
        };
        let labels = match self.labels.get(node) {
            Some(labels) => labels.clone(),
            None if slices.iter().any(|slice| by_labels(slice)) => return None,
            None => BTreeMap::new(),
        };
        let here: BTreeSet<Pool> = slices.iter().map(|slice| pool_of(slice)).collect();
        // Whether a pool is whole, and what is left of its counters, is decided by its slices on other nodes too.
        let others = here.iter().filter_map(|pool| self.of_pool.get(pool)).flatten();
        let others = others.filter(|name| !names.contains(name)).filter_map(|name| self.slices.get(name));
        let slices: Vec<ResourceSlice> = slices.into_iter().chain(others).cloned().collect();
        let holders = here.iter().filter_map(|pool| self.holders.get(pool)).flatten();
        let named = pod.constraints.claims.iter().filter_map(|own| claim_key(pod, own));
        let wanted: BTreeSet<Key> = holders.cloned().chain(named).collect();
        let templates = pod.constraints.claims.iter().filter_map(|own| match own.object.as_ref()? {
            ClaimObject::Template(name) => self.templates.get(&key(&pod.namespace, name)).cloned(),
            ClaimObject::Claim(_) => None,
        });
        let objects = ClusterObjects {
            slices,
            classes: self.classes.values().cloned().collect(),
            claims: wanted.iter().filter_map(|key| self.claims.get(key)).cloned().collect(),
            templates: templates.collect(),
            taint_rules: self.taint_rules.values().cloned().collect(),
        };
        Some((Node { name: node.to_owned(), labels }, objects))
    }

    /// What of the pod's claims decides; `None`: that is not known, or it has none.
    fn shape(&self, pod: &Pod) -> Option<Shape> {
        let needed = [Kind::Slices, Kind::Classes, Kind::Claims, Kind::TaintRules];
        if !needed.iter().all(|kind| self.heard.contains(kind)) {
            return None;
        }
        let claim = |own: &PodClaim| claim_key(pod, own).and_then(|key| self.claims.get(&key));
        let template = |name: &str| self.templates.get(&key(&pod.namespace, name));
        Shape::of(pod, self.classes.values(), claim, template)
    }

    fn slice_is_gone(&mut self, name: &str) {
        let Some(slice) = self.slices.remove(name) else { return };
        let pool = pool_of(&slice);
        if let Some(own) = self.of_pool.get_mut(&pool) {
            own.remove(name);
            if own.is_empty() {
                self.of_pool.remove(&pool);
            }
        }
        if let Some(node) = &slice.nodes.node_name {
            if let Some(own) = self.of_node.get_mut(node) {
                own.remove(name);
                if own.is_empty() {
                    self.of_node.remove(node);
                }
            }
            self.node_changes(node);
        } else {
            self.of_no_node.remove(name);
            self.changes_of_all += 1;
        }
        self.pool_changes(&pool);
    }

    /// The claim does not hold these devices any more.
    fn release(&mut self, claim: &Key, allocation: Option<&AllocationResult>) {
        for pool in pools(allocation) {
            if let Some(holders) = self.holders.get_mut(&pool) {
                holders.remove(claim);
                if holders.is_empty() {
                    self.holders.remove(&pool);
                }
            }
            self.pool_changes(&pool);
        }
    }

    fn node_changes(&mut self, node: &str) {
        *self.changes.entry(node.to_owned()).or_default() += 1;
    }

    /// What is free of a pool has changed.
    fn pool_changes(&mut self, pool: &Pool) {
        let of_pool = self.of_pool.get(pool).into_iter().flatten().filter_map(|name| self.slices.get(name));
        let nodes: BTreeSet<Option<String>> = of_pool.map(|slice| slice.nodes.node_name.clone()).collect();
        for node in nodes {
            match node {
                Some(node) => self.node_changes(&node),
                None => self.changes_of_all += 1,
            }
        }
    }
}

fn pool_of(slice: &ResourceSlice) -> Pool {
    (slice.driver.clone(), slice.pool.name.clone())
}

/// The pools of an allocation's devices.
fn pools(allocation: Option<&AllocationResult>) -> BTreeSet<Pool> {
    let results = allocation.into_iter().flat_map(|allocation| &allocation.results);
    results.map(|result| (result.device.driver.clone(), result.device.pool.clone())).collect()
}

pub(crate) fn key(namespace: &str, name: &str) -> Key {
    let namespace = if namespace.is_empty() { "default" } else { namespace };
    (namespace.to_owned(), name.to_owned())
}

/// What the claim of a pod is called; `None`: it is not made yet.
fn claim_key(pod: &Pod, own: &PodClaim) -> Option<Key> {
    let name = match (own.object.as_ref()?, &own.made) {
        (ClaimObject::Claim(name), _) | (ClaimObject::Template(_), Some(name)) => name,
        (ClaimObject::Template(_), None) => return None,
    };
    Some(key(&pod.namespace, name))
}

#[cfg(test)]
#[path = "claims_tests.rs"]
pub(crate) mod tests;
