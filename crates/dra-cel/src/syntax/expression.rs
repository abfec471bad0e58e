//! What a parsed expression consists of.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// A node, with an id that is unique in its expression and the place where it was written.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    pub(crate) id: usize,
    /// Byte offset in the source.
    pub(crate) offset: usize,
    /// How many nodes lie on the longest way down, with this one.
    pub(crate) height: usize,
    pub(crate) kind: Kind,
}

/// The kinds of nodes.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Literal(Literal),
    Identifier(String),
    Select(Box<Select>),
    Call(Call),
    List(Vec<Element>),
    Map(Vec<Entry>),
    /// `Name{field: value}`: which types it could make are not declared.
    Message(String),
    Comprehension(Box<Comprehension>),
}

/// A constant in the source.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
}

/// `operand.field`, or `has(operand.field)`.
#[derive(Clone, Debug)]
pub(crate) struct Select {
    pub(crate) operand: Expression,
    pub(crate) field: String,
    pub(crate) wanted: Wanted,
}

/// What of a field is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
    Value,
    Presence,
}

/// A call of a function or an operator.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) function: String,
    /// What stands before the dot.
    pub(crate) target: Option<Box<Expression>>,
    pub(crate) arguments: Vec<Expression>,
}

/// Whether an element or entry is left out where its optional value is absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Need {
    Required,
    Optional,
}

/// An element of a list.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    pub(crate) value: Expression,
    pub(crate) need: Need,
}

/// An entry of a map.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Expression,
    pub(crate) value: Expression,
    pub(crate) need: Need,
}

/// What macros become: a loop over `range` that changes the accumulator by `step` as long as `condition` holds.
#[derive(Clone, Debug)]
pub(crate) struct Comprehension {
    pub(crate) range: Expression,
    pub(crate) variable: String,
    pub(crate) second: Option<String>,
    pub(crate) accumulator: String,
    pub(crate) initial: Expression,
    pub(crate) condition: Expression,
    pub(crate) step: Expression,
    pub(crate) result: Expression,
}

impl Expression {
    pub(crate) fn children(&self) -> Vec<&Self> {
        match &self.kind {
            Kind::Literal(_) | Kind::Identifier(_) | Kind::Message(_) => Vec::new(),
            Kind::Select(select) => alloc::vec![&select.operand],
            Kind::Call(call) => call.target.as_deref().into_iter().chain(&call.arguments).collect(),
            Kind::List(elements) => elements.iter().map(|element| &element.value).collect(),
            Kind::Map(entries) => entries.iter().flat_map(|entry| [&entry.key, &entry.value]).collect(),
            Kind::Comprehension(of) => {
                alloc::vec![&of.range, &of.initial, &of.condition, &of.step, &of.result]
            }
        }
    }
}
