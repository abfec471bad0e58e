//! Attributes of devices.

use alloc::string::String;
use alloc::vec::Vec;

/// An attribute as it is written: exactly one value if it is valid, none or several if it is not.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Attribute {
    /// In the order of [`AttributeValue`]'s variants.
    pub values: Vec<AttributeValue>,
}

/// A value of one type.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum AttributeValue {
    /// `int`.
    Int(i64),
    /// `bool`.
    Bool(bool),
    /// `string`.
    String(String),
    /// `version`: semantic version 2.0.0, as text.
    Version(String),
    /// `ints`.
    Ints(Vec<i64>),
    /// `bools`.
    Bools(Vec<bool>),
    /// `strings`.
    Strings(Vec<String>),
    /// `versions`.
    Versions(Vec<String>),
}

impl Attribute {
    /// An attribute with this value.
    #[must_use]
    pub fn new(value: AttributeValue) -> Self {
        Self { values: [value].into() }
    }

    /// Its value: the first one in the order of types. `None` if it has none, with which every expression fails.
    #[must_use]
    pub fn value(&self) -> Option<&AttributeValue> {
        self.values.first()
    }
}

impl From<i64> for Attribute {
    fn from(value: i64) -> Self {
        Self::new(AttributeValue::Int(value))
    }
}

impl From<bool> for Attribute {
    fn from(value: bool) -> Self {
        Self::new(AttributeValue::Bool(value))
    }
}

impl From<&str> for Attribute {
    fn from(value: &str) -> Self {
        Self::new(AttributeValue::String(value.into()))
    }
}
