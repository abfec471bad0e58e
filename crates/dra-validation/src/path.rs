//! Paths of fields, as Kubernetes writes them.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

/// The path of a field: `spec.devices[0].attributes[model]`.
#[derive(Clone)]
pub(crate) struct Path(String);

impl Path {
    pub(crate) fn new(field: &str) -> Self {
        Self(field.to_string())
    }

    pub(crate) fn child(&self, field: &str) -> Self {
        Self(format!("{}.{field}", self.0))
    }

    pub(crate) fn index(&self, at: usize) -> Self {
        Self(format!("{}[{at}]", self.0))
    }

    pub(crate) fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
