//! From text to an expression: tokens, grammar, macros.

pub(crate) mod expression;
mod token;
mod literal;
mod ids;
mod parser;
mod macros;

pub(crate) use macros::ACCUMULATOR;
pub(crate) use parser::parse;
