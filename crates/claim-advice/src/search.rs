//! Orders of requests with which kube-scheduler's search exceeds its time limit, and orders that avoid it.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use claim_allocator::{Allocator, Cost, Expressions, Question, Timeout, WorkLimit};
use dra_model::{Features, Metadata, Node, ResourceClaim, ResourceClaimSpec};
use pod_claims::ClusterObjects;

use crate::findings::Warning;

/// The search is computed on at most this many nodes, since most nodes of a cluster are alike.
const MOST_NODES: usize = 16;
/// Up to this many requests all orders are tried.
const ALL_ORDERS: usize = 5;

/// The cost of kube-scheduler's search for claims on the nodes of a cluster.
pub(crate) struct Search<'a> {
    objects: &'a ClusterObjects,
    features: Features,
    nodes: Vec<Node>,
    expressions: Expressions,
}

impl<'a> Search<'a> {
    pub(crate) fn on(objects: &'a ClusterObjects, features: Features) -> Self {
        let names: BTreeSet<&str> =
            objects.slices.iter().filter_map(|slice| slice.nodes.node_name.as_deref()).collect();
        let nodes = names.into_iter().take(MOST_NODES);
        let mut nodes: Vec<Node> = nodes.map(|name| Node { name: name.into(), ..Node::default() }).collect();
        if nodes.is_empty() {
            nodes.push(Node::default());
        }
        Self { objects, features, nodes, expressions: Expressions::new() }
    }

    /// A warning if kube-scheduler exceeds its time limit on some node with the claim alone, with an order of requests that takes
    /// fewer steps.
    pub(crate) fn timeout_warning(
        &mut self,
        metadata: &Metadata,
        spec: &ResourceClaimSpec,
        at: &str,
    ) -> Option<Warning> {
        let mut worst: Option<(Node, Cost)> = None;
        for node in self.nodes.clone() {
            let cost = self.cost(&node, metadata, spec)?;
            if worst.as_ref().is_none_or(|(_, worst)| worst.steps() < cost.steps()) {
                worst = Some((node, cost));
            }
        }
        let (node, cost) = worst?;
        let verb = match cost.timeout() {
            Timeout::Within => return None,
            Timeout::May => "may exceed",
            Timeout::Will => "will exceed",
        };
        let place = if node.name.is_empty() { String::new() } else { format!(" on node {}", node.name) };
        let way_out = self.best_order(&node, metadata, spec).filter(|(_, best)| best.steps() < cost.steps());
        let way_out = way_out.map_or_else(
            || "no other order of its requests was found that takes less".to_string(),
            |(order, best)| format!("with the requests in the order {order} it takes {} steps", best.steps()),
        );
        let text = format!(
            "kube-scheduler {verb} its limit of 10 s{place}: its search takes {} steps; {way_out} \
             (docs/upstream/claims/search-explosion.md)",
            cost.steps()
        );
        Some(Warning::new(format!("{at}.requests"), text))
    }

    /// The cost on a node; `None`: it is not known, or kube-scheduler does not search.
    fn cost(&mut self, node: &Node, metadata: &Metadata, spec: &ResourceClaimSpec) -> Option<Cost> {
        let claim =
            ResourceClaim { metadata: metadata.clone(), spec: spec.clone(), ..ResourceClaim::default() };
        let claims = [claim];
        let question = Question {
            node,
            declared_features: &[],
            features: self.features,
            implementation: None,
            classes: &self.objects.classes,
            slices: &self.objects.slices,
            allocated: &self.objects.claims,
            claims: &claims,
        };
        let allocator = Allocator::with_expressions(&question, &mut self.expressions).ok()?;
        allocator.cost(WorkLimit::default())
    }

    /// The order with the fewest steps.
    fn best_order(
        &mut self,
        node: &Node,
        metadata: &Metadata,
        spec: &ResourceClaimSpec,
    ) -> Option<(String, Cost)> {
        let count = spec.requests.len();
        let orders = if count <= ALL_ORDERS { permutations(count) } else { rotations(count) };
        let mut best: Option<(Vec<usize>, Cost)> = None;
        for order in orders {
            let requests = order.iter().map(|at| spec.requests[*at].clone()).collect();
            let reordered = ResourceClaimSpec { requests, ..spec.clone() };
            let Some(cost) = self.cost(node, metadata, &reordered) else { continue };
            if best.as_ref().is_none_or(|(_, best)| cost.steps() < best.steps()) {
                best = Some((order, cost));
            }
        }
        let (order, cost) = best?;
        let names: Vec<&str> = order.iter().map(|at| spec.requests[*at].name.as_str()).collect();
        Some((names.join(", "), cost))
    }
}

/// All orders of the numbers below `count`.
fn permutations(count: usize) -> Vec<Vec<usize>> {
    (0..count).fold(Vec::from([Vec::new()]), |shorter, next| {
        let insert = |order: &Vec<usize>| {
            let order = order.clone();
            (0..=order.len()).map(move |at| {
                let mut longer = order.clone();
                longer.insert(at, next);
                longer
            })
        };
        shorter.iter().flat_map(insert).collect()
    })
}

/// For each number below `count` the order with it first and the others as they were.
fn rotations(count: usize) -> Vec<Vec<usize>> {
    let first = |at: usize| core::iter::once(at).chain((0..count).filter(move |other| *other != at));
    (0..count).map(|at| first(at).collect()).collect()
}
