//! Changes to claims, devices and what others hold, under which claims may fit.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use dra_model::{
    AllocationMode, Constraint, CounterSet, CounterSetName, Device, DeviceId, DeviceName, DriverName,
    PoolName, QualifiedName, RequestName, ResourceClaim, ResourceSlice, Selector,
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
    /// Claims of others that give their devices back: their places among [`Objects::allocated`].
    Released(Vec<usize>),
    /// One more device of the same properties as this one.
    OneMore(DeviceId),
    /// One more counter set like this one, with devices like those that draw on it alone.
    OneMoreSet {
        /// The driver of the pool.
        driver: DriverName,
        /// The pool.
        pool: PoolName,
        /// The counter set in it.
        set: CounterSetName,
    },
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
            Self::Released(claims) => {
                if claims.iter().any(|claim| *claim >= changed.allocated.len()) {
                    return None;
                }
                let left = changed.allocated.iter().enumerate().filter(|(at, _)| !claims.contains(at));
                changed.allocated = Cow::Owned(left.map(|(_, claim)| claim.clone()).collect());
            }
            Self::OneMore(like) => add_device(&mut changed, like)?,
            Self::OneMoreSet { driver, pool, set } => {
                let is_of_pool =
                    |slice: &&mut ResourceSlice| slice.driver == *driver && slice.pool.name == *pool;
                add_set(changed.slices.to_mut().iter_mut().filter(is_of_pool).collect(), set)?;
            }
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
    let is_of_pool = |slice: &&mut ResourceSlice| slice.driver == like.driver && slice.pool.name == like.pool;
    let mut slices: Vec<&mut ResourceSlice> = objects.slices.to_mut().iter_mut().filter(is_of_pool).collect();
    let name = unused_names(&slices, 1).pop()?;
    for slice in &mut slices {
        let Some(devices) = &mut slice.devices else { continue };
        if let Some(device) = devices.iter().find(|device| device.name == like.device) {
            devices.push(Device { name, ..device.clone() });
            return Some(());
        }
    }
    None
}

/// Adds a counter set like another one of a pool, and devices like those that draw on it alone.
fn add_set(mut slices: Vec<&mut ResourceSlice>, like: &CounterSetName) -> Option<()> {
    let all: Vec<CounterSetName> =
        slices.iter().flat_map(|slice| slice.shared_counters()).map(|set| set.name.clone()).collect();
    let name = unused(all.iter().map(CounterSetName::as_str).collect()).map(CounterSetName::from).next()?;
    let draws = |device: &Device| draws_alone(device, like);
    let count = slices.iter().flat_map(|slice| slice.devices()).filter(|device| draws(device)).count();
    let mut names = unused_names(&slices, count);
    let mut is_added = false;
    for slice in &mut slices {
        if let Some(sets) = &mut slice.shared_counters
            && let Some(set) = sets.iter().find(|set| set.name == *like)
        {
            sets.push(CounterSet { name: name.clone(), ..set.clone() });
            is_added = true;
        }
        let Some(devices) = &mut slice.devices else { continue };
        for mut device in devices.iter().filter(|device| draws(device)).cloned().collect::<Vec<_>>() {
            device.name = names.pop()?;
            device.consumes.iter_mut().for_each(|consumption| consumption.set = name.clone());
            devices.push(device);
        }
    }
    is_added.then_some(())
}

/// Whether a device draws on a counter set and on no other.
pub(crate) fn draws_alone(device: &Device, set: &CounterSetName) -> bool {
    !device.consumes.is_empty() && device.consumes.iter().all(|consumption| consumption.set == *set)
}

/// So many names that no device of the slices of a pool has, the first one last.
fn unused_names(slices: &[&mut ResourceSlice], count: usize) -> Vec<DeviceName> {
    let used: BTreeSet<&str> =
        slices.iter().flat_map(|slice| slice.devices()).map(|device| device.name.as_str()).collect();
    let unused =
        (used.len()..).map(|number| format!("more-{number}")).filter(|name| !used.contains(name.as_str()));
    let mut names: Vec<DeviceName> = unused.take(count).map(DeviceName::from).collect();
    names.reverse();
    names
}

/// Names that are not used yet.
fn unused(used: BTreeSet<&str>) -> impl Iterator<Item = String> {
    (used.len()..).map(|number| format!("more-{number}")).filter(move |name| !used.contains(name.as_str()))
}
