//! Request policies of capacities.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};

use dra_model::{Capacity, Feature, Features, RequestPolicy, ValidRange};
use k8s_quantity::{Quantity, Sign};

use crate::errors::Faults;
use crate::path::Path;

/// The most entries of `validValues`.
const MOST_VALUES: usize = 10;

/// Of a device that only one request can have.
pub(crate) fn exclusive(capacity: &Capacity, at: &Path, faults: &mut Faults) {
    if capacity.policy.is_some() {
        faults.forbidden(&at.child("requestPolicy"), "allowMultipleAllocations must be true");
    }
}

/// Of a device that several requests can share.
pub(crate) fn shared(capacity: &Capacity, features: Features, at: &Path, faults: &mut Faults) {
    let Some(policy) = &capacity.policy else { return };
    let at = at.child("requestPolicy");
    if !policy.values.is_empty() && policy.range.is_some() {
        let rule = "exactly one policy can be specified, cannot specify \"validValues\" and \"validRange\" at the same time";
        return faults.forbidden(&at, rule);
    }
    let checked = Checked { most: &capacity.value, features };
    let missing = at.child("default");
    match (policy, &policy.range, &policy.default) {
        (RequestPolicy { values, .. }, _, None) if !values.is_empty() => {
            faults.required(&missing, "required when validValues is defined");
        }
        (RequestPolicy { values, .. }, _, Some(default)) if !values.is_empty() => {
            checked.values(values, default, &at.child("validValues"), faults);
        }
        (_, Some(_), None) => faults.required(&missing, "required when validRange is defined"),
        (_, Some(range), Some(default)) => checked.range(range, default, &at.child("validRange"), faults),
        _ => {}
    }
}

/// A policy of a capacity of so much.
struct Checked<'a> {
    most: &'a Quantity,
    features: Features,
}

fn canonical(quantity: &Quantity) -> String {
    quantity.canonical().to_string()
}

fn invalid(quantity: &Quantity, at: &Path, rule: &str, faults: &mut Faults) {
    faults.invalid(at, &canonical(quantity), rule);
}

impl Checked<'_> {
    fn values(&self, values: &[Quantity], default: &Quantity, at: &Path, faults: &mut Faults) {
        for (number, pair) in values.windows(2).enumerate() {
            if let [lower, higher] = pair
                && lower > higher
            {
                invalid(higher, &at.index(number + 1), "values must be sorted in ascending order", faults);
            }
        }
        let mut has_default = false;
        if faults.is_within(at, values.len(), MOST_VALUES) {
            has_default = values.contains(default);
            self.each_value(values, at, faults);
        }
        if !has_default {
            invalid(default, at, "default value is not valid according to the requestPolicy", faults);
        }
    }

    fn each_value(&self, values: &[Quantity], at: &Path, faults: &mut Faults) {
        for (number, value) in values.iter().enumerate() {
            if value > self.most {
                let rule = format!("option is larger than capacity value: {}", canonical(self.most));
                invalid(value, &at.index(number), &rule, faults);
            }
        }
        let mut seen = BTreeSet::new();
        for (number, value) in values.iter().enumerate() {
            let key = self.key(value);
            if !seen.insert(key.clone()) {
                faults.duplicate(&at.index(number), &cpuset::go_quote(&key));
            }
        }
    }

    /// The text by which values are compared: whole units, unless fractions count.
    fn key(&self, value: &Quantity) -> String {
        if self.features.has(Feature::FractionalCapacityRange) {
            return plain_decimal(value);
        }
        value.value().to_string()
    }

    fn range(&self, range: &ValidRange, default: &Quantity, at: &Path, faults: &mut Faults) {
        let Some(min) = &range.min else {
            return faults.required(&at.child("min"), "required when validRange is defined");
        };
        self.bounds(range, min, default, at, faults);
        let all = [
            ("default", Some(default)),
            ("min", Some(min)),
            ("max", range.max.as_ref()),
            ("step", range.step.as_ref()),
        ];
        let unit = self.unit(range, default);
        if unit == Unit::Milli {
            let too_fine = |quantity: &Quantity| quantity.clone().round_up_to_milli() != *quantity;
            if refuse(&all, at, faults, |quantity| {
                too_fine(quantity).then_some("value cannot be represented as a milli value")
            }) {
                return;
            }
        }
        if let Some(step) = &range.step {
            self.step(step, &all, unit, at, faults);
        }
    }

    fn bounds(&self, range: &ValidRange, min: &Quantity, default: &Quantity, at: &Path, faults: &mut Faults) {
        let most = canonical(self.most);
        if min > self.most {
            invalid(min, &at.child("min"), &format!("min is larger than capacity value: {most}"), faults);
        }
        if default < min {
            invalid(
                default,
                &at.child("default"),
                &format!("default is less than min: {}", canonical(min)),
                faults,
            );
        }
        let Some(max) = &range.max else { return };
        if min > max {
            invalid(min, &at.child("max"), &format!("min is larger than max: {}", canonical(max)), faults);
        }
        if max > self.most {
            invalid(max, &at.child("max"), &format!("max is larger than capacity value: {most}"), faults);
        }
        if default > max {
            invalid(
                default,
                &at.child("default"),
                &format!("default is more than max: {}", canonical(max)),
                faults,
            );
        }
    }

    /// In thousandths if anything has a fraction and such ranges are enabled.
    fn unit(&self, range: &ValidRange, default: &Quantity) -> Unit {
        let bounds = [Some(default), range.min.as_ref(), range.max.as_ref(), range.step.as_ref()];
        let has_fraction = bounds.into_iter().flatten().any(has_fraction);
        if has_fraction && self.features.has(Feature::FractionalCapacityRange) {
            Unit::Milli
        } else {
            Unit::Whole
        }
    }

    fn step(&self, step: &Quantity, all: &[Bound<'_>; 4], unit: Unit, at: &Path, faults: &mut Faults) {
        let place = at.child("step");
        if step.sign() != Sign::Positive {
            return invalid(step, &place, "must be greater than zero", faults);
        }
        let [(_, default), (_, min), (_, max), _] = all;
        let Some(min) = *min else { return };
        let added = min + step;
        if added > *self.most {
            let (added, most) = (canonical(&added), canonical(self.most));
            invalid(step, &place, &format!("one step {added} is larger than capacity value: {most}"), faults);
        }
        if unit == Unit::Whole && refuse(all, at, faults, beyond_int64) {
            return;
        }
        for value in [*default, *max].into_iter().flatten() {
            unit.is_on_step(value, min, step, &place, faults);
        }
    }
}

/// A bound of a range, by its field.
type Bound<'a> = (&'static str, Option<&'a Quantity>);

/// Whether any bound breaks a rule; each that does is refused.
fn refuse(
    all: &[Bound<'_>; 4],
    at: &Path,
    faults: &mut Faults,
    rule: impl Fn(&Quantity) -> Option<&'static str>,
) -> bool {
    let mut any = false;
    for (field, bound) in all {
        if let Some(bound) = bound
            && let Some(rule) = rule(bound)
        {
            invalid(bound, &at.child(field), rule, faults);
            any = true;
        }
    }
    any
}

fn beyond_int64(quantity: &Quantity) -> Option<&'static str> {
    if quantity.sign() == Sign::Negative {
        return Some("must be greater than or equal to 0");
    }
    let most = Quantity::from_units(i64::MAX, quantity.format());
    (*quantity > most).then_some("must not be larger than 9223372036854775807")
}

fn has_fraction(quantity: &Quantity) -> bool {
    let whole = quantity.ceil_units().and_then(|whole| whole.to_string().parse::<Quantity>().ok());
    whole.is_some_and(|whole| whole != *quantity)
}

/// Digits and a point, without a suffix.
fn plain_decimal(quantity: &Quantity) -> String {
    let units = quantity.ceil_units();
    match units {
        Some(units) if !has_fraction(quantity) => units.to_string(),
        _ => canonical(quantity),
    }
}

/// In what values of a range are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Whole,
    Milli,
}

impl Unit {
    fn of(self, quantity: &Quantity) -> i64 {
        match self {
            Self::Whole => quantity.value(),
            Self::Milli => quantity.milli_value(),
        }
    }

    fn is_on_step(self, value: &Quantity, min: &Quantity, step: &Quantity, at: &Path, faults: &mut Faults) {
        let above = self.of(value).wrapping_sub(self.of(min));
        if above.checked_rem(self.of(step)).is_some_and(|rest| rest != 0) {
            let rule = format!(
                "value is not a multiple of a given step ({}) from ({})",
                canonical(step),
                canonical(min)
            );
            invalid(value, at, &rule, faults);
        }
    }
}
