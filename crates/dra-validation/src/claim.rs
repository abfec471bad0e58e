//! Claims: what is asked for, and under which constraints.

use alloc::collections::BTreeSet;

use dra_model::{Constraint, DeviceRequest, Feature, Features, RequestName, ResourceClaimSpec};

use crate::errors::Faults;
use crate::expressions::Expressions;
use crate::names::{fully_qualified, label};
use crate::namespace::AdminNamespace;
use crate::path::Path;
use crate::request::{self, Context};
use crate::{config, json};

/// Of requests, constraints and configurations each, and of requests that one of them names.
const MOST: usize = 32;

/// Admin access needs a namespace with a label. The path is that of a claim also in templates, and without `exactly`.
pub(crate) fn admin_access(spec: &ResourceClaimSpec, namespace: AdminNamespace, faults: &mut Faults) {
    let is_asked_for = |request: &DeviceRequest| {
        request.exactly.as_ref().is_some_and(|devices| devices.admin_access == Some(true))
    };
    if let Some(number) = spec.requests.iter().position(is_asked_for)
        && namespace == AdminNamespace::Other
    {
        let rule = "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing \
                    namespace";
        let at = Path::new("spec").child("devices").child("requests").index(number).child("adminAccess");
        faults.forbidden(&at, rule);
    }
}

/// Lists that are too long are left to the declared rules, which name them.
fn within<T>(list: &[T]) -> &[T] {
    if list.len() > MOST { &[] } else { list }
}

pub(crate) fn by_hand(
    spec: &ResourceClaimSpec,
    at: &Path,
    expressions: Expressions,
    features: Features,
    faults: &mut Faults,
) {
    let mut context = Context { expressions, constraints: &spec.constraints, derived_cost: 0 };
    for (number, request) in within(&spec.requests).iter().enumerate() {
        request::by_hand(request, &mut context, &at.child("requests").index(number), faults);
    }
    for (number, constraint) in within(&spec.constraints).iter().enumerate() {
        let at = at.child("constraints").index(number);
        references(&constraint.requests, &spec.requests, &at.child("requests"), faults);
        attribute_by_hand(constraint, features, &at, faults);
    }
    for (number, config) in within(&spec.config).iter().enumerate() {
        let at = at.child("config").index(number);
        references(&config.requests, &spec.requests, &at.child("requests"), faults);
        config::by_hand(config.opaque.as_ref(), &at, faults);
    }
    context.total_cost(at, faults);
}

fn attribute_by_hand(constraint: &Constraint, features: Features, at: &Path, faults: &mut Faults) {
    if constraint.match_attribute.is_some() || constraint.distinct_attribute.is_some() {
        return;
    }
    if features.has(Feature::ConsumableCapacity) {
        let rule = "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple fields are set";
        faults.required(at, rule);
    } else {
        faults.required(&at.child("matchAttribute"), "");
    }
}

/// Names of requests, or of alternatives.
fn references(names: &[RequestName], requests: &[DeviceRequest], at: &Path, faults: &mut Faults) {
    const RULE: &str = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
    for (number, name) in within(names).iter().enumerate() {
        let at = at.index(number);
        if name.split('/').count() > 2 {
            faults.invalid(&at, name, RULE);
            continue;
        }
        name.split('/').for_each(|part| label(part, &at, faults));
        if !names_one(name, requests) {
            faults.invalid(&at, name, RULE);
        }
    }
}

/// Of requests with the same name the last one counts.
fn names_one(name: &str, requests: &[DeviceRequest]) -> bool {
    let (parent, alternative) =
        name.split_once('/').map_or((name, None), |(parent, rest)| (parent, Some(rest)));
    let request = requests.iter().rfind(|request| request.name == parent);
    request.is_some_and(|request| {
        alternative.is_none_or(|wanted| request.first_available.iter().any(|devices| devices.name == wanted))
    })
}

pub(crate) fn declared(spec: &ResourceClaimSpec, at: &Path, faults: &mut Faults) {
    let place = at.child("requests");
    if faults.is_within(&place, spec.requests.len(), MOST) {
        let mut seen = BTreeSet::new();
        for (number, request) in spec.requests.iter().enumerate() {
            if !seen.insert(&request.name) {
                faults.duplicate(&place.index(number), &json::request(request));
            }
            request::declared(request, &place.index(number), faults);
        }
    }
    let place = at.child("constraints");
    if faults.is_within(&place, spec.constraints.len(), MOST) {
        for (number, constraint) in spec.constraints.iter().enumerate() {
            constraint_declared(constraint, &place.index(number), faults);
        }
    }
    let place = at.child("config");
    if faults.is_within(&place, spec.config.len(), MOST) {
        for (number, config) in spec.config.iter().enumerate() {
            names_declared(&config.requests, &place.index(number), faults);
            config::declared(config.opaque.as_ref(), &place.index(number), faults);
        }
    }
}

fn constraint_declared(constraint: &Constraint, at: &Path, faults: &mut Faults) {
    names_declared(&constraint.requests, at, faults);
    if let Some(name) = &constraint.match_attribute {
        fully_qualified(name, &at.child("matchAttribute"), faults);
    }
    if let Some(name) = &constraint.distinct_attribute {
        fully_qualified(name, &at.child("distinctAttribute"), faults);
    }
}

fn names_declared(names: &[RequestName], at: &Path, faults: &mut Faults) {
    let at = at.child("requests");
    if !faults.is_within(&at, names.len(), MOST) {
        return;
    }
    let mut seen = BTreeSet::new();
    for (number, name) in names.iter().enumerate() {
        if !seen.insert(name) {
            faults.duplicate(&at.index(number), &cpuset::go_quote(name));
        }
    }
}
