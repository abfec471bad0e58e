//! The findings in an object.

use alloc::string::String;
use alloc::vec::Vec;

use dra_validation::FieldError;

/// The findings in one object.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Findings {
    /// The errors for which an API server refuses it, sorted by field.
    pub errors: Vec<FieldError>,
    /// Warnings. An object with errors gets none.
    pub warnings: Vec<Warning>,
}

/// A field that an API server accepts and that does not do what its writer meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// Path of the field in version `v1`: `spec.devices.requests[0]`.
    pub field: String,
    /// A sentence without a full stop.
    pub text: String,
}

impl Warning {
    pub(crate) fn new(field: impl Into<String>, text: impl Into<String>) -> Self {
        Self { field: field.into(), text: text.into() }
    }
}
