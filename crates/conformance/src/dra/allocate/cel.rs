//! Expressions of cases, evaluated by our own language: each is compiled once.

use std::cell::RefCell;
use std::collections::BTreeMap;

use claim_allocator::{SelectorError, Selectors};
use dra_cel::{Environment, EvaluationError, Program, Purpose};
use dra_model::{Attribute, AttributeValue, Device, Feature, Features, Implementation};

/// The expressions of one case.
pub(super) struct Expressions {
    environment: Environment,
    shares: Shares,
    compiled: RefCell<BTreeMap<(String, Kind), Result<Program, SelectorError>>>,
}

/// Whether expressions see that a device may have several allocations.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shares {
    Seen,
    Hidden,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Selector,
    Derived,
}

impl Expressions {
    pub(super) fn new(features: Features, implementation: Implementation) -> Self {
        let gates = [
            (Feature::ConsumableCapacity, dra_cel::Feature::ConsumableCapacity),
            (Feature::ListTypeAttributes, dra_cel::Feature::ListTypeAttributes),
        ];
        let on = gates.into_iter().filter(|(gate, _)| features.has(*gate));
        let environment =
            on.fold(Environment::stored(), |environment, (_, feature)| environment.with(feature));
        let shares = if implementation == Implementation::Stable { Shares::Hidden } else { Shares::Seen };
        Self { environment, shares, compiled: RefCell::default() }
    }

    fn program(&self, expression: &str, kind: Kind) -> Result<Program, SelectorError> {
        let mut compiled = self.compiled.borrow_mut();
        let compile = || {
            let purpose = if kind == Kind::Derived { Purpose::DerivedAttribute } else { Purpose::Selector };
            let compiled = Program::compile(expression, &self.environment.for_purpose(purpose));
            compiled.map_err(|error| SelectorError::Compile(error.to_string()))
        };
        compiled.entry((expression.to_owned(), kind)).or_insert_with(compile).clone()
    }

    fn device(&self, driver: &str, device: &Device) -> dra_cel::Device {
        let mut seen = dra_cel::Device::new(driver);
        for (name, attribute) in &device.attributes {
            seen = seen.with_attribute(name, shown(attribute.value()));
        }
        for (name, capacity) in &device.capacity {
            seen = seen.with_capacity(name, capacity.value.clone());
        }
        if self.shares == Shares::Seen && device.is_shareable() {
            seen = seen.allowing_multiple_allocations();
        }
        seen
    }
}

impl Selectors for Expressions {
    fn matches(&self, expression: &str, driver: &str, device: &Device) -> Result<bool, SelectorError> {
        self.program(expression, Kind::Selector)?.matches(&self.device(driver, device)).map_err(failed)
    }

    fn derive(&self, expression: &str, driver: &str, device: &Device) -> Result<Attribute, SelectorError> {
        let program = self.program(expression, Kind::Derived)?;
        program.derive(&self.device(driver, device)).outcome.map(derived).map_err(failed)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "an error is mapped as it comes")]
fn failed(error: EvaluationError) -> SelectorError {
    SelectorError::Runtime(error.to_string())
}

fn shown(value: Option<&AttributeValue>) -> dra_cel::Attribute {
    match value.cloned() {
        None => dra_cel::Attribute::Missing,
        Some(AttributeValue::Int(value)) => dra_cel::Attribute::Int(value),
        Some(AttributeValue::Bool(value)) => dra_cel::Attribute::Bool(value),
        Some(AttributeValue::String(value)) => dra_cel::Attribute::String(value),
        Some(AttributeValue::Version(value)) => dra_cel::Attribute::Version(value),
        Some(AttributeValue::Ints(values)) => dra_cel::Attribute::Ints(values),
        Some(AttributeValue::Bools(values)) => dra_cel::Attribute::Bools(values),
        Some(AttributeValue::Strings(values)) => dra_cel::Attribute::Strings(values),
        Some(AttributeValue::Versions(values)) => dra_cel::Attribute::Versions(values),
    }
}

fn derived(attribute: dra_cel::Attribute) -> Attribute {
    match attribute {
        dra_cel::Attribute::Missing => Attribute::default(),
        dra_cel::Attribute::Int(value) => Attribute::new(AttributeValue::Int(value)),
        dra_cel::Attribute::Bool(value) => Attribute::new(AttributeValue::Bool(value)),
        dra_cel::Attribute::String(value) => Attribute::new(AttributeValue::String(value)),
        dra_cel::Attribute::Version(value) => Attribute::new(AttributeValue::Version(value)),
        dra_cel::Attribute::Ints(values) => Attribute::new(AttributeValue::Ints(values)),
        dra_cel::Attribute::Bools(values) => Attribute::new(AttributeValue::Bools(values)),
        dra_cel::Attribute::Strings(values) => Attribute::new(AttributeValue::Strings(values)),
        dra_cel::Attribute::Versions(values) => Attribute::new(AttributeValue::Versions(values)),
    }
}
