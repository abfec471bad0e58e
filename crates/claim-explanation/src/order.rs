//! The order of a claim's requests with which kube-scheduler's search takes the fewest steps.

use alloc::vec::Vec;

use claim_allocator::{Allocator, Cost, Expressions, Question, WorkLimit};
use dra_model::{RequestName, ResourceClaim, ResourceClaimSpec};

/// Up to this many requests all orders are tried; of more each is tried in the first place.
const ALL_ORDERS: usize = 5;

/// An order of requests, and what it costs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheapestOrder {
    /// Places of the requests, in the new order.
    pub order: Vec<usize>,
    /// Their names.
    pub names: Vec<RequestName>,
    /// Kube-scheduler's search with it.
    pub cost: Cost,
}

/// The order of the requests of a claim of the question with the fewest steps. `None`: no cost is known within the limit.
#[must_use]
pub fn cheapest_order(
    question: &Question<'_>,
    claim: usize,
    expressions: &mut Expressions,
    limit: WorkLimit,
) -> Option<CheapestOrder> {
    let requests = &question.claims.get(claim)?.spec.requests;
    let orders =
        if requests.len() <= ALL_ORDERS { permutations(requests.len()) } else { rotations(requests.len()) };
    let mut best: Option<(Vec<usize>, Cost)> = None;
    for order in orders {
        let claims = reordered(question.claims, claim, &order);
        let question = Question { claims: &claims, ..question.clone() };
        let cost = Allocator::with_expressions(&question, expressions)
            .ok()
            .and_then(|allocator| allocator.cost(limit));
        let Some(cost) = cost else { continue };
        if best.as_ref().is_none_or(|(_, best)| cost.steps() < best.steps()) {
            best = Some((order, cost));
        }
    }
    let (order, cost) = best?;
    let names = order.iter().map(|at| requests[*at].name.clone()).collect();
    Some(CheapestOrder { order, names, cost })
}

fn reordered(claims: &[ResourceClaim], claim: usize, order: &[usize]) -> Vec<ResourceClaim> {
    let mut claims = claims.to_vec();
    let spec = &claims[claim].spec;
    let requests = order.iter().map(|at| spec.requests[*at].clone()).collect();
    claims[claim].spec = ResourceClaimSpec { requests, ..spec.clone() };
    claims
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
