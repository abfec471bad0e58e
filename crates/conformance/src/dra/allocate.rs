//! Decisions of the allocator on claims, and what they cost the real one.

mod shown;

use anyhow::Result;
use claim_allocator::{AllocateError, Allocator, Cost, Decision, Question, Scope, SelectorFault, WorkLimit};
use dra_model::{AllocationResult, Implementation};
use serde_json::{Value, json};

use super::objects;
use crate::case::{Case, Expected, Outcome};
use crate::corpus::Corpus;

/// Verdict, devices and texts of errors.
pub(super) fn allocate(_: &Corpus, case: &Case) -> Outcome {
    with_decision(case, |implementation, decision, _| {
        let mut got = answer(&decision);
        let is_chosen = !matches!(decision, Decision::Error(AllocateError::NoImplementation { .. }));
        got["implementation"] = json!(if is_chosen { implementation.as_str() } else { "" });
        case.compare(with_recorded_compile_error(&decision, got, &case.expected))
    })
}

/// Claims on which the real allocator gives no answer: the verdict, and the devices in its order.
pub(super) fn hard(_: &Corpus, case: &Case) -> Outcome {
    with_decision(case, |_, decision, _| {
        let Expected::Result(expected) = &case.expected else { return Outcome::Skipped };
        let (fits, devices) = match &decision {
            Decision::Fits(allocations) => (json!(true), allocations.iter().map(devices).collect()),
            Decision::DoesNotFit => (json!(false), Value::Null),
            Decision::Error(_) | Decision::Cut => (answer(&decision), Value::Null),
        };
        let mut got = expected.clone();
        (got["fits"], got["devices"]) = (fits, devices);
        case.compare(got)
    })
}

/// Claims on which it explodes: the verdict, and its steps where it ended.
pub(super) fn table(_: &Corpus, case: &Case) -> Outcome {
    with_decision(case, |_, decision, cost| {
        let Expected::Result(expected) = &case.expected else { return Outcome::Skipped };
        let mut got = expected.clone();
        let verdict = if matches!(decision, Decision::Fits(_)) { "fits" } else { "does not fit" };
        let is_known = matches!(decision, Decision::Fits(_) | Decision::DoesNotFit);
        got["witness"] = if is_known { json!(verdict) } else { answer(&decision) };
        if expected["verdict"] != "no answer" {
            got["verdict"] = got["witness"].clone();
            got["steps"] = json!(cost.and_then(|cost| u64::try_from(cost.steps()).ok()));
        }
        case.compare(got)
    })
}

/// Decides a case, with the cost where the claims get as far as the search.
fn with_decision(
    case: &Case,
    judge: impl FnOnce(Implementation, Decision, Option<Cost>) -> Outcome,
) -> Outcome {
    match decide(&case.input) {
        Ok((implementation, decision, cost)) => judge(implementation, decision, cost),
        Err(error) => Outcome::unreadable(error),
    }
}

fn decide(input: &Value) -> Result<(Implementation, Decision, Option<Cost>)> {
    let features = objects::features(&input["features"])?;
    let declared = input["node"]["declaredFeatures"].as_array().into_iter().flatten();
    let declared: Vec<String> = declared.filter_map(Value::as_str).map(str::to_owned).collect();
    Ok(decide_question(&Question {
        node: &objects::node(&input["node"]),
        declared_features: &declared,
        features,
        implementation: Some(objects::implementation(&input["implementation"], features)?),
        classes: &objects::classes(&input["classes"])?,
        slices: &objects::slices(&input["slices"])?,
        allocated: &objects::claims(&input["allocated"])?,
        claims: &objects::claims(&input["claims"])?,
    }))
}

/// The decision on a question, by which copy of the allocator, and the cost where the claims get as far as the search.
pub(super) fn decide_question(question: &Question<'_>) -> (Implementation, Decision, Option<Cost>) {
    let features = question.features;
    let implementation = question.implementation.unwrap_or_else(|| Implementation::of(features));
    match Allocator::new(question) {
        Ok(allocator) => {
            let limit = WorkLimit::default();
            (implementation, allocator.decide(limit), allocator.cost(limit))
        }
        Err(error) => (implementation, Decision::Error(error), None),
    }
}

pub(super) fn answer(decision: &Decision) -> Value {
    match decision {
        Decision::Fits(allocations) if allocations.is_empty() => json!({ "allocations": null }),
        Decision::Fits(allocations) => {
            json!({ "allocations": allocations.iter().map(shown::allocation).collect::<Vec<_>>() })
        }
        Decision::DoesNotFit => json!({ "allocations": null }),
        Decision::Error(error) => {
            let scope = if error.scope() == Scope::Node { "node" } else { "pod" };
            json!({ "error": error.to_string(), "scope": scope })
        }
        Decision::Cut => json!({ "cut": true }),
    }
}

fn devices(allocation: &AllocationResult) -> Value {
    let results = allocation.results.iter().map(|result| {
        json!({
            "request": result.request.as_str(),
            "driver": result.device.driver.as_str(),
            "pool": result.device.pool.as_str(),
            "device": result.device.device.as_str(),
        })
    });
    results.collect()
}

/// Of an expression that does not compile only that and the place are compared, not the compiler's words.
fn with_recorded_compile_error(decision: &Decision, mut got: Value, expected: &Expected) -> Value {
    const MARK: &str = "CEL compile error: ";
    let Decision::Error(
        AllocateError::ClassSelector { fault: SelectorFault::Compile(_), .. }
        | AllocateError::ClaimSelector { fault: SelectorFault::Compile(_), .. },
    ) = decision
    else {
        return got;
    };
    let Expected::Result(expected) = expected else { return got };
    let place = |value: &Value| Some(value["error"].as_str()?.split_once(MARK)?.0.to_owned());
    if place(&got).is_some() && place(&got) == place(expected) {
        got["error"] = expected["error"].clone();
    }
    got
}
