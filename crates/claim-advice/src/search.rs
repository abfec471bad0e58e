//! Orders of requests with which kube-scheduler's search exceeds its time limit, and orders that avoid it.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use claim_allocator::{Allocator, Cost, Expressions, Question, Timeout, WorkLimit};
use claim_explanation::{CheapestOrder, cheapest_order};
use dra_model::{Features, Metadata, Node, ResourceClaim, ResourceClaimSpec};
use pod_claims::ClusterObjects;

use crate::findings::Warning;

/// The search is computed on at most this many nodes, since most nodes of a cluster are alike.
const MOST_NODES: usize = 16;

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
        let way_out = self.best_order(&node, metadata, spec).filter(|best| best.cost.steps() < cost.steps());
        let way_out = way_out.map_or_else(
            || "no other order of its requests was found that takes less".to_string(),
            |best| {
                let order: Vec<&str> = best.names.iter().map(dra_model::RequestName::as_str).collect();
                format!(
                    "with the requests in the order {} it takes {} steps",
                    order.join(", "),
                    best.cost.steps()
                )
            },
        );
        let text = format!(
            "kube-scheduler {verb} its limit of 10 s{place}: its search takes {} steps; {way_out} \
             ({}/blob/main/docs/upstream/claims/search-explosion.md)",
            cost.steps(),
            env!("CARGO_PKG_REPOSITORY")
        );
        Some(Warning::new(format!("{at}.requests"), text))
    }

    /// The cost on a node; `None`: it is not known, or kube-scheduler does not search.
    fn cost(&mut self, node: &Node, metadata: &Metadata, spec: &ResourceClaimSpec) -> Option<Cost> {
        let claims = [claim(metadata, spec)];
        let mut expressions = core::mem::take(&mut self.expressions);
        let question = self.question(node, &claims);
        let allocator = Allocator::with_expressions(&question, &mut expressions);
        let cost = allocator.ok().and_then(|allocator| allocator.cost(WorkLimit::default()));
        self.expressions = expressions;
        cost
    }

    /// The order with the fewest steps.
    fn best_order(
        &mut self,
        node: &Node,
        metadata: &Metadata,
        spec: &ResourceClaimSpec,
    ) -> Option<CheapestOrder> {
        let claims = [claim(metadata, spec)];
        let mut expressions = core::mem::take(&mut self.expressions);
        let best = cheapest_order(&self.question(node, &claims), 0, &mut expressions, WorkLimit::default());
        self.expressions = expressions;
        best
    }

    fn question<'q>(&'q self, node: &'q Node, claims: &'q [ResourceClaim]) -> Question<'q> {
        Question {
            node,
            declared_features: &[],
            features: self.features,
            implementation: None,
            classes: &self.objects.classes,
            slices: &self.objects.slices,
            allocated: &self.objects.claims,
            claims,
        }
    }
}

fn claim(metadata: &Metadata, spec: &ResourceClaimSpec) -> ResourceClaim {
    ResourceClaim { metadata: metadata.clone(), spec: spec.clone(), ..ResourceClaim::default() }
}
