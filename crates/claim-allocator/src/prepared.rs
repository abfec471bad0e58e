//! The problem that the search works on, and what it asks about it, made of objects.

mod placed;
mod claims;
mod counters;
mod device;
mod facts;
mod kinds;
mod selectors;
mod state;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cell::RefCell;

use dra_model::{
    DeviceClass, DeviceRequest, Feature, Implementation, NodePool, RequestName, RequestedDevices,
    ResourceClaim,
};

pub(crate) use self::facts::Selection;
pub(crate) use self::placed::Placed;
use self::selectors::{Asks, ExpressionId, Selectors};
use crate::attributes::{Lists, Numbers};
use crate::capacity::{Amounts, Fractions};
use crate::error::AllocateError;
use crate::expressions::Expressions;
use crate::question::Question;
use crate::search::{Answer, Form, Problem, Value};

/// An alternative with what it was made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) claim: usize,
    pub(crate) request: &'a DeviceRequest,
    pub(crate) devices: &'a RequestedDevices,
    pub(crate) class: &'a DeviceClass,
    pub(crate) form: Form,
}

/// Everything that is known before the search, and what was worked out on the way.
pub(crate) struct Prepared<'a> {
    pub(crate) question: &'a Question<'a>,
    pub(crate) implementation: Implementation,
    pub(crate) problem: Problem,
    /// The devices in order, of all pools that can be used.
    pub(crate) devices: Vec<Placed<'a>>,
    pub(crate) asked: Vec<Asked<'a>>,
    /// The expressions of each alternative.
    asks: Vec<Asks<'a>>,
    selectors: Selectors<'a>,
    state: state::State,
    lists: Lists,
    fractions: Fractions,
    numbers: Numbers,
    /// The attributes of constraints, by name.
    attributes: Vec<&'a str>,
    /// The attribute of each constraint of each claim.
    attribute_of: Vec<Vec<usize>>,
    cache: RefCell<Cache>,
}

/// What was asked before.
#[derive(Default)]
struct Cache {
    /// By alternative and device.
    answers: Vec<Vec<Option<Answer<AllocateError>>>>,
    selectable: Vec<Vec<Option<Result<bool, AllocateError>>>>,
    shares: BTreeMap<(usize, usize), Vec<i128>>,
    /// By attribute and device.
    values: Vec<Vec<Option<Value<AllocateError>>>>,
    derived: BTreeMap<(ExpressionId, usize), Value<AllocateError>>,
}

impl<'a> Prepared<'a> {
    /// Looks at pools and claims; the first fault is the answer.
    pub(crate) fn of(
        question: &'a Question<'a>,
        implementation: Implementation,
        pools: &[NodePool<'a>],
        expressions: &mut Expressions,
    ) -> Result<Self, AllocateError> {
        let features = question.features;
        let lists = if features.has(Feature::ListTypeAttributes) { Lists::Compared } else { Lists::Ignored };
        let fractional = features.has(Feature::FractionalCapacityRange);
        let fractions = if fractional { Fractions::Counted } else { Fractions::Rounded };
        let mut prepared = Self {
            question,
            implementation,
            problem: Problem::default(),
            devices: Vec::new(),
            asked: Vec::new(),
            asks: Vec::new(),
            selectors: Selectors::of(implementation),
            state: state::State::of(question),
            lists,
            fractions,
            numbers: Numbers::default(),
            attributes: Vec::new(),
            attribute_of: Vec::new(),
            cache: RefCell::default(),
        };
        prepared.add_pools(pools);
        prepared.selectors.set_devices(prepared.devices.len());
        prepared.add_claims(pools, expressions)?;
        Ok(prepared)
    }

    pub(crate) fn has(&self, feature: Feature) -> bool {
        self.question.features.has(feature)
    }

    /// Whether several requests share devices: the stable implementation does not know that.
    pub(crate) fn shares_devices(&self) -> bool {
        self.has(Feature::ConsumableCapacity) && self.implementation != Implementation::Stable
    }

    pub(crate) fn claim(&self, alternative: usize) -> &'a ResourceClaim {
        &self.question.claims[self.asked[alternative].claim]
    }

    pub(crate) fn fractions(&self) -> Fractions {
        self.fractions
    }

    /// What an alternative asks of each device's capacity.
    pub(crate) fn amounts(&self, alternative: usize) -> Option<&'a Amounts> {
        self.asked[alternative].devices.capacity.as_ref()
    }
}

impl Asked<'_> {
    /// The request, or `request/alternative`.
    pub(crate) fn full_name(&self) -> RequestName {
        match self.form {
            Form::Exactly => self.request.name.clone(),
            Form::FirstAvailable => full_name(&self.request.name, &self.devices.name),
        }
    }

    /// The name that errors have: an alternative's own.
    pub(crate) fn own_name(&self) -> RequestName {
        match self.form {
            Form::Exactly => self.request.name.clone(),
            Form::FirstAvailable => self.devices.name.clone(),
        }
    }
}

pub(crate) fn full_name(request: &str, alternative: &str) -> RequestName {
    RequestName::from(alloc::format!("{request}/{alternative}"))
}
