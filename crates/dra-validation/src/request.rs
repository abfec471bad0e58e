//! Requests of claims.

use alloc::collections::BTreeSet;
use alloc::format;

use dra_cel::Purpose;
use dra_model::text::Length;
use dra_model::{AllocationMode, Constraint, DerivedAttribute, DeviceRequest, RequestedDevices};

use crate::errors::Faults;
use crate::expressions::{Expressions, HIGHEST_COST};
use crate::names::{class, fully_qualified, label};
use crate::path::Path;
use crate::{json, limits, taint};

const MOST_ALTERNATIVES: usize = 8;
const MOST_DERIVED: usize = 32;

/// What requests are checked with.
pub(crate) struct Context<'a> {
    pub(crate) expressions: Expressions,
    pub(crate) constraints: &'a [Constraint],
    /// The cost of all derived attributes so far.
    pub(crate) derived_cost: u64,
}

const ONE: &str = "exactly one of `exactly` or `firstAvailable` is required";

pub(crate) fn by_hand(request: &DeviceRequest, context: &mut Context<'_>, at: &Path, faults: &mut Faults) {
    label(&request.name, &at.child("name"), faults);
    match (&request.exactly, request.first_available.as_slice()) {
        (None, []) => faults.required(at, ONE),
        (Some(devices), []) => {
            let at = at.child("exactly");
            class(&devices.class, &at.child("deviceClassName"), Length::Characters, faults);
            context.devices(devices, &request.name, &at, faults);
        }
        (Some(_), _) => {
            faults.invalid_value(at, &"null", &format!("{ONE}, but multiple fields are set"));
        }
        // Their number is checked by declaration, and ends this.
        (None, alternatives) if alternatives.len() > MOST_ALTERNATIVES => {}
        (None, alternatives) => {
            for (number, devices) in alternatives.iter().enumerate() {
                let at = at.child("firstAvailable").index(number);
                label(&devices.name, &at.child("name"), faults);
                context.devices(devices, &format!("{}/{}", request.name, devices.name), &at, faults);
            }
        }
    }
}

impl Context<'_> {
    fn devices(&mut self, devices: &RequestedDevices, name: &str, at: &Path, faults: &mut Faults) {
        self.expressions.selectors(&devices.selectors, &at.child("selectors"), faults);
        let place = at.child("derivedAttributes");
        let mut seen = BTreeSet::new();
        for (number, attribute) in devices.derived_attributes.iter().enumerate() {
            self.derived(attribute, name, &place.index(number), faults);
            if !seen.insert(&attribute.name) {
                faults.duplicate(&place.index(number), &cpuset::go_quote(&attribute.name));
            }
        }
        mode(&devices.mode, at, faults);
        for (number, toleration) in devices.tolerations.iter().enumerate() {
            taint::toleration_by_hand(toleration, &at.child("tolerations").index(number), faults);
        }
    }

    fn derived(&mut self, attribute: &DerivedAttribute, request: &str, at: &Path, faults: &mut Faults) {
        if !attribute.name.is_empty()
            && !self.constraints.iter().any(|constraint| uses(constraint, attribute, request))
        {
            let rule = "must be referenced by at least one matchAttribute or distinctAttribute constraint targeting this request";
            faults.invalid_value(&at.child("name"), &json::text(&attribute.name), rule);
        }
        if !attribute.expression.is_empty() {
            let at = at.child("expression");
            let cost = self.expressions.cost(&attribute.expression, Purpose::DerivedAttribute, &at, faults);
            self.derived_cost = self.derived_cost.saturating_add(cost);
        }
    }

    /// Whether all derived attributes together may be evaluated.
    pub(crate) fn total_cost(&self, at: &Path, faults: &mut Faults) {
        if self.derived_cost > HIGHEST_COST {
            let rule = "too complex, total cost of derived attribute CEL expressions in the claim exceeds cost limit";
            faults.forbidden(at, rule);
        }
    }
}

/// Whether a constraint is about an attribute of a request, `request/alternative` for an alternative.
fn uses(constraint: &Constraint, attribute: &DerivedAttribute, request: &str) -> bool {
    let named = constraint.match_attribute.as_ref().or(constraint.distinct_attribute.as_ref());
    let parent = request.split_once('/').map_or(request, |(parent, _)| parent);
    let is_about = |name: &str| name.is_empty() || name == request || name == parent;
    named == Some(&attribute.name)
        && (constraint.requests.is_empty() || constraint.requests.iter().any(|name| is_about(name)))
}

fn mode(mode: &AllocationMode, at: &Path, faults: &mut Faults) {
    let count = at.child("count");
    match mode {
        AllocationMode::ExactCount(number) if *number <= 0 => {
            faults.invalid_value(&count, number, "must be greater than zero");
        }
        AllocationMode::All(number) if *number != 0 => {
            faults.invalid_value(&count, number, "must not be specified when allocationMode is 'All'");
        }
        // An absent mode is fine by declaration.
        AllocationMode::Other { mode, .. } if mode.is_empty() => {
            faults.not_supported(&at.child("allocationMode"), mode, &MODES);
        }
        _ => {}
    }
}

const MODES: [&str; 2] = ["All", "ExactCount"];

pub(crate) fn declared(request: &DeviceRequest, at: &Path, faults: &mut Faults) {
    if let Some(devices) = &request.exactly {
        devices_declared(devices, &at.child("exactly"), faults);
    }
    let at = at.child("firstAvailable");
    if !faults.is_within(&at, request.first_available.len(), MOST_ALTERNATIVES) {
        return;
    }
    let mut seen = BTreeSet::new();
    for (number, devices) in request.first_available.iter().enumerate() {
        let at = at.index(number);
        if !seen.insert(&devices.name) {
            faults.duplicate(&at, &json::alternative(devices));
        }
        class(&devices.class, &at.child("deviceClassName"), Length::Bytes, faults);
        devices_declared(devices, &at, faults);
    }
}

fn devices_declared(devices: &RequestedDevices, at: &Path, faults: &mut Faults) {
    faults.is_within(&at.child("selectors"), devices.selectors.len(), limits::SELECTORS);
    if let AllocationMode::Other { mode, .. } = &devices.mode
        && !mode.is_empty()
    {
        faults.not_supported(&at.child("allocationMode"), mode, &MODES);
    }
    for (number, toleration) in devices.tolerations.iter().enumerate() {
        taint::toleration_declared(toleration, &at.child("tolerations").index(number), faults);
    }
    let at = at.child("derivedAttributes");
    if faults.is_within(&at, devices.derived_attributes.len(), MOST_DERIVED) {
        for (number, attribute) in devices.derived_attributes.iter().enumerate() {
            derived_declared(attribute, &at.index(number), faults);
        }
    }
}

fn derived_declared(attribute: &DerivedAttribute, at: &Path, faults: &mut Faults) {
    if attribute.name.is_empty() {
        faults.required(&at.child("name"), "");
    } else {
        fully_qualified(&attribute.name, &at.child("name"), faults);
    }
    if attribute.expression.is_empty() {
        faults.required(&at.child("expression"), "");
    }
}
