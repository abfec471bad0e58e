//! In which environment an expression is compiled: types and functions differ.

use dra_model::{Feature, Features};

/// When an expression was written, which decides what it may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    /// It is stored in a cluster: everything that any release has, whatever the feature gates. The scheduler compiles
    /// so.
    Stored,
    /// An API server validates it in a new object: the functions of release 1.36, with which 1.37 is compatible, and the types
    /// that these features have: `device.allowMultipleAllocations` with `DRAConsumableCapacity`, and attributes that are
    /// lists with `DRAListTypeAttributes`.
    New(Features),
}

/// What an expression is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// It selects devices: its value is a bool.
    Selector,
    /// It is a derived attribute: its value is a bool, int, string, semantic version, or a list of these.
    DerivedAttribute,
}

/// In which environment an expression is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Environment {
    written: Written,
    pub(crate) purpose: Purpose,
}

impl Environment {
    /// Of selectors that are stored in a cluster: that of the scheduler.
    #[must_use]
    pub const fn stored() -> Self {
        Self { written: Written::Stored, purpose: Purpose::Selector }
    }

    /// Of selectors in new objects, as an API server with these features validates them.
    #[must_use]
    pub const fn new_expressions(features: Features) -> Self {
        Self { written: Written::New(features), purpose: Purpose::Selector }
    }

    /// For another purpose.
    #[must_use]
    pub const fn for_purpose(self, purpose: Purpose) -> Self {
        Self { purpose, ..self }
    }

    /// Whether an expression may use what comes with a feature.
    pub(crate) const fn has(self, feature: Feature) -> bool {
        match self.written {
            Written::Stored => true,
            Written::New(features) => features.has(feature),
        }
    }
}
