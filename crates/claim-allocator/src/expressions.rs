//! Expressions, each compiled once.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;

use dra_cel::{CompileError, Environment, Program, Purpose};

/// Beyond so many expressions all are forgotten.
const MOST: usize = 4_096;

/// An expression, or why it does not compile.
pub(crate) type Compiled = Result<Program, CompileError>;

/// Compiled expressions, which a caller keeps who asks many questions about the same classes and claims.
///
/// They do not depend on nodes, devices or feature gates. An expression that does not compile is kept as such; it is an
/// error only for a claim that needs its answer.
#[derive(Clone, Debug, Default)]
pub struct Expressions {
    selectors: BTreeMap<Box<str>, Compiled>,
    derived: BTreeMap<Box<str>, Compiled>,
}

impl Expressions {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Compiles an expression, unless that was done before.
    pub(crate) fn compiled(&mut self, expression: &str, purpose: Purpose) -> Compiled {
        let known = match purpose {
            Purpose::Selector => &mut self.selectors,
            Purpose::DerivedAttribute => &mut self.derived,
        };
        if let Some(compiled) = known.get(expression) {
            return compiled.clone();
        }
        if known.len() >= MOST {
            known.clear();
        }
        let compiled = Program::compile(expression, &Environment::stored().for_purpose(purpose));
        known.insert(expression.into(), compiled.clone());
        compiled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_compiled_once_for_each_purpose_and_no_number_of_them_is_kept_forever() {
        let mut expressions = Expressions::new();
        let texts = ["device.driver", "true", "true", "1 +"];
        let compiles = |expressions: &mut Expressions, purpose| {
            texts.map(|text| expressions.compiled(text, purpose).is_ok())
        };
        assert_eq!(compiles(&mut expressions, Purpose::Selector), [false, true, true, false]);
        assert_eq!(compiles(&mut expressions, Purpose::DerivedAttribute), [true, true, true, false]);
        assert_eq!((expressions.selectors.len(), expressions.derived.len()), (3, 3));
        for number in 0..=MOST {
            let text = alloc::format!("device.driver == \"{number}\"");
            assert!(expressions.compiled(&text, Purpose::Selector).is_ok());
        }
        assert!(expressions.selectors.len() <= MOST);
    }
}
