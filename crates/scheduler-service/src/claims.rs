//! Which devices kube-scheduler will give the claims of a pod on each node.
//!
//! An extender is asked after the in-tree filters, and its question does not name the devices. They are those that kube-scheduler's
//! allocator chooses first, which is decided here by the same rules, from the slices, classes, claims and templates that the API
//! server has. What a node has is known by its name in slices. Where slices select nodes by labels, where a claim cannot be found or gets no devices, and where
//! these objects are not watched, the prediction is unknown: it scores nothing and refuses nothing.
//!
//! # What is decided when
//!
//! A prediction depends on the *claims* of a pod (what they request, and which containers use them) and on the *devices* of a node with
//! the claims that hold some. Each node counts the changes of the latter. Predictions of the last [`SHAPES`] kinds of claims are kept
//! with that count, so that a filter decides each node once for each kind, and after a change only what has changed. Pods without
//! claims cost nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use admission_report::DecidedClaims;
use claim_explanation::DevicePlaces;
use cluster_node::Watched;
use dra_model::{
    AllocationResult, DeviceClass, DriverName, Features, Node, PoolName, ResourceClaim, ResourceClaimSpec,
    ResourceClaimTemplate, ResourceSlice,
};
use pod_claims::{ClaimLedger, ClusterObjects, Expressions};
use pod_spec::{ClaimObject, ClaimPlaces, ContainerName, Pod, PodClaim};
use scheduler_extender::topology_admission::Node as KubeletNode;

/// Predictions of so many kinds of claims are kept.
const SHAPES: usize = 64;

/// Namespace and name.
pub(crate) type Key = (String, String);

/// The kinds of objects by which devices are predicted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    Slices,
    Classes,
    Claims,
    Templates,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Slices, Self::Classes, Self::Claims, Self::Templates];

    /// As rules of RBAC name it.
    pub(crate) const fn plural(self) -> &'static str {
        match self {
            Self::Slices => "resourceslices",
            Self::Classes => "deviceclasses",
            Self::Claims => "resourceclaims",
            Self::Templates => "resourceclaimtemplates",
        }
    }

    pub(crate) const fn kind(self) -> &'static str {
        match self {
            Self::Slices => "ResourceSlice",
            Self::Classes => "DeviceClass",
            Self::Claims => "ResourceClaim",
            Self::Templates => "ResourceClaimTemplate",
        }
    }

    pub(crate) const fn watched(self) -> Watched {
        match self {
            Self::Slices => Watched::ResourceSlices,
            Self::Classes => Watched::DeviceClasses,
            Self::Claims => Watched::ResourceClaims,
            Self::Templates => Watched::ResourceClaimTemplates,
        }
    }
}

/// The objects, and predictions by them.
#[derive(Default)]
pub(crate) struct DevicePredictions {
    slices: BTreeMap<String, ResourceSlice>,
    classes: BTreeMap<String, DeviceClass>,
    claims: BTreeMap<Key, ResourceClaim>,
    templates: BTreeMap<Key, ResourceClaimTemplate>,
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
    shape: Vec<ClaimShape>,
    asked: u64,
    nodes: BTreeMap<String, (u64, Option<Arc<ClaimPlaces>>)>,
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

impl DevicePredictions {
    /// All objects of the kind are known, and from now on each change.
    pub(crate) fn heard(&mut self, kind: Kind) {
        self.heard.insert(kind);
    }

    /// Objects are there, new or changed.
    pub(crate) fn apply(&mut self, objects: ClusterObjects) {
        let ClusterObjects { slices, classes, claims, templates, taint_rules: _ } = objects;
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
            self.of_pool.entry(pool_of(&slice)).or_default().insert(name.clone());
            self.slices.insert(name, slice);
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
        }
    }

    /// Where the devices of the pod's claims would be on a node of this name and machine; `None`: that is not known.
    pub(crate) fn places(
        &mut self,
        pod: &Pod,
        node: &str,
        machine: &KubeletNode,
    ) -> Option<Arc<ClaimPlaces>> {
        let shape = self.shape(pod)?;
        let version = self.changes_of_all + self.changes.get(node).copied().unwrap_or(0);
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
        if let Some((known, places)) = self.kept[at].nodes.get(node)
            && *known == version
        {
            return places.clone();
        }
        self.searches += 1;
        let places = self.predict(pod, node, machine).map(Arc::new);
        self.kept[at].nodes.insert(node.to_owned(), (version, places.clone()));
        places
    }

    fn predict(&mut self, pod: &Pod, node: &str, machine: &KubeletNode) -> Option<ClaimPlaces> {
        let view = &machine.origin()?.view;
        let objects = self.objects(pod, node)?;
        let here = Node { name: node.to_owned(), ..Node::default() };
        let places = DevicePlaces::of(&objects.slices, &here, Features::DEFAULT, view, None);
        let expressions = std::mem::take(&mut self.expressions);
        let ledger = ClaimLedger::new(objects, here, Features::DEFAULT, BTreeMap::new());
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

    /// What decides on the claims of the pod on a node; `None`: that is not known.
    fn objects(&self, pod: &Pod, node: &str) -> Option<ClusterObjects> {
        let own = self.of_node.get(node).into_iter().flatten();
        let slices = own.chain(&self.of_no_node).filter_map(|name| self.slices.get(name));
        let slices: Vec<ResourceSlice> = slices.cloned().collect();
        // The labels of nodes are not known here.
        let by_labels = |slice: &ResourceSlice| {
            let devices = slice.devices().iter().map(|device| &device.nodes);
            std::iter::once(&slice.nodes).chain(devices).any(|nodes| nodes.node_selector.is_some())
        };
        if slices.iter().any(by_labels) {
            return None;
        }
        let here: BTreeSet<Pool> = slices.iter().map(pool_of).collect();
        let holders = here.iter().filter_map(|pool| self.holders.get(pool)).flatten();
        let named = pod.constraints.claims.iter().filter_map(|own| claim_key(pod, own));
        let wanted: BTreeSet<Key> = holders.cloned().chain(named).collect();
        let templates = pod.constraints.claims.iter().filter_map(|own| match own.object.as_ref()? {
            ClaimObject::Template(name) => self.templates.get(&key(&pod.namespace, name)).cloned(),
            ClaimObject::Claim(_) => None,
        });
        Some(ClusterObjects {
            slices,
            classes: self.classes.values().cloned().collect(),
            claims: wanted.iter().filter_map(|key| self.claims.get(key)).cloned().collect(),
            templates: templates.collect(),
            taint_rules: Vec::new(),
        })
    }

    /// What of the pod's claims decides; `None`: that is not known, or it has none.
    fn shape(&self, pod: &Pod) -> Option<Vec<ClaimShape>> {
        let needed = [Kind::Slices, Kind::Classes, Kind::Claims];
        if pod.constraints.claims.is_empty() || !needed.iter().all(|kind| self.heard.contains(kind)) {
            return None;
        }
        pod.constraints.claims.iter().map(|own| self.claim_shape(pod, own)).collect()
    }

    fn claim_shape(&self, pod: &Pod, own: &PodClaim) -> Option<ClaimShape> {
        let (spec, allocation) = match claim_key(pod, own).and_then(|key| self.claims.get(&key)) {
            Some(claim) => (claim.spec.clone(), claim.status.allocation.clone()),
            None => match own.object.as_ref()? {
                ClaimObject::Template(name) => {
                    (self.templates.get(&key(&pod.namespace, name))?.spec.clone(), None)
                }
                ClaimObject::Claim(_) => return None,
            },
        };
        let PodClaim { name, containers, requests, .. } = own.clone();
        Some(ClaimShape { name, containers, requests, spec, allocation })
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
            }
            self.node_changes(node);
        } else {
            self.of_no_node.remove(name);
            self.changes_of_all += 1;
        }
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
