//! Expressions of new objects: whether they compile, and what they may cost.

use alloc::string::ToString as _;

use dra_cel::{Environment, Program, Purpose};
use dra_model::{Features, Selector};

use crate::errors::Faults;
use crate::path::Path;

/// The most that the estimate may be, of one expression and of all derived attributes of a claim.
pub(crate) const HIGHEST_COST: u64 = Program::COST_LIMIT;
/// The longest expression, in bytes.
const LONGEST: usize = 10 * 1024;

#[derive(Clone, Copy)]
pub(crate) struct Expressions {
    pub(crate) features: Features,
}

impl Expressions {
    pub(crate) fn selectors(self, selectors: &[Selector], at: &Path, faults: &mut Faults) {
        // Their number is checked by declaration, and ends this.
        if selectors.len() > crate::limits::SELECTORS {
            return;
        }
        for (number, selector) in selectors.iter().enumerate() {
            let at = at.index(number).child("cel");
            match &selector.expression {
                None => faults.required(&at, ""),
                Some(text) => {
                    self.cost(text, Purpose::Selector, &at.child("expression"), faults);
                }
            }
        }
    }

    /// What it costs at most; nothing if it is refused.
    pub(crate) fn cost(self, text: &str, purpose: Purpose, at: &Path, faults: &mut Faults) -> u64 {
        if text.len() > LONGEST {
            faults.too_long(at, LONGEST);
            return 0;
        }
        let environment = Environment::new_expressions(self.features).for_purpose(purpose);
        match Program::compile(text, &environment) {
            Ok(program) => {
                let cost = program.estimated_cost();
                if cost > HIGHEST_COST {
                    faults.forbidden(at, "too complex, exceeds cost limit");
                }
                cost
            }
            Err(error) => {
                faults.invalid(at, text, &error.to_string());
                0
            }
        }
    }
}
