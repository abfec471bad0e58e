//! Requests and constraints as members of sets, and the claims that are left of a set.

use alloc::vec::Vec;

use dra_model::{Constraint, RequestName, ResourceClaim};

/// A request or a constraint of a claim. The order is that of the claims as written, requests of a claim first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Member {
    /// Number of the claim in the question.
    pub claim: usize,
    /// The part of it.
    pub part: Part,
}

/// A part of a claim, by its place there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Part {
    /// A request.
    Request(usize),
    /// A constraint.
    Constraint(usize),
}

/// All requests and constraints, in order.
pub(crate) fn all(claims: &[ResourceClaim]) -> Vec<Member> {
    let of_claim = |(claim, object): (usize, &ResourceClaim)| {
        let requests = (0..object.spec.requests.len()).map(Part::Request);
        let constraints = (0..object.spec.constraints.len()).map(Part::Constraint);
        requests.chain(constraints).map(move |part| Member { claim, part }).collect::<Vec<_>>()
    };
    claims.iter().enumerate().flat_map(of_claim).collect()
}

/// The claims with these members alone. A constraint without a request that it is about is left out, and so is a claim without
/// requests.
pub(crate) fn claims_of(claims: &[ResourceClaim], set: &[Member]) -> Vec<ResourceClaim> {
    let left = claims.iter().enumerate().filter_map(|(claim, object)| {
        let has = |part| set.contains(&Member { claim, part });
        let mut left = object.clone();
        left.spec.requests = kept(&object.spec.requests, |at| has(Part::Request(at)));
        left.spec.constraints = kept(&object.spec.constraints, |at| has(Part::Constraint(at)));
        left.spec.config.clear();
        let names: Vec<RequestName> = left.spec.requests.iter().map(|request| request.name.clone()).collect();
        left.spec.constraints.retain_mut(|constraint| restrict(constraint, &names));
        (!names.is_empty()).then_some(left)
    });
    left.collect()
}

fn kept<T: Clone>(all: &[T], keeps: impl Fn(usize) -> bool) -> Vec<T> {
    all.iter().enumerate().filter(|(at, _)| keeps(*at)).map(|(_, one)| one.clone()).collect()
}

/// Restricts a constraint to these requests; returns whether it is still about one.
pub(crate) fn restrict(constraint: &mut Constraint, names: &[RequestName]) -> bool {
    if constraint.requests.is_empty() {
        return true;
    }
    constraint.requests.retain(|request| names.iter().any(|name| is_of(request, name)));
    !constraint.requests.is_empty()
}

/// Whether a name in a constraint, `request` or `request/alternative`, is about a request.
pub(crate) fn is_of(named: &RequestName, request: &RequestName) -> bool {
    named.split('/').next() == Some(request.as_str())
}

/// Whether a constraint is about a request, or about one of its alternatives.
pub(crate) fn is_about(constraint: &Constraint, request: &RequestName) -> bool {
    constraint.requests.is_empty() || constraint.requests.iter().any(|named| is_of(named, request))
}
