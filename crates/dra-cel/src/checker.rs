//! Types: what expressions are declared to be, and whether an expression is well typed.

pub(crate) mod types;
mod unification;
mod declarations;
mod signatures;
mod check;
mod validate;

pub(crate) use check::{Checked, attribute_type, check};
pub(crate) use validate::validate;
