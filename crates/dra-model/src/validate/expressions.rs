//! Expressions of new objects: compiled by [`CheckExpression`], judged here.

use alloc::string::String;

use super::errors::Faults;
use super::path::Path;
use crate::{Features, Selector};

/// What an expression is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExpressionUse {
    /// A selector of devices.
    Selector,
    /// A derived attribute.
    DerivedAttribute,
}

/// Why an expression is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExpressionFault {
    /// It does not compile, or has a value of the wrong type: the message.
    Invalid(String),
    /// The compiler failed: the message.
    Internal(String),
}

/// Compiles new expressions.
pub trait CheckExpression {
    /// The most that an evaluation may cost on any device that is accepted.
    ///
    /// # Errors
    /// [`ExpressionFault`]
    fn estimated_cost(
        &self,
        expression: &str,
        of: ExpressionUse,
        features: Features,
    ) -> Result<u64, ExpressionFault>;
}

/// The most that the estimate may be, of one expression and of all derived attributes of a claim.
pub(super) const HIGHEST_COST: u64 = 1_000_000;
/// The longest expression, in bytes.
const LONGEST: usize = 10 * 1024;

#[derive(Clone, Copy)]
pub(super) struct Expressions<'a> {
    pub(super) check: &'a dyn CheckExpression,
    pub(super) features: Features,
}

impl Expressions<'_> {
    pub(super) fn selectors(&self, selectors: &[Selector], at: &Path, faults: &mut Faults) {
        // Their number is checked by declaration, and ends this.
        if selectors.len() > super::limits::SELECTORS {
            return;
        }
        for (number, selector) in selectors.iter().enumerate() {
            let at = at.index(number).child("cel");
            match &selector.expression {
                None => faults.required(&at, ""),
                Some(text) => {
                    self.cost(text, ExpressionUse::Selector, &at.child("expression"), faults);
                }
            }
        }
    }

    /// What it costs at most; nothing if it is refused.
    pub(super) fn cost(&self, text: &str, of: ExpressionUse, at: &Path, faults: &mut Faults) -> u64 {
        if text.len() > LONGEST {
            faults.too_long(at, LONGEST);
            return 0;
        }
        match self.check.estimated_cost(text, of, self.features) {
            Ok(cost) => {
                if cost > HIGHEST_COST {
                    faults.forbidden(at, "too complex, exceeds cost limit");
                }
                cost
            }
            Err(ExpressionFault::Invalid(message)) => {
                faults.invalid(at, text, &message);
                0
            }
            Err(ExpressionFault::Internal(message)) => {
                faults.internal(at, &message);
                0
            }
        }
    }
}
