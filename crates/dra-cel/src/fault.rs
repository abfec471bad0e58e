//! What is wrong with an expression, and where.

use alloc::format;
use alloc::string::String;

use thiserror::Error;

use crate::device::DeviceFault;

/// Why an expression does not compile. The text names the place as `line:column`.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0}")]
pub struct CompileError(pub(crate) String);

/// Why an evaluation failed. The texts are those that kube-scheduler shows.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum EvaluationError {
    /// The device itself is at fault: every expression fails on it.
    #[error(transparent)]
    Device(#[from] DeviceFault),
    /// The expression failed on this device.
    #[error("{0}")]
    Expression(String),
    /// The cost limit was reached.
    #[error("operation cancelled: actual cost limit exceeded")]
    CostLimit,
}

/// A message about a place in the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// Byte offset.
    offset: usize,
    message: String,
}

impl Place {
    pub(crate) fn new(offset: usize, message: impl Into<String>) -> Self {
        Self { offset, message: message.into() }
    }

    /// The error with line and column, and the line with a mark below.
    pub(crate) fn in_source(&self, source: &str) -> CompileError {
        // There is no place in an empty text.
        if source.is_empty() {
            return CompileError(format!("compilation failed: ERROR: <input>:1:0: {}", self.message));
        }
        let offset = (0..=self.offset.min(source.len())).rev().find(|at| source.is_char_boundary(*at));
        let (before, behind) = source.split_at(offset.unwrap_or(0));
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let column = before[start..].chars().count();
        let shown = [&before[start..], behind.split('\n').next().unwrap_or_default()].concat();
        let dots = ".".repeat(column);
        CompileError(format!(
            "compilation failed: ERROR: <input>:{line}:{}: {}\n | {shown}\n | {dots}^",
            column + 1,
            self.message
        ))
    }
}
