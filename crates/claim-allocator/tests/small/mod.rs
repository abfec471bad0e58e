//! Small questions made of bytes, and what must hold of every decision on them.
//!
//! A decision is checked by a rule for whole solutions, which knows nothing of orders, classes or budgets: what fits
//! keeps the rule, and where nothing fits no choice of devices keeps it.

mod drawn;
mod rule;
mod brute;

use std::collections::BTreeMap;

use claim_allocator::{Decision, Question, WorkLimit, decide};
use dra_model::{AllocationResult, Features, Node, ResourceClaim};

pub(crate) use drawn::Small;
use rule::Choice;

/// A budget that no small question needs.
const ENOUGH: WorkLimit = WorkLimit(1_000_000);

/// Decides the question that some bytes make, and checks the decision.
pub(crate) fn check(bytes: &[u8]) -> Checked {
    let small = Small::of(bytes);
    let decision = asked(&small, &small.claims, ENOUGH);
    let budget = WorkLimit(u64::from(small.budget));
    let cut = asked(&small, &small.claims, budget);
    assert!(
        cut == Decision::Cut || cut == decision,
        "{budget:?}: {cut:?} instead of {decision:?} of {small:?}"
    );
    let fits = match &decision {
        Decision::Fits(allocations) => {
            let choices = choices(&small, allocations);
            rule::holds(&small, &choices).unwrap_or_else(|why| panic!("{why}: {choices:?} of {small:?}"));
            true
        }
        Decision::DoesNotFit => false,
        // All devices of a pool that is not complete, or that a constraint separates; too many devices.
        Decision::Error(_) => return Checked::Error,
        Decision::Cut => panic!("a million steps for {small:?}"),
    };
    match brute::fits(&small) {
        Some(expected) => {
            assert_eq!(fits, expected, "{decision:?} of {small:?}");
            if fits { Checked::Fits } else { Checked::DoesNotFit }
        }
        None => Checked::Sound,
    }
}

/// What could be checked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Checked {
    /// It fits, and some choice keeps the rule.
    Fits,
    /// It does not fit, and no choice keeps the rule.
    DoesNotFit,
    /// What was given keeps the rule, if anything was.
    Sound,
    /// An error in place of an answer.
    Error,
}

fn asked(small: &Small, claims: &[ResourceClaim], limit: WorkLimit) -> Decision {
    let question = Question {
        node: &Node { name: "node".into(), labels: BTreeMap::new() },
        declared_features: &[],
        features: Features::DEFAULT,
        implementation: None,
        classes: &small.classes,
        slices: &small.slices,
        allocated: &small.allocated,
        claims,
    };
    decide(&question, limit)
}

/// The choices behind allocations: for each result the request and alternative that it names, and its device.
fn choices(small: &Small, allocations: &[AllocationResult]) -> Vec<Choice> {
    assert_eq!(allocations.len(), small.claims.len(), "one allocation for each claim");
    let mut choices = Vec::new();
    for (claim, allocation) in allocations.iter().enumerate() {
        for result in &allocation.results {
            let (request, alternative) = small.place(claim, &result.request);
            let device = small.device(&result.device);
            let device = device.unwrap_or_else(|| panic!("no device {}", result.device));
            choices.push(Choice { claim, request, alternative, device });
        }
    }
    choices
}
