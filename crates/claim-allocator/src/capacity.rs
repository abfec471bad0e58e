//! How much of a device's capacity a request takes, by the device's policy.
//!
//! Amounts are compared exactly, but rounded to steps in whole units or thousandths of 64 bits, as kube-scheduler does.

use alloc::collections::BTreeMap;
use alloc::string::String;

use dra_model::{Capacity, QualifiedName, RequestPolicy, ValidRange};
use k8s_quantity::{Quantity, Sign};
use thiserror::Error;

/// An amount that cannot be worked out.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CapacityError {
    /// Past 64 bits.
    #[error("capacity request cannot be represented in the device's range arithmetic: {0}")]
    NotRepresentable(String),
    /// Below zero.
    #[error("capacity value is negative")]
    Negative,
    /// A step of zero, on which kube-scheduler itself crashes.
    #[error("the step of the request policy is zero")]
    ZeroStep,
}

/// In which units steps are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fractions {
    /// Whole ones: fractions are rounded up first.
    Rounded,
    /// Thousandths, where everything fits.
    Counted,
}

/// What a request takes of each capacity of a device.
pub(crate) type Amounts = BTreeMap<QualifiedName, Quantity>;

/// What a device makes of a request for capacity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fit {
    /// It would take this.
    Takes(Amounts),
    /// The device lacks a capacity, or its policy refuses the amount.
    Refused,
}

/// Works out what a request takes; with the name of the capacity where that is an error.
pub(crate) fn fit(
    requests: Option<&Amounts>,
    capacities: &BTreeMap<QualifiedName, Capacity>,
    fractions: Fractions,
) -> Result<Fit, (QualifiedName, CapacityError)> {
    if requests.is_some_and(|requests| requests.keys().any(|name| !capacities.contains_key(name))) {
        return Ok(Fit::Refused);
    }
    let mut amounts = Amounts::new();
    for (name, capacity) in capacities {
        let request = requests.and_then(|requests| requests.get(name));
        let amount = amount(request, capacity, fractions).map_err(|error| (name.clone(), error))?;
        if amount.sign() == Sign::Negative {
            return Err((name.clone(), CapacityError::Negative));
        }
        amounts.insert(name.clone(), amount);
    }
    for (name, amount) in &amounts {
        let policy = capacities.get(name).and_then(|capacity| capacity.policy.as_ref());
        if let Some(policy) = policy
            && violates(amount, policy, fractions).map_err(|error| (name.clone(), error))?
        {
            return Ok(Fit::Refused);
        }
    }
    Ok(Fit::Takes(amounts))
}

fn amount(
    request: Option<&Quantity>,
    capacity: &Capacity,
    fractions: Fractions,
) -> Result<Quantity, CapacityError> {
    let policy = capacity.policy.as_ref();
    let Some(request) = request else {
        return Ok(policy.and_then(|policy| policy.default.as_ref()).unwrap_or(&capacity.value).clone());
    };
    let Some(policy) = policy else { return Ok(request.clone()) };
    if let Some(range) = &policy.range
        && let Some(min) = &range.min
    {
        return round_up(request, range, min, fractions);
    }
    let value = policy.values.iter().find(|value| request <= value);
    Ok(value.unwrap_or(request).clone())
}

fn round_up(
    request: &Quantity,
    range: &ValidRange,
    min: &Quantity,
    fractions: Fractions,
) -> Result<Quantity, CapacityError> {
    if request < min {
        return Ok(min.clone());
    }
    let Some(step) = &range.step else { return Ok(request.clone()) };
    if counts_fractions(range, fractions) {
        return round_up_milli(request, min, step);
    }
    if *request > Quantity::from_units(i64::MAX, step.format()) {
        return Err(CapacityError::NotRepresentable(alloc::format!("request {request} exceeds MaxInt64")));
    }
    let (low, unit) = (min.value(), step.value());
    let steps = steps(request.value().wrapping_sub(low), unit)?;
    if low >= 0 && steps > most_steps(low, unit) {
        return Err(passes(request, "MaxInt64"));
    }
    Ok(Quantity::from_units(low.wrapping_add(unit.wrapping_mul(steps)), step.format()))
}

fn round_up_milli(request: &Quantity, min: &Quantity, step: &Quantity) -> Result<Quantity, CapacityError> {
    let Some(wanted) = exact_milli(request) else {
        let text = alloc::format!("request {request} is not a representable milli value");
        return Err(CapacityError::NotRepresentable(text));
    };
    let (low, unit) = (min.milli_value(), step.milli_value());
    let steps = steps(wanted.wrapping_sub(low), unit)?;
    if steps > most_steps(low, unit) {
        return Err(passes(request, "the milli-value range"));
    }
    let milli = low.wrapping_add(unit.wrapping_mul(steps));
    Ok(if milli % 1000 == 0 {
        Quantity::from_units(milli / 1000, step.format())
    } else {
        Quantity::from_milli(milli, step.format())
    })
}

fn passes(request: &Quantity, limit: &str) -> CapacityError {
    CapacityError::NotRepresentable(alloc::format!(
        "rounding request {request} up to the next step passes {limit}"
    ))
}

/// How many steps cover an amount.
fn steps(amount: i64, unit: i64) -> Result<i64, CapacityError> {
    if unit == 0 {
        return Err(CapacityError::ZeroStep);
    }
    Ok(amount.wrapping_div(unit).wrapping_add(i64::from(amount.wrapping_rem(unit) != 0)))
}

fn most_steps(low: i64, unit: i64) -> i64 {
    i64::MAX.wrapping_sub(low).checked_div(unit).unwrap_or(i64::MAX)
}

fn violates(amount: &Quantity, policy: &RequestPolicy, fractions: Fractions) -> Result<bool, CapacityError> {
    // The default passes only in the very form in which it is written.
    let is_default = |default: &Quantity| !amount.is_big() && amount.is_written_as(default);
    if policy.default.as_ref().is_some_and(is_default) {
        return Ok(false);
    }
    match &policy.range {
        Some(range) => violates_range(amount, range, fractions),
        None => Ok(!policy.values.is_empty() && !policy.values.contains(amount)),
    }
}

fn violates_range(
    amount: &Quantity,
    range: &ValidRange,
    fractions: Fractions,
) -> Result<bool, CapacityError> {
    if range.max.as_ref().is_some_and(|max| amount > max) {
        return Ok(true);
    }
    let Some(step) = &range.step else { return Ok(false) };
    let zero = Quantity::default();
    let min = range.min.as_ref().unwrap_or(&zero);
    let (amount, unit, low) = if counts_fractions(range, fractions) {
        let Some(amount) = exact_milli(amount) else { return Ok(true) };
        (amount, step.milli_value(), min.milli_value())
    } else {
        (amount.value(), step.value(), min.value())
    };
    if unit == 0 {
        return Err(CapacityError::ZeroStep);
    }
    Ok(amount.wrapping_sub(low).wrapping_rem(unit) != 0)
}

/// Whether a range is counted in thousandths: all of it fits, and a step is at least one.
fn counts_fractions(range: &ValidRange, fractions: Fractions) -> bool {
    let parts = [&range.min, &range.max, &range.step];
    let fits = parts.into_iter().flatten().all(|part| exact_milli(part).is_some());
    let has_step = range.step.as_ref().is_none_or(|step| step.milli_value() >= 1);
    fractions == Fractions::Counted && fits && has_step
}

/// Thousandths, if they are exact.
fn exact_milli(quantity: &Quantity) -> Option<i64> {
    let milli = quantity.milli_value();
    (Quantity::from_milli(milli, quantity.format()) == *quantity).then_some(milli)
}

/// Billionths, which every quantity has a whole number of. Beyond 128 bits the nearest there is.
pub(crate) fn billionths(quantity: &Quantity) -> i128 {
    quantity.nano_units().unwrap_or(if quantity.sign() == Sign::Negative {
        i128::MIN / 4
    } else {
        i128::MAX / 4
    })
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    fn quantity(text: &str) -> Quantity {
        text.parse().expect("a quantity")
    }

    fn stepped(default: &str, range: [&str; 3]) -> Capacity {
        let [min, max, step] = range.map(|text| (!text.is_empty()).then(|| quantity(text)));
        let policy = RequestPolicy {
            default: Some(quantity(default)),
            range: Some(ValidRange { min, max, step }),
            ..RequestPolicy::default()
        };
        Capacity { value: quantity("10"), policy: Some(policy) }
    }

    fn taken(request: Option<&str>, capacity: Capacity, fractions: Fractions) -> String {
        let name = QualifiedName::from("c");
        let requests = request.map(|text| Amounts::from([(name.clone(), quantity(text))]));
        let fit = fit(requests.as_ref(), &BTreeMap::from([(name.clone(), capacity)]), fractions);
        match fit {
            Ok(Fit::Takes(amounts)) => amounts[&name].to_string(),
            Ok(Fit::Refused) => "refused".to_string(),
            Err((_, error)) => error.to_string(),
        }
    }

    #[test]
    fn a_request_is_rounded_up_to_steps_from_the_minimum_and_refused_above_the_maximum() {
        for (request, range, rounded, counted) in [
            (Some("1200m"), ["500m", "", "500m"], "2", "1500m"),
            (Some("100m"), ["500m", "", "500m"], "500m", "500m"),
            (Some("3"), ["1", "", "4"], "5", "5"),
            (Some("3"), ["1", "4", "4"], "refused", "refused"),
            (Some("3"), ["1", "4", ""], "3", "3"),
            (None, ["4", "8", "2"], "3", "3"),
        ] {
            let capacity = || stepped("3", range);
            assert_eq!(taken(request, capacity(), Fractions::Rounded), rounded, "{request:?} of {range:?}");
            assert_eq!(
                taken(request, capacity(), Fractions::Counted),
                counted,
                "{request:?} of {range:?} in milli"
            );
        }
    }

    #[test]
    fn an_amount_past_64_bits_is_an_error_and_not_a_smaller_amount() {
        let text = taken(Some("9223372036854775807"), stepped("1", ["1", "", "4"]), Fractions::Rounded);
        assert_eq!(
            text,
            "capacity request cannot be represented in the device's range arithmetic: \
             rounding request 9223372036854775807 up to the next step passes MaxInt64"
        );
        let zero = taken(Some("3"), stepped("1", ["1", "", "0"]), Fractions::Rounded);
        assert_eq!(zero, "the step of the request policy is zero");
    }
}
