//! What is refused though it is well typed: literals that cannot be converted, and lists and maps of several types.

use alloc::format;

use super::check::Checked;
use super::types::Type;
use crate::fault::Place;
use crate::functions::{self, template};
use crate::syntax::expression::{Call, Expression, Kind, Literal, Need};

/// The first thing that is refused.
pub(crate) fn validate(expression: &Expression, checked: &Checked) -> Result<(), Place> {
    node(expression, checked, Lists::Uniform)
}

/// Whether lists and maps must have elements of one type.
#[derive(Clone, Copy, PartialEq)]
enum Lists {
    Uniform,
    /// Below `format`, whose arguments are a list of anything.
    Mixed,
}

fn node(expression: &Expression, checked: &Checked, lists: Lists) -> Result<(), Place> {
    let mut below = lists;
    match &expression.kind {
        Kind::Call(call) => {
            literals(call)?;
            if call.function == "format" {
                below = Lists::Mixed;
                template::validate(expression, call, checked)?;
            }
        }
        Kind::List(elements) if lists == Lists::Uniform => {
            let types = elements.iter().map(|element| (&element.value, element.need));
            uniform(types, checked)?;
        }
        Kind::Map(entries) if lists == Lists::Uniform => {
            uniform(entries.iter().map(|entry| (&entry.key, Need::Required)), checked)?;
            uniform(entries.iter().map(|entry| (&entry.value, entry.need)), checked)?;
        }
        _ => {}
    }
    expression.children().into_iter().try_for_each(|child| node(child, checked, below))
}

fn uniform<'a>(nodes: impl Iterator<Item = (&'a Expression, Need)>, checked: &Checked) -> Result<(), Place> {
    let mut first: Option<&Type> = None;
    for (node, need) in nodes {
        let found = checked.type_of(node);
        let found = if need == Need::Optional { found.unwrapped().unwrap_or(found) } else { found };
        match first {
            None => first = Some(found),
            Some(first) if first == found => {}
            Some(first) => {
                let message = format!("expected type '{first}' but found '{found}'");
                return Err(Place::new(node.offset, message));
            }
        }
    }
    Ok(())
}

/// Durations, timestamps and patterns that are literals have to be right.
fn literals(call: &Call) -> Result<(), Place> {
    let Some(Kind::Literal(literal)) = call.arguments.first().map(|argument| &argument.kind) else {
        return Ok(());
    };
    let Literal::String(text) = literal else { return Ok(()) };
    let is_right = match &*call.function {
        "duration" => crate::value::time::duration(text).is_some(),
        "timestamp" => crate::value::time::timestamp(text).is_some(),
        "matches" => functions::pattern::Pattern::new(text).is_ok(),
        _ => true,
    };
    let offset = call.arguments.first().map_or(0, |argument| argument.offset);
    if is_right { Ok(()) } else { Err(Place::new(offset, format!("invalid {} argument", call.function))) }
}
