//! Regular expressions: RE2's, matched in time that is linear in the text.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use regex_automata::nfa::thompson::{self, pikevm::PikeVM};
use regex_automata::util::syntax;

use super::call::Implementation;
use super::dialect;
use crate::value::{Budget, Fault, Value};

/// The most bytes that a compiled pattern may have.
const LARGEST: usize = 4 << 20;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern(PikeVM);

impl Pattern {
    /// Compiles a pattern. The error says what is wrong with it.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let translated = dialect::translated(text)?;
        let compiled = PikeVM::builder()
            .syntax(syntax::Config::new().utf8(false).nest_limit(1000))
            .thompson(thompson::Config::new().utf8(false).nfa_size_limit(Some(LARGEST)))
            .build(&translated);
        compiled.map(Self).map_err(|error| error.to_string())
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.0.is_match(&mut self.0.create_cache(), text)
    }

    /// The first match, or an empty text.
    pub(crate) fn find<'t>(&self, text: &'t str) -> &'t str {
        let found = self.0.find_iter(&mut self.0.create_cache(), text).next();
        found.and_then(|found| text.get(found.range())).unwrap_or_default()
    }

    /// All matches, or so many.
    pub(crate) fn find_all<'t>(&self, text: &'t str, most: usize) -> Vec<&'t str> {
        let mut cache = self.0.create_cache();
        let found = self.0.find_iter(&mut cache, text).take(most);
        found.map(|found| text.get(found.range()).unwrap_or_default()).collect()
    }
}

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "matches" => |values, budget| applied(values, budget, is_match),
        "find" => |values, budget| applied(values, budget, find),
        "findAll" => |values, budget| applied(values, budget, find_all),
        _ => return None,
    })
}

/// Calls with the pattern that is the second value.
fn applied(
    values: &[Value],
    budget: &Budget,
    of: impl Fn(&Pattern, &[Value]) -> Result<Value, Fault>,
) -> Result<Value, Fault> {
    let [Value::String(text), Value::String(pattern), ..] = values else { return Err(Fault::NoOverload) };
    budget.spend(pattern.len().saturating_mul(text.len().saturating_add(100)))?;
    let pattern = Pattern::new(pattern).map_err(|error| Fault::text(format!("Illegal regex: {error}")))?;
    of(&pattern, values)
}

/// `matches` with a pattern.
pub(crate) fn is_match(pattern: &Pattern, values: &[Value]) -> Result<Value, Fault> {
    match values {
        [Value::String(text), _] => Ok(Value::Bool(pattern.is_match(text))),
        _ => Err(Fault::NoOverload),
    }
}

/// `find` with a pattern.
pub(crate) fn find(pattern: &Pattern, values: &[Value]) -> Result<Value, Fault> {
    match values {
        [Value::String(text), _] => Ok(Value::text(pattern.find(text))),
        _ => Err(Fault::NoOverload),
    }
}

/// `findAll` with a pattern.
pub(crate) fn find_all(pattern: &Pattern, values: &[Value]) -> Result<Value, Fault> {
    let (text, most) = match values {
        [Value::String(text), _] => (text, usize::MAX),
        [Value::String(text), _, Value::Int(most)] => (text, usize::try_from(*most).unwrap_or(usize::MAX)),
        _ => return Err(Fault::NoOverload),
    };
    Ok(Value::List(pattern.find_all(text, most).into_iter().map(Value::text).collect()))
}
