//! Changes to claims, devices and what others hold, under which claims may fit.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use dra_model::{
    AllocationMode, Constraint, DeviceId, DeviceName, QualifiedName, RequestName, ResourceClaim, Selector,
};

use crate::members::restrict;
use crate::objects::Objects;

/// A change. Claims, requests and constraints are named by their places in the question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// A request in two claims, so many devices in each, with the constraints that are about it.
    Split {
        /// The claim.
        claim: usize,
        /// The request in it.
        request: usize,
        /// How many devices stay in the claim.
        first: i64,
    },
    /// A request in another claim than the others.
    Apart {
        /// The claim.
        claim: usize,
        /// The request in it.
        request: usize,
    },
    /// A constraint on another attribute.
    Attribute {
        /// The claim.
        claim: usize,
        /// The constraint in it.
        constraint: usize,
        /// The attribute, `domain/id`.
        attribute: QualifiedName,
    },
    /// A selector with another text.
    Selector {
        /// Where it is.
        place: SelectorPlace,
        /// Its number there.
        number: usize,
        /// The text.
        expression: String,
    },
    /// A claim of others that gives its devices back: its place among [`Objects::allocated`].
    Released(usize),
    /// One more device of the same properties as this one.
    OneMore(DeviceId),
    /// Fewer devices for a request.
    Fewer {
        /// The claim.
        claim: usize,
        /// The request in it.
        request: usize,
        /// How many.
        count: i64,
    },
    /// The requests of a claim in another order.
    Order {
        /// The claim.
        claim: usize,
        /// Places of the requests, in the new order.
        order: Vec<usize>,
    },
}

/// Where a selector is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SelectorPlace {
    /// In the class at this place.
    Class(usize),
    /// In a request.
    Request {
        /// The claim.
        claim: usize,
        /// The request in it.
        request: usize,
        /// The alternative; 0 of a request without any.
        alternative: usize,
    },
}

impl Change {
    /// The objects with the change; `None`: they have no such part.
    #[must_use]
    pub fn applied<'o>(&self, objects: &Objects<'o>) -> Option<Objects<'o>> {
        let mut changed = objects.clone();
        match self {
            Self::Split { claim, request, first } => split(&mut changed.claims, (*claim, *request), *first)?,
            Self::Apart { claim, request } => apart(&mut changed.claims, (*claim, *request))?,
            Self::Attribute { claim, constraint, attribute } => {
                let claim = changed.claims.to_mut().get_mut(*claim)?;
                set_attribute(claim.spec.constraints.get_mut(*constraint)?, attribute);
            }
            Self::Selector { place, number, expression } => {
                selectors(&mut changed, place)?.get_mut(*number)?.expression = Some(expression.clone());
            }
            Self::Released(claim) => {
                if *claim >= changed.allocated.len() {
                    return None;
                }
                changed.allocated.to_mut().remove(*claim);
            }
            Self::OneMore(like) => add_device(&mut changed, like)?,
            Self::Fewer { claim, request, count } => {
                set_count(&mut changed.claims, (*claim, *request), *count)?;
            }
            Self::Order { claim, order } => {
                let requests = &mut changed.claims.to_mut().get_mut(*claim)?.spec.requests;
                let ordered: Option<Vec<_>> = order.iter().map(|at| requests.get(*at).cloned()).collect();
                *requests = ordered?;
            }
        }
        Some(changed)
    }
}

fn set_attribute(constraint: &mut Constraint, attribute: &QualifiedName) {
    let own = if constraint.match_attribute.is_some() {
        &mut constraint.match_attribute
    } else {
        &mut constraint.distinct_attribute
    };
    *own = Some(attribute.clone());
}

fn selectors<'s>(objects: &'s mut Objects<'_>, place: &SelectorPlace) -> Option<&'s mut Vec<Selector>> {
    match place {
        SelectorPlace::Class(class) => Some(&mut objects.classes.to_mut().get_mut(*class)?.selectors),
        SelectorPlace::Request { claim, request, alternative } => {
            let claim = objects.claims.to_mut().get_mut(*claim)?;
            let request = claim.spec.requests.get_mut(*request)?;
            let devices = if request.first_available.is_empty() {
                request.exactly.as_mut()?
            } else {
                request.first_available.get_mut(*alternative)?
            };
            Some(&mut devices.selectors)
        }
    }
}

type Claims<'o> = Cow<'o, [ResourceClaim]>;

fn set_count(claims: &mut Claims<'_>, (claim, request): (usize, usize), count: i64) -> Option<()> {
    let request = claims.to_mut().get_mut(claim)?.spec.requests.get_mut(request)?;
    let mode = &mut request.exactly.as_mut()?.mode;
    let AllocationMode::ExactCount(own) = mode else { return None };
    *own = count;
    Some(())
}

fn split(claims: &mut Claims<'_>, (claim, request): (usize, usize), first: i64) -> Option<()> {
    let object = claims.get(claim)?.spec.requests.get(request)?.exactly.as_ref()?;
    let AllocationMode::ExactCount(count) = object.mode else { return None };
    let other = alone(claims.get(claim)?, request)?;
    let at = claims.len();
    claims.to_mut().push(other);
    set_count(claims, (claim, request), first)?;
    set_count(claims, (at, 0), count - first)
}

fn apart(claims: &mut Claims<'_>, (claim, request): (usize, usize)) -> Option<()> {
    let other = alone(claims.get(claim)?, request)?;
    let own = claims.to_mut().get_mut(claim)?;
    own.spec.requests.remove(request);
    let names: Vec<RequestName> = own.spec.requests.iter().map(|request| request.name.clone()).collect();
    own.spec.constraints.retain_mut(|constraint| restrict(constraint, &names));
    claims.to_mut().push(other);
    Some(())
}

/// A claim with one request alone, and the constraints that are about it.
fn alone(claim: &ResourceClaim, request: usize) -> Option<ResourceClaim> {
    let mut other = claim.clone();
    other.metadata.name = format!("{}-2", claim.metadata.name);
    other.spec.requests = Vec::from([claim.spec.requests.get(request)?.clone()]);
    let names = [other.spec.requests[0].name.clone()];
    other.spec.constraints.retain_mut(|constraint| restrict(constraint, &names));
    Some(other)
}

/// Adds a device like another one, beside it in its slice.
fn add_device(objects: &mut Objects<'_>, like: &DeviceId) -> Option<()> {
    let slice = objects.slices.to_mut().iter_mut().find(|slice| {
        slice.driver == like.driver
            && slice.pool.name == like.pool
            && slice.devices().iter().any(|device| device.name == like.device)
    })?;
    let devices = slice.devices.as_mut()?;
    let mut more = devices.iter().find(|device| device.name == like.device)?.clone();
    let mut number = devices.len();
    while devices.iter().any(|device| device.name.as_str() == format!("more-{number}")) {
        number += 1;
    }
    more.name = DeviceName::from(format!("more-{number}"));
    devices.push(more);
    Some(())
}
