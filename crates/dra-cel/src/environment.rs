//! In which environment an expression is compiled: types and functions differ.

/// When an expression was written, which decides what it may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    /// It is stored in a cluster: everything that any release has, whatever the feature gates. The scheduler compiles
    /// so.
    Stored,
    /// An API server validates it in a new object: the functions of release 1.36, with which 1.37 is compatible, and the types
    /// that the enabled features have.
    New,
}

/// A feature gate that new expressions depend on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feature {
    /// `DRAConsumableCapacity`: `device.allowMultipleAllocations`.
    ConsumableCapacity,
    /// `DRAListTypeAttributes`: attributes that are lists, and the function `includes`.
    ListTypeAttributes,
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
    pub(crate) written: Written,
    pub(crate) purpose: Purpose,
    pub(crate) consumable_capacity: Switch,
    pub(crate) list_type_attributes: Switch,
}

/// Whether a feature is enabled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Switch {
    On,
    Off,
}

impl Environment {
    /// Of selectors that are stored in a cluster: that of the scheduler.
    #[must_use]
    pub const fn stored() -> Self {
        Self {
            written: Written::Stored,
            purpose: Purpose::Selector,
            consumable_capacity: Switch::Off,
            list_type_attributes: Switch::Off,
        }
    }

    /// Of selectors in new objects, as an API server validates them, without any feature.
    #[must_use]
    pub const fn new_expressions() -> Self {
        Self { written: Written::New, ..Self::stored() }
    }

    /// With a feature enabled.
    #[must_use]
    pub const fn with(self, feature: Feature) -> Self {
        match feature {
            Feature::ConsumableCapacity => Self { consumable_capacity: Switch::On, ..self },
            Feature::ListTypeAttributes => Self { list_type_attributes: Switch::On, ..self },
        }
    }

    /// For another purpose.
    #[must_use]
    pub const fn for_purpose(self, purpose: Purpose) -> Self {
        Self { purpose, ..self }
    }
}
