//! A checked expression as it is evaluated.
//!
//! The plan has the shape of cel-go's, since what is evaluated as one step decides what it costs: a variable with its fields
//! and indices is one *attribute*; a condition is an attribute of two; constants, and conversions of constants, are
//! evaluated when the plan is made.

mod build;
mod price;

use alloc::boxed::Box;
use alloc::sync::Arc;

pub(crate) use build::{Planned, plan};
pub(crate) use price::Price;

use crate::functions::Implementation;
use crate::functions::pattern::Pattern;
use crate::syntax::expression::Need;
use crate::value::{Fault, Key, List, Value};

/// A step of an evaluation.
#[derive(Debug)]
pub(crate) enum Node {
    Constant(Value),
    Attribute(Box<Attribute>),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    Equal(Box<[Node; 2]>),
    Unequal(Box<[Node; 2]>),
    /// True unless the inner value is false.
    NotStrictlyFalse(Box<Node>),
    Call(Box<Call>),
    /// Membership in a list of constants, which costs nothing.
    Membership(Box<Node>, List),
    List(Box<[Item]>),
    Map(Box<[Pair]>),
    /// The first optional, or the second if the first is absent.
    FirstPresent(Box<[Node; 2]>),
    /// The value of an optional, or the second.
    OrValue(Box<[Node; 2]>),
    Fold(Box<Fold>),
    /// The accumulator of a loop with more elements, in place.
    Append(usize, Box<Node>),
    /// The accumulator of a loop with one more entry, in place.
    Insert(usize, Box<[Node]>),
}

/// A variable or another value, and what is looked up in it.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) root: Root,
    pub(crate) steps: alloc::vec::Vec<Arc<Step>>,
    /// Whether the last step only asks if something is there.
    pub(crate) answer: Answer,
}

/// What the value of an attribute is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Value,
    Presence,
}

/// Where an attribute begins.
#[derive(Debug)]
pub(crate) enum Root {
    Device,
    /// A variable of a macro.
    Local(usize),
    Operand(Node),
    Choice(Box<Choice>),
}

/// `condition ? yes : no`. Steps behind it are steps of both.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) condition: Node,
    pub(crate) yes: Attribute,
    pub(crate) no: Attribute,
}

/// A field or an index.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) by: By,
    pub(crate) need: Need,
}

/// What is looked up.
#[derive(Debug)]
pub(crate) enum By {
    Constant(Value, Key),
    /// Only whether it is there.
    Presence(Key),
    Attribute(Attribute),
}

/// A call of a function.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) implementation: Implementation,
    pub(crate) price: Price,
    pub(crate) arguments: Box<[Node]>,
    pub(crate) order: Order,
    pub(crate) pattern: Option<Matcher>,
}

/// What happens when an argument fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// The others are evaluated too, and the call costs what it costs.
    All,
    /// The call ends there, and costs nothing unless it was the last one.
    UntilFault,
}

/// A pattern that is a constant.
#[derive(Debug)]
pub(crate) struct Matcher {
    pub(crate) pattern: Pattern,
    pub(crate) apply: fn(&Pattern, &[Value]) -> Result<Value, Fault>,
}

/// An element of a list.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) value: Node,
    pub(crate) need: Need,
}

/// An entry of a map.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) key: Node,
    pub(crate) value: Node,
    pub(crate) need: Need,
}

/// A loop. Its accumulator has local number `slot`, its variables the next two.
#[derive(Debug)]
pub(crate) struct Fold {
    pub(crate) range: Node,
    pub(crate) slot: usize,
    pub(crate) variables: Variables,
    pub(crate) initial: Node,
    pub(crate) condition: Node,
    pub(crate) step: Node,
    pub(crate) result: Node,
}

/// How many variables a loop has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Variables {
    One,
    Two,
}
