//! A line of a text.

use crate::error::MachineTextError;
use crate::form::Form;

/// A line of the text.
#[derive(Clone, Copy)]
pub(super) struct Line<'t> {
    /// From 1.
    pub(super) number: usize,
    /// How many blanks stand before it.
    pub(super) indent: usize,
    /// Without blanks around it.
    pub(super) text: &'t str,
}

impl Line<'_> {
    pub(super) fn error(self, form: Form, reason: impl Into<String>) -> MachineTextError {
        MachineTextError::Value { form, line: self.number, reason: reason.into() }
    }
}
