//! Changes of a pod's claims that bring their devices to other NUMA nodes.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use dra_model::{
    Constraint, DeviceRequest, QualifiedName, RequestForm, RequestName, RequestedDevices, ResourceClaimSpec,
    Selector,
};

use crate::claim::{ClaimState, PodClaim};

/// A change of a claim. Displays as what its writer has to add to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClaimChange {
    /// A constraint: the devices of these requests have one value of an attribute.
    Match {
        /// What the pod calls the claim.
        claim: String,
        /// The attribute, as `domain/id`.
        attribute: QualifiedName,
        /// The requests; none: all.
        requests: Vec<RequestName>,
    },
    /// A further selector of requests: an attribute has this number.
    Select {
        /// What the pod calls the claim.
        claim: String,
        /// The requests.
        requests: Vec<RequestName>,
        /// The attribute, as `domain/id`.
        attribute: QualifiedName,
        /// The number.
        value: i64,
    },
    /// A request for CPUs of a driver, and a constraint between it and all others.
    Cpus {
        /// What the pod calls the claim.
        claim: String,
        /// The request.
        request: DeviceRequest,
        /// The attribute of which all devices have one value, as `domain/id`.
        attribute: QualifiedName,
    },
}

impl ClaimChange {
    /// Makes the change; `false`: there is no such claim, it has its devices already, or [`write`](Self::write) is.
    pub fn make(&self, claims: &mut [PodClaim]) -> bool {
        let (Self::Match { claim: name, .. }
        | Self::Select { claim: name, .. }
        | Self::Cpus { claim: name, .. }) = self;
        let own = claims.iter_mut().find(|claim| claim.name == *name);
        own.is_some_and(|own| own.state != ClaimState::Allocated && self.write(&mut own.claim.spec))
    }

    /// Writes the change into the specification of the claim; `false`: nothing is written, since it has the constraint alone that is
    /// to be added, a request of the name that is to be added, or none of these requests.
    pub fn write(&self, spec: &mut ResourceClaimSpec) -> bool {
        match self {
            Self::Match { attribute, requests, .. } => add_constraint(spec, attribute, requests),
            Self::Select { requests, attribute, value, .. } => {
                let selector = Selector::cel(&expression(attribute, *value));
                let mut chosen = spec.requests.iter_mut().filter(|own| requests.contains(&own.name));
                chosen.by_ref().flat_map(wanted).map(|wanted| wanted.selectors.push(selector.clone())).count()
                    > 0
            }
            Self::Cpus { request, attribute, .. } => {
                let is_new = spec.requests.iter().all(|own| own.name != request.name);
                if is_new {
                    spec.requests.push(request.clone());
                    // The specification can have it already.
                    add_constraint(spec, attribute, &[]);
                }
                is_new
            }
        }
    }
}

/// Adds a constraint that the specification does not have.
fn add_constraint(spec: &mut ResourceClaimSpec, attribute: &QualifiedName, requests: &[RequestName]) -> bool {
    let constraint = Constraint {
        requests: requests.to_vec(),
        match_attribute: Some(attribute.clone()),
        ..Constraint::default()
    };
    let is_new = !spec.constraints.contains(&constraint);
    if is_new {
        spec.constraints.push(constraint);
    }
    is_new
}

/// What a request asks for, in each of its alternatives.
fn wanted(request: &mut DeviceRequest) -> Vec<&mut RequestedDevices> {
    if matches!(request.form(), RequestForm::FirstAvailable(_)) {
        request.first_available.iter_mut().collect()
    } else {
        request.exactly.iter_mut().collect()
    }
}

/// The expression that an attribute `domain/id` of a device is a number from 0. It is false for a device without the attribute.
fn expression(attribute: &QualifiedName, value: i64) -> String {
    let (domain, id) = attribute.as_str().split_once('/').unwrap_or(("", attribute.as_str()));
    format!("device.attributes['{domain}'].?{id}.orValue(-1) == {value}")
}

impl fmt::Display for ClaimChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Match { claim, attribute, requests } => {
                write!(f, "matchAttribute {attribute} ")?;
                match requests.as_slice() {
                    [] => f.write_str("for all requests")?,
                    some => write!(f, "for requests {}", listed(some))?,
                }
                write!(f, " of claim {claim}")
            }
            Self::Select { claim, requests, attribute, value } => {
                let word = if requests.len() == 1 { "request" } else { "requests" };
                let (expression, requests) = (expression(attribute, *value), listed(requests));
                write!(f, "{expression} in {word} {requests} of claim {claim}")
            }
            Self::Cpus { claim, request, attribute } => {
                let RequestedDevices { class, mode, capacity, .. } =
                    request.exactly.clone().unwrap_or_default();
                write!(f, "a request for ")?;
                match capacity.iter().flatten().next() {
                    Some((name, amount)) => write!(f, "{name} {amount} of a device")?,
                    None => write!(f, "{} devices", mode.count())?,
                }
                write!(
                    f,
                    " of class {class} in claim {claim}, with matchAttribute {attribute} for all requests"
                )
            }
        }
    }
}

fn listed(requests: &[RequestName]) -> String {
    let names: Vec<String> = requests.iter().map(ToString::to_string).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn request(name: &str) -> DeviceRequest {
        let exactly = Some(RequestedDevices { class: "c".into(), ..RequestedDevices::default() });
        DeviceRequest { name: name.into(), exactly, ..DeviceRequest::default() }
    }

    #[test]
    fn a_request_for_cpus_is_added_beside_the_constraint_that_is_there_and_never_half() {
        let attribute = QualifiedName::from("example.com/node");
        let matched = Constraint { match_attribute: Some(attribute.clone()), ..Constraint::default() };
        let spec = |requests: &[&str], constraints: &[Constraint]| ResourceClaimSpec {
            requests: requests.iter().map(|name| request(name)).collect(),
            constraints: constraints.to_vec(),
            ..ResourceClaimSpec::default()
        };
        let cpus = ClaimChange::Cpus { claim: "d".into(), request: request("cpus"), attribute };
        let one = vec![matched.clone()];
        for (before, is_made, after) in [
            (spec(&["gpu"], &[]), true, spec(&["gpu", "cpus"], &one)),
            (spec(&["gpu"], &one), true, spec(&["gpu", "cpus"], &one)),
            (spec(&["cpus"], &[]), false, spec(&["cpus"], &[])),
        ] {
            let mut changed = before.clone();
            assert_eq!(cpus.write(&mut changed), is_made, "{before:?}");
            assert_eq!(changed, after);
        }
    }
}
