//! Configuration of drivers.

use alloc::string::String;

use dra_model::OpaqueConfig;

use crate::errors::Faults;
use crate::names::declared_driver;
use crate::path::Path;

/// The longest parameters, in bytes.
const LONGEST: usize = 10 * 1024;

pub(crate) fn by_hand(config: Option<&OpaqueConfig>, at: &Path, faults: &mut Faults) {
    let at = at.child("opaque");
    match config {
        None => faults.required(&at, ""),
        Some(config) => parameters(&config.parameters, &at.child("parameters"), faults),
    }
}

/// They are JSON, since they were read as such: an object if they begin as one.
fn parameters(text: &String, at: &Path, faults: &mut Faults) {
    if text.is_empty() || text == "null" {
        faults.required(at, "");
    } else if text.len() > LONGEST {
        faults.too_long(at, LONGEST);
    } else if !text.starts_with('{') {
        faults.invalid(at, "<value omitted>", "must be a valid JSON object");
    }
}

pub(crate) fn declared(config: Option<&OpaqueConfig>, at: &Path, faults: &mut Faults) {
    if let Some(config) = config {
        declared_driver(&config.driver, &at.child("opaque").child("driver"), faults);
    }
}
