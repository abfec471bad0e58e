//! The expressions of a question, and their answers for its devices.

use alloc::collections::BTreeMap;
use alloc::string::ToString as _;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::{OnceCell, RefCell};

use dra_cel::{DeviceVariable, EvaluationError, Purpose};
use dra_model::{Attribute, Implementation, QualifiedName, RequestedDevices, Selector};

use super::kinds::Kinds;
use super::placed::Placed;
use crate::error::{AllocateError, SelectorFault};
use crate::expressions::{Compiled, Expressions};

/// The place of an expression in [`Selectors`].
pub(crate) type ExpressionId = usize;

/// The expressions of an alternative.
#[derive(Debug)]
pub(crate) struct Asks<'a> {
    /// The selectors of its class; `None` for one that is no expression.
    pub(crate) of_class: Vec<Option<ExpressionId>>,
    /// Its own.
    pub(crate) of_request: Vec<Option<ExpressionId>>,
    /// By the name of the attribute; of several with one name the last.
    pub(crate) derived: BTreeMap<&'a str, ExpressionId>,
}

/// What an expression says of a device, once it was asked.
type Known = Option<Result<bool, EvaluationError>>;

/// All expressions, and what devices are to them.
pub(crate) struct Selectors<'a> {
    numbers: BTreeMap<(Kind, &'a str), ExpressionId>,
    compiled: Vec<Compiled>,
    shares: Shares,
    kinds: Kinds<'a>,
    /// For the first device of each kind what expressions see, once one asks.
    variables: Vec<OnceCell<DeviceVariable>>,
    /// The answers by expression, then the first device of a kind.
    answers: RefCell<Vec<Vec<Known>>>,
}

/// [`Purpose`], in an order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Selector,
    Derived,
}

/// Whether expressions see that a device may have several allocations.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shares {
    Seen,
    Hidden,
}

impl<'a> Selectors<'a> {
    /// No expressions yet.
    pub(crate) fn of(implementation: Implementation) -> Self {
        Self {
            numbers: BTreeMap::new(),
            compiled: Vec::new(),
            shares: match implementation {
                Implementation::Stable => Shares::Hidden,
                Implementation::Incubating | Implementation::Experimental => Shares::Seen,
            },
            kinds: Kinds::default(),
            variables: Vec::new(),
            answers: RefCell::new(Vec::new()),
        }
    }

    /// Sets the number of devices, before anything is asked about one.
    pub(crate) fn set_devices(&mut self, devices: usize) {
        self.variables = vec![OnceCell::new(); devices];
        self.kinds.set_devices(devices);
    }

    /// Compiles what an alternative asks.
    pub(crate) fn add(
        &mut self,
        class: &'a [Selector],
        devices: &'a RequestedDevices,
        expressions: &mut Expressions,
    ) -> Asks<'a> {
        let mut all = |selectors: &'a [Selector]| {
            let texts = selectors.iter().map(|selector| selector.expression.as_deref());
            texts.map(|text| text.map(|text| self.number(text, Kind::Selector, expressions))).collect()
        };
        let (of_class, of_request) = (all(class), all(&devices.selectors));
        let derived = devices.derived_attributes.iter().map(|derived| {
            (derived.name.as_str(), self.number(&derived.expression, Kind::Derived, expressions))
        });
        Asks { of_class, of_request, derived: derived.collect() }
    }

    fn number(&mut self, text: &'a str, kind: Kind, expressions: &mut Expressions) -> ExpressionId {
        let next = self.compiled.len();
        let id = *self.numbers.entry((kind, text)).or_insert(next);
        if id == next {
            let purpose = match kind {
                Kind::Selector => Purpose::Selector,
                Kind::Derived => Purpose::DerivedAttribute,
            };
            let compiled = expressions.compiled(text, purpose);
            if let Ok(program) = &compiled {
                self.kinds.add(program.reads());
            }
            self.compiled.push(compiled);
            self.answers.get_mut().push(vec![None; self.variables.len()]);
        }
        id
    }

    /// Whether an expression selects a device.
    pub(crate) fn matches(
        &self,
        expression: ExpressionId,
        device: usize,
        placed: Placed<'a>,
    ) -> Result<bool, SelectorFault> {
        let device = self.kinds.first(device, placed);
        let known = &mut self.answers.borrow_mut()[expression][device];
        if let Some(Ok(answer)) = known {
            return Ok(*answer);
        }
        let compiled = &self.compiled[expression];
        let program = compiled.as_ref().map_err(|error| SelectorFault::Compile(error.to_string()))?;
        let answer = known.get_or_insert_with(|| program.matches(self.variable(device, placed)));
        let runtime =
            |error: EvaluationError| SelectorFault::Runtime { device: placed.id(), error: error.to_string() };
        answer.clone().map_err(runtime)
    }

    /// The attribute that an expression gives a device.
    pub(crate) fn derive(
        &self,
        expression: ExpressionId,
        (name, device): (&str, usize),
        placed: Placed<'a>,
    ) -> Result<Attribute, AllocateError> {
        let device = self.kinds.first(device, placed);
        let name = || QualifiedName::from(name);
        let compiled = self.compiled[expression].as_ref();
        let program = compiled
            .map_err(|error| AllocateError::DerivedCompile { name: name(), error: error.to_string() })?;
        let derived = program.derive(self.variable(device, placed)).outcome;
        let runtime = |error: EvaluationError| AllocateError::DerivedRuntime {
            name: name(),
            device: placed.id(),
            error: error.to_string(),
        };
        derived.map(Attribute::new).map_err(runtime)
    }

    fn variable(&self, device: usize, placed: Placed<'_>) -> &DeviceVariable {
        let Placed { slice, device: object } = placed;
        self.variables[device].get_or_init(|| match self.shares {
            Shares::Seen => DeviceVariable::of(&slice.driver, object),
            Shares::Hidden => DeviceVariable::unshareable(&slice.driver, object),
        })
    }
}
