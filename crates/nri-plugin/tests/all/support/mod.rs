//! What the tests share: a runtime that does what a test says, and a handler that keeps what it is asked.

pub(crate) mod handler;
pub(crate) mod runtime;
