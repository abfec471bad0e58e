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

impl AttributeValue {
    /// Name of the field that holds it.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        match self {
            Self::Int(_) => "int",
            Self::Bool(_) => "bool",
            Self::String(_) => "string",
            Self::Version(_) => "version",
            Self::Ints(_) => "ints",
            Self::Bools(_) => "bools",
            Self::Strings(_) => "strings",
            Self::Versions(_) => "versions",
        }
    }

    /// Whether it is a list.
    #[must_use]
    pub const fn is_list(&self) -> bool {
        matches!(self, Self::Ints(_) | Self::Bools(_) | Self::Strings(_) | Self::Versions(_))
    }

    /// Whether it is a list without members.
    #[must_use]
    pub const fn is_empty_list(&self) -> bool {
        self.is_list() && self.list_len() == 0
    }

    /// How many members it has as a list; 0 if it is none.
    #[must_use]
    pub const fn list_len(&self) -> usize {
        match self {
            Self::Int(_) | Self::Bool(_) | Self::String(_) | Self::Version(_) => 0,
            Self::Ints(all) => all.len(),
            Self::Bools(all) => all.len(),
            Self::Strings(all) | Self::Versions(all) => all.len(),
        }
    }
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
