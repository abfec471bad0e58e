//! What holds of a whole solution: nothing here knows in which order devices are tried.

use std::collections::BTreeSet;

use dra_model::{
    AllocationMode, Attribute, Constraint, Device, RequestName, RequestedDevices, ResourceSlice, Selector,
    TaintEffect,
};
use k8s_quantity::Quantity;

use super::drawn::{COUNTERS, KIND, MEMORY, Small};

/// One device for one request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Choice {
    pub(crate) claim: usize,
    pub(crate) request: usize,
    /// The alternative; 0 of a request without any.
    pub(crate) alternative: usize,
    /// The slice, and the place in it.
    pub(crate) device: (usize, usize),
}

/// Whether all choices together are a solution; if not, why.
pub(crate) fn holds(small: &Small, choices: &[Choice]) -> Result<(), &'static str> {
    counts(small, choices)?;
    for (place, choice) in choices.iter().enumerate() {
        serves(small, choice)?;
        takes(small, choice, &choices[..place])?;
    }
    rooms(small, choices)?;
    counters(small, choices)?;
    constraints(small, choices)
}

/// The devices that a choice is for.
pub(crate) fn requested<'a>(small: &'a Small, choice: &Choice) -> &'a RequestedDevices {
    let request = &small.claims[choice.claim].spec.requests[choice.request];
    request.exactly.as_ref().unwrap_or_else(|| &request.first_available[choice.alternative])
}

fn device<'a>(small: &'a Small, choice: &Choice) -> &'a Device {
    &small.slices[choice.device.0].devices()[choice.device.1]
}

fn is_admin(requested: &RequestedDevices) -> bool {
    requested.admin_access == Some(true)
}

/// Every request has as many devices as it wants, all by one alternative.
fn counts(small: &Small, choices: &[Choice]) -> Result<(), &'static str> {
    for (claim, own) in small.claims.iter().enumerate() {
        for request in 0..own.spec.requests.len() {
            let given: Vec<&Choice> =
                choices.iter().filter(|choice| (choice.claim, choice.request) == (claim, request)).collect();
            let Some(first) = given.first() else { return Err("a request has no device") };
            if given.iter().any(|choice| choice.alternative != first.alternative) {
                return Err("two alternatives of a request");
            }
            let wanted = match requested(small, first).mode {
                AllocationMode::ExactCount(count) => usize::try_from(count).unwrap_or_default(),
                _ => small
                    .devices()
                    .filter(|device| is_wanted(small, &Choice { device: *device, ..**first }))
                    .count(),
            };
            if given.len() != wanted {
                return Err("a request has another number of devices than it wants");
            }
        }
    }
    Ok(())
}

/// Whether the device of a choice is one of all that a request wants.
fn is_wanted(small: &Small, choice: &Choice) -> bool {
    is_selected(requested(small, choice), device(small, choice))
        && is_large_enough(requested(small, choice), device(small, choice))
}

fn is_selected(requested: &RequestedDevices, device: &Device) -> bool {
    let kinds = [0, 1].map(|kind: i64| (kind, Attribute::from(kind)));
    let kind =
        kinds.iter().find(|(_, value)| device.attributes.get(KIND) == Some(value)).map(|(kind, _)| kind);
    requested.selectors.iter().all(|Selector { expression }| {
        let expression = expression.as_deref().unwrap_or_default();
        kind.is_some_and(|kind| expression.ends_with(&format!("== {kind}")))
    })
}

/// What a request takes of the device's memory; `None` if it has none and none is asked for.
fn share(requested: &RequestedDevices, device: &Device) -> Option<Quantity> {
    let asked = requested.capacity.as_ref().and_then(|capacity| capacity.get(MEMORY));
    asked.or_else(|| device.capacity.get(MEMORY).map(|capacity| &capacity.value)).cloned()
}

fn is_large_enough(requested: &RequestedDevices, device: &Device) -> bool {
    match (share(requested, device), device.capacity.get(MEMORY)) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(share), Some(capacity)) => share <= capacity.value,
    }
}

/// Selectors, size and taints.
fn serves(small: &Small, choice: &Choice) -> Result<(), &'static str> {
    let (requested, device) = (requested(small, choice), device(small, choice));
    if !is_wanted(small, choice) {
        return Err("a device is not selected or too small");
    }
    let repels = device.taints.iter().any(|taint| taint.effect == TaintEffect::NoSchedule);
    if repels && requested.tolerations.is_empty() {
        return Err("a taint is not tolerated");
    }
    Ok(())
}

/// Nothing is taken that is in use, or twice.
fn takes(small: &Small, choice: &Choice, before: &[Choice]) -> Result<(), &'static str> {
    let mut same = before.iter().filter(|other| other.device == choice.device);
    let is_same_request = |other: &Choice| (other.claim, other.request) == (choice.claim, choice.request);
    if same.clone().any(is_same_request) {
        return Err("a device serves a request twice");
    }
    let is_shared = device(small, choice).is_shareable();
    if is_admin(requested(small, choice)) {
        let in_claim = same.any(|other| other.claim == choice.claim && !is_shared);
        return if in_claim { Err("a device serves a claim twice") } else { Ok(()) };
    }
    if is_allocated(small, choice.device) {
        return Err("a device is in use");
    }
    if !is_shared && same.next().is_some() { Err("a device is given twice") } else { Ok(()) }
}

fn is_allocated(small: &Small, (slice, place): (usize, usize)) -> bool {
    let slice = &small.slices[slice];
    let held = small.allocated.iter().filter_map(|claim| claim.status.allocation.as_ref());
    held.flat_map(|held| &held.results).any(|result| {
        result.device.pool == slice.pool.name && result.device.device == slice.devices()[place].name
    })
}

/// The shares of a device are not more than it has.
fn rooms(small: &Small, choices: &[Choice]) -> Result<(), &'static str> {
    for choice in choices.iter().filter(|choice| device(small, choice).is_shareable()) {
        let Some(capacity) = device(small, choice).capacity.get(MEMORY) else { continue };
        let shares = choices.iter().filter(|other| other.device == choice.device);
        let shares = shares.filter_map(|other| share(requested(small, other), device(small, other)));
        if shares.map(|share| share.value()).sum::<i64>() > capacity.value.value() {
            return Err("a device is shared out beyond what it has");
        }
    }
    Ok(())
}

/// Counters of the pools of devices that draw on any are not overdrawn. What is in use draws too; a shared device draws once.
fn counters(small: &Small, choices: &[Choice]) -> Result<(), &'static str> {
    let drawing = choices.iter().filter(|choice| !device(small, choice).consumes.is_empty());
    let pools: BTreeSet<&str> = drawing.map(|choice| &*small.slices[choice.device.0].pool.name).collect();
    for pool in pools {
        for counter in COUNTERS {
            let sets = small.slices.iter().filter(|slice| slice.pool.name == pool);
            let sets = sets.flat_map(ResourceSlice::shared_counters);
            let mut left: i64 = sets.filter_map(|set| set.counters.get(counter)).map(Quantity::value).sum();
            for place in small.devices().filter(|(slice, _)| small.slices[*slice].pool.name == pool) {
                let device = &small.slices[place.0].devices()[place.1];
                let draws = device.consumes.iter().filter_map(|draw| draw.counters.get(counter));
                let given = choices.iter().filter(|choice| choice.device == place).count();
                let given = if device.is_shareable() { given.min(1) } else { given };
                let times = given + usize::from(is_allocated(small, place));
                left -= draws.map(Quantity::value).sum::<i64>() * i64::try_from(times).unwrap_or(i64::MAX);
            }
            if left < 0 {
                return Err("a counter is overdrawn");
            }
        }
    }
    Ok(())
}

/// Whether a constraint is about a request.
fn is_about(constraint: &Constraint, request: &RequestName) -> bool {
    constraint.requests.is_empty() || constraint.requests.contains(request)
}

fn constraints(small: &Small, choices: &[Choice]) -> Result<(), &'static str> {
    for (number, claim) in small.claims.iter().enumerate() {
        for constraint in &claim.spec.constraints {
            let about = choices.iter().filter(|choice| {
                choice.claim == number && is_about(constraint, &claim.spec.requests[choice.request].name)
            });
            let attribute = constraint.match_attribute.as_ref().or(constraint.distinct_attribute.as_ref());
            let attribute = attribute.map_or("", |name| name.as_str());
            let values: Vec<Option<&Attribute>> =
                about.map(|choice| device(small, choice).attributes.get(attribute)).collect();
            if values.iter().any(Option::is_none) {
                return Err("a device lacks the attribute of a constraint");
            }
            let equal = |at: usize| values[..at].iter().any(|before| *before == values[at]);
            if constraint.match_attribute.is_some() && (1..values.len()).any(|at| values[at] != values[0]) {
                return Err("devices of a constraint have two values");
            }
            if constraint.distinct_attribute.is_some() && (1..values.len()).any(equal) {
                return Err("devices of a constraint share a value");
            }
        }
    }
    Ok(())
}
