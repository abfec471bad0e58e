//! Claims as the search has them; the first thing wrong with them is an error before anything is searched.

use alloc::vec;
use alloc::vec::Vec;

use dra_model::{
    AllocationMode, Constraint, DeviceClass, DeviceRequest, Feature, Implementation, NodePool, PoolState,
    RequestForm, RequestName, RequestedDevices, ResourceClaim,
};

use super::{Asked, Prepared, full_name};
use crate::error::{AllocateError, ClaimFault, reference};
use crate::expressions::Expressions;
use crate::search::{self, Access, Alternative, Claim, Form, MOST_RESULTS, Order, Request, Want};

impl<'a> Prepared<'a> {
    pub(crate) fn add_claims(
        &mut self,
        pools: &[NodePool<'a>],
        expressions: &mut Expressions,
    ) -> Result<(), AllocateError> {
        if self.implementation == Implementation::Stable {
            self.problem.order = Order::Permutations;
        }
        for (number, claim) in self.question.claims.iter().enumerate() {
            self.add_claim((number, claim), pools, expressions).map_err(|fault| match fault {
                Fault::Claim(place) => AllocateError::Claim { claim: reference(&claim.metadata), place },
                Fault::Other(error) => error,
            })?;
        }
        Ok(())
    }

    fn add_claim(
        &mut self,
        (number, claim): (usize, &'a ResourceClaim),
        pools: &[NodePool<'a>],
        expressions: &mut Expressions,
    ) -> Result<(), Fault> {
        let first = self.problem.requests.len();
        let mut least = 0;
        for request in &claim.spec.requests {
            least += self.add_request((number, claim), request, least, (pools, expressions))?;
        }
        let mut constraints = Vec::new();
        let mut attributes = Vec::new();
        for (place, constraint) in claim.spec.constraints.iter().enumerate() {
            let (kind, attribute) = self.constraint(constraint).ok_or(ClaimFault::EmptyConstraint(place))?;
            constraints.push(kind);
            attributes.push(self.attribute(attribute));
        }
        self.attribute_of.push(attributes);
        self.problem.claims.push(Claim { requests: first..self.problem.requests.len(), constraints });
        Ok(())
    }

    fn constraint(&self, constraint: &'a Constraint) -> Option<(search::Constraint, &'a str)> {
        if let Some(attribute) = &constraint.match_attribute {
            return Some((search::Constraint::Match, attribute));
        }
        let is_known = self.implementation != Implementation::Stable;
        let attribute = constraint.distinct_attribute.as_ref().filter(|_| is_known)?;
        Some((search::Constraint::Distinct, attribute))
    }

    fn attribute(&mut self, name: &'a str) -> usize {
        if let Some(place) = self.attributes.iter().position(|known| *known == name) {
            return place;
        }
        self.attributes.push(name);
        self.cache.borrow_mut().values.push(vec![None; self.devices.len()]);
        self.attributes.len() - 1
    }

    /// Adds a request; returns how many devices it needs at least.
    fn add_request(
        &mut self,
        (claim, object): (usize, &'a ResourceClaim),
        request: &'a DeviceRequest,
        before: i64,
        (pools, expressions): (&[NodePool<'a>], &mut Expressions),
    ) -> Result<i64, Fault> {
        let (form, list) = match request.form() {
            RequestForm::Exactly(devices) => (Form::Exactly, core::slice::from_ref(devices)),
            RequestForm::FirstAvailable(list) => (Form::FirstAvailable, list),
            RequestForm::Neither => return Err(ClaimFault::NoForm(request.name.clone()).into()),
        };
        self.check_features(request, form)?;
        let number = self.problem.requests.len();
        let first = self.problem.alternatives.len();
        let mut least = i64::MAX;
        for devices in list {
            let class = self.checked_class(devices, Self::own_name(request, devices, form))?;
            self.asks.push(self.selectors.add(&class.selectors, devices, expressions));
            self.asked.push(Asked { claim, request, devices, class, form });
            self.add_alternative(object, number, pools)?;
            least = least.min(self.problem.wanted(self.problem.alternatives.len() - 1));
        }
        if least > i64::try_from(MOST_RESULTS).unwrap_or(i64::MAX) - before {
            return Err(ClaimFault::TooMany { request: request.name.clone(), count: least, before }.into());
        }
        self.problem.requests.push(Request { alternatives: first..first + list.len(), form });
        Ok(least)
    }

    fn own_name(request: &DeviceRequest, devices: &RequestedDevices, form: Form) -> RequestName {
        if form == Form::Exactly { request.name.clone() } else { devices.name.clone() }
    }

    fn check_features(&self, request: &DeviceRequest, form: Form) -> Result<(), Fault> {
        if form == Form::FirstAvailable && !self.has(Feature::PrioritizedList) {
            return Err(ClaimFault::Subrequests(request.name.clone()).into());
        }
        if self.has(Feature::ConsumableCapacity) || self.implementation == Implementation::Stable {
            return Ok(());
        }
        if request.exactly.as_ref().is_some_and(|devices| devices.capacity.is_some()) {
            return Err(ClaimFault::Capacity(request.name.clone()).into());
        }
        match request.first_available.iter().find(|devices| devices.capacity.is_some()) {
            Some(devices) => Err(ClaimFault::SubrequestCapacity(devices.name.clone()).into()),
            None => Ok(()),
        }
    }

    fn checked_class(&self, devices: &RequestedDevices, name: RequestName) -> Result<&'a DeviceClass, Fault> {
        let is_derived = !devices.derived_attributes.is_empty();
        let derives =
            self.has(Feature::DerivedAttributes) && self.implementation == Implementation::Experimental;
        if is_derived && !derives {
            return Err(ClaimFault::DerivedAttributes(name).into());
        }
        if let Some(place) = devices.selectors.iter().position(|selector| selector.expression.is_none()) {
            return Err(ClaimFault::EmptySelector(name, place).into());
        }
        if devices.admin_access.is_some() && !self.has(Feature::AdminAccess) {
            return Err(ClaimFault::AdminAccess(name).into());
        }
        if devices.class.is_empty() {
            return Err(ClaimFault::NoClass(name).into());
        }
        let class = self.question.classes.iter().rev().find(|class| class.metadata.name == *devices.class);
        class.ok_or_else(|| ClaimFault::UnknownClass(name, devices.class.clone()).into())
    }

    /// Adds the alternative that was noted last.
    fn add_alternative(
        &mut self,
        claim: &ResourceClaim,
        request: usize,
        pools: &[NodePool<'a>],
    ) -> Result<(), Fault> {
        let number = self.problem.alternatives.len();
        let asked = self.asked[number];
        let names = [asked.request.name.clone(), full_name(&asked.request.name, &asked.devices.name)];
        let named = if asked.form == Form::Exactly { &names[..1] } else { &names[..] };
        let applies = |constraint: &Constraint| {
            constraint.requests.is_empty()
                || constraint.requests.iter().any(|request| named.contains(request))
        };
        let constraints =
            claim.spec.constraints.iter().enumerate().filter(|(_, constraint)| applies(constraint));
        let constraints = constraints.map(|(place, _)| place).collect();
        let is_admin = asked.form == Form::Exactly && asked.devices.admin_access == Some(true);
        let access = if is_admin { Access::Admin } else { Access::Ordinary };
        let devices = self.devices.len();
        self.cache.borrow_mut().answers.push(vec![None; devices]);
        self.cache.borrow_mut().selectable.push(vec![None; devices]);
        let want = match &asked.devices.mode {
            AllocationMode::ExactCount(count) => Want::Count(*count),
            AllocationMode::All(_) => Want::All(self.all(number, pools)?),
            AllocationMode::Other { mode, .. } => {
                return Err(ClaimFault::Mode(asked.own_name(), mode.clone()).into());
            }
        };
        self.problem.alternatives.push(Alternative {
            claim: asked.claim,
            request,
            want,
            access,
            constraints,
        });
        Ok(())
    }

    /// All devices that match, pool by pool; a pool that cannot be used is an error when its turn comes.
    fn all(&self, alternative: usize, pools: &[NodePool<'a>]) -> Result<Vec<usize>, Fault> {
        let asked = &self.asked[alternative];
        let mut all = Vec::new();
        let mut next = 0;
        for pool in pools {
            let name = || alloc::format!("{}/{}", pool.driver, pool.name);
            let devices = match &pool.state {
                PoolState::Complete(devices) => devices.devices().count(),
                PoolState::Incomplete => {
                    return Err(ClaimFault::IncompletePool(asked.own_name(), name()).into());
                }
                PoolState::Invalid(_) => return Err(ClaimFault::InvalidPool(asked.own_name(), name()).into()),
            };
            for device in next..next + devices {
                let is_member = self.is_selectable(alternative, device).map_err(Fault::Other)?
                    && self.empty_fit(alternative, device).map_err(Fault::Other)?;
                if is_member {
                    all.push(device);
                }
            }
            next += devices;
        }
        Ok(all)
    }
}

/// What is wrong, with or without the claim's name to add.
enum Fault {
    Claim(ClaimFault),
    Other(AllocateError),
}

impl From<ClaimFault> for Fault {
    fn from(fault: ClaimFault) -> Self {
        Self::Claim(fault)
    }
}
