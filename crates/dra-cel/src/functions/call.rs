//! What a function is to the evaluator.

use crate::value::{Budget, Fault, Value};

/// What a call gives: the values are as many as one of the function's overloads has arguments.
pub(crate) type Implementation = fn(&[Value], &Budget) -> Result<Value, Fault>;
