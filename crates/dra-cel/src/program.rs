//! A compiled expression and its answers.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;

use thiserror::Error;

use crate::{Attribute, Device, DeviceFault, Environment};

/// An expression that was compiled. Cheap to clone, and usable from several threads.
#[derive(Clone, Debug)]
pub struct Program {
    source: Arc<str>,
}

/// Why an expression does not compile. The text names the place as `line:column`.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0}")]
pub struct CompileError(pub(crate) String);

/// Why an evaluation failed. The texts are those that kube-scheduler shows.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum EvaluationError {
    /// The device itself is at fault: every expression fails on it.
    #[error(transparent)]
    Device(#[from] DeviceFault),
    /// The expression failed on this device.
    #[error("{0}")]
    Expression(String),
    /// The cost limit was reached.
    #[error("operation cancelled: actual cost limit exceeded")]
    CostLimit,
}

/// A value or an error, and what it cost.
#[derive(Clone, PartialEq, Debug)]
pub struct Evaluation<T> {
    /// The value.
    pub outcome: Result<T, EvaluationError>,
    /// In CEL's cost units; the limit is 1,000,000. 0 where the device is at fault.
    pub cost: u64,
}

/// Which parts of a device an expression can read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reads {
    /// These alone: two devices that agree in them, and neither of which has a fault, get the same answer.
    Fields {
        /// Whether `device.driver` is read.
        driver: bool,
        /// Whether `device.allowMultipleAllocations` is read.
        multiple_allocations: bool,
        /// Attributes, as domain and id.
        attributes: BTreeSet<(String, String)>,
        /// Capacities, as domain and id.
        capacity: BTreeSet<(String, String)>,
    },
    /// What is read depends on the device, as in a macro over a map of attributes.
    Everything,
}

impl Program {
    /// The most that an evaluation may cost, and that the estimate of a new expression may be.
    pub const COST_LIMIT: u64 = 1_000_000;

    /// Compiles an expression.
    pub fn compile(expression: &str, _environment: &Environment) -> Result<Self, CompileError> {
        Err(CompileError(alloc::format!("compilation failed: {expression}")))
    }

    /// The expression as it was written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether a selector selects a device.
    pub fn matches(&self, device: &Device) -> Result<bool, EvaluationError> {
        self.evaluate(device).outcome
    }

    /// Whether a selector selects a device, and what it cost to know.
    #[must_use]
    pub fn evaluate(&self, device: &Device) -> Evaluation<bool> {
        let fault = device.fault().map_or_else(|| EvaluationError::Expression(String::new()), Into::into);
        Evaluation { outcome: Err(fault), cost: 0 }
    }

    /// The derived attribute that an expression of [`Purpose::DerivedAttribute`](crate::Purpose::DerivedAttribute) gives a device.
    #[must_use]
    pub fn derive(&self, device: &Device) -> Evaluation<Attribute> {
        let fault = device.fault().map_or_else(|| EvaluationError::Expression(String::new()), Into::into);
        Evaluation { outcome: Err(fault), cost: 0 }
    }

    /// The most that an evaluation may cost on any device that an API server accepts, as validation estimates it.
    #[must_use]
    pub fn estimated_cost(&self) -> u64 {
        0
    }

    /// Which parts of a device it reads.
    #[must_use]
    pub fn reads(&self) -> Reads {
        Reads::Everything
    }
}
