//! A compiled expression and its answers.

mod output;
mod reads;

use alloc::boxed::Box;
use alloc::sync::Arc;

use dra_model::AttributeValue;

use crate::checker::{check, validate};
use crate::estimate::estimate;
use crate::evaluate::Frame;
use crate::fault::{CompileError, EvaluationError, Place};
use crate::plan::{Planned, plan};
use crate::syntax::parse;
use crate::value::{Fault, Value};
use crate::{DeviceVariable, Environment};
pub use reads::Reads;
use reads::reads;

/// An expression that was compiled. Cheap to clone, and usable from several threads.
#[derive(Clone, Debug)]
pub struct Program {
    compiled: Arc<Compiled>,
}

#[derive(Debug)]
struct Compiled {
    source: Box<str>,
    planned: Planned,
    estimated_cost: u64,
    reads: Reads,
}

/// A value or an error, and what it cost.
#[derive(Clone, PartialEq, Debug)]
pub struct Evaluation<T> {
    /// The value.
    pub outcome: Result<T, EvaluationError>,
    /// In CEL's cost units; the limit is 1,000,000. 0 where the device is at fault.
    pub cost: u64,
}

impl Program {
    /// The most that an evaluation may cost, and that the estimate of a new expression may be.
    pub const COST_LIMIT: u64 = 1_000_000;

    /// Compiles an expression.
    pub fn compile(expression: &str, environment: &Environment) -> Result<Self, CompileError> {
        let in_source = |place: Place| place.in_source(expression);
        let (mut tree, count) = parse(expression).map_err(in_source)?;
        let checked = check(&mut tree, count, *environment).map_err(in_source)?;
        validate(&tree, &checked).map_err(in_source)?;
        output::check(checked.type_of(&tree), *environment)?;
        let planned = plan(&tree, &checked);
        let planned = planned
            .map_err(|reason| CompileError(alloc::format!("program instantiation failed: {reason}")))?;
        let estimated_cost = estimate(&tree, count, &checked);
        let reads = reads(&planned.root);
        Ok(Self {
            compiled: Arc::new(Compiled { source: expression.into(), planned, estimated_cost, reads }),
        })
    }

    /// The expression as it was written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.compiled.source
    }

    /// Whether a selector selects a device.
    pub fn matches(&self, device: &DeviceVariable) -> Result<bool, EvaluationError> {
        self.evaluate(device).outcome
    }

    /// Whether a selector selects a device, and what it cost to know.
    #[must_use]
    pub fn evaluate(&self, device: &DeviceVariable) -> Evaluation<bool> {
        self.evaluated(device, |value| match value {
            Value::Bool(value) => Ok(value),
            other => {
                let name = other.type_name();
                let message = alloc::format!("CEL result of type {name} could not be converted to bool");
                Err(EvaluationError::Expression(message))
            }
        })
    }

    /// The value of the derived attribute that an expression of [`Purpose::DerivedAttribute`](crate::Purpose::DerivedAttribute) gives a device.
    #[must_use]
    pub fn derive(&self, device: &DeviceVariable) -> Evaluation<AttributeValue> {
        self.evaluated(device, |value| output::attribute(&value))
    }

    fn evaluated<T>(
        &self,
        device: &DeviceVariable,
        convert: impl Fn(Value) -> Result<T, EvaluationError>,
    ) -> Evaluation<T> {
        let variable = match &device.value {
            Ok(value) => value,
            Err(fault) => return Evaluation { outcome: Err(fault.clone().into()), cost: 0 },
        };
        let planned = &self.compiled.planned;
        let mut frame = Frame::new(variable, planned.locals, Self::COST_LIMIT);
        let outcome = frame.evaluate(&planned.root);
        let outcome = outcome.map_err(|fault| match fault {
            Fault::CostLimit => EvaluationError::CostLimit,
            other => EvaluationError::Expression(other.shown()),
        });
        Evaluation { outcome: outcome.and_then(convert), cost: frame.cost() }
    }

    /// The most that an evaluation may cost on any device that an API server accepts, as validation estimates it.
    #[must_use]
    pub fn estimated_cost(&self) -> u64 {
        self.compiled.estimated_cost
    }

    /// Which parts of a device it reads.
    #[must_use]
    pub fn reads(&self) -> &Reads {
        &self.compiled.reads
    }
}
