//! What is found in an object.

use alloc::string::String;
use alloc::vec::Vec;

use dra_validation::FieldError;

/// What is found in one object.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Findings {
    /// Why an API server refuses it, sorted by field.
    pub errors: Vec<FieldError>,
    /// What else is to be known of it. Of a refused object nothing else is looked at.
    pub warnings: Vec<Warning>,
}

/// What an API server accepts, and that does not do what it was meant to do.
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
