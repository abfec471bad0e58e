//! Types of expressions.

use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// A type. Cheap to clone.
#[expect(clippy::enum_variant_names, reason = "a type of types is one")]
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Type {
    Dyn,
    /// `google.protobuf.Any`, the type of attributes: unknown, as dyn is.
    Any,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Duration,
    Timestamp,
    /// One with fields, or of Kubernetes: by name.
    Object(&'static str),
    List(Arc<Type>),
    Map(Arc<[Type; 2]>),
    /// One with parameters that only functions look into: `optional_type`, `net.IP`.
    Opaque(&'static str, Arc<[Type]>),
    /// The type of a type.
    Type(Option<Arc<Type>>),
    /// Not known yet: what stands for it is in a [`Unification`](super::unification::Unification).
    Variable(usize),
}

pub(crate) const OPTIONAL: &str = "optional_type";
pub(crate) const DEVICE: &str = "kubernetes.DRADevice";
pub(crate) const QUANTITY: &str = "kubernetes.Quantity";
pub(crate) const SEMVER: &str = "kubernetes.Semver";
pub(crate) const URL: &str = "kubernetes.URL";
pub(crate) const FORMAT: &str = "kubernetes.NamedFormat";
pub(crate) const IP: &str = "net.IP";
pub(crate) const CIDR: &str = "net.CIDR";

impl Type {
    pub(crate) fn list(element: Self) -> Self {
        Self::List(Arc::new(element))
    }

    pub(crate) fn map(key: Self, value: Self) -> Self {
        Self::Map(Arc::new([key, value]))
    }

    pub(crate) fn optional(value: Self) -> Self {
        Self::Opaque(OPTIONAL, Arc::new([value]))
    }

    /// What an optional holds.
    pub(crate) fn unwrapped(&self) -> Option<&Self> {
        match self {
            Self::Opaque(OPTIONAL, parameters) => parameters.first(),
            _ => None,
        }
    }

    /// Whether anything may be found there when it is evaluated.
    pub(crate) const fn is_dyn(&self) -> bool {
        matches!(self, Self::Dyn | Self::Any)
    }

    pub(crate) fn parameters(&self) -> &[Self] {
        match self {
            Self::List(element) => core::slice::from_ref(&**element),
            Self::Map(parameters) => &**parameters,
            Self::Opaque(_, parameters) => parameters,
            Self::Type(Some(of)) => core::slice::from_ref(&**of),
            _ => &[],
        }
    }

    /// The type that a name in an expression stands for.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "bool" => Self::Bool,
            "bytes" => Self::Bytes,
            "double" => Self::Double,
            "int" => Self::Int,
            "uint" => Self::Uint,
            "string" => Self::String,
            "list" => Self::list(Self::Dyn),
            "map" => Self::map(Self::Dyn, Self::Dyn),
            "null_type" => Self::Null,
            "type" => Self::Type(None),
            "google.protobuf.Duration" => Self::Duration,
            "google.protobuf.Timestamp" => Self::Timestamp,
            OPTIONAL => Self::optional(Self::Dyn),
            IP => Self::Opaque(IP, Arc::new([])),
            CIDR => Self::Opaque(CIDR, Arc::new([])),
            _ => return None,
        })
    }

    /// The name of its values' type when they are evaluated: parameters are not known then.
    pub(crate) fn runtime_name(&self) -> &'static str {
        match self {
            Self::Dyn => "dyn",
            Self::Any => "any",
            Self::Null => "null_type",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Duration => "google.protobuf.Duration",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Object(name) | Self::Opaque(name, _) => name,
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Type(_) => "type",
            Self::Variable(_) => "",
        }
    }
}

/// As messages name types.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Null => "null",
            Self::Duration => "duration",
            Self::Timestamp => "timestamp",
            Self::Variable(_) => "dyn",
            _ => self.runtime_name(),
        };
        f.write_str(name)?;
        let parameters: Vec<_> = self.parameters().iter().map(ToString::to_string).collect();
        if parameters.is_empty() { Ok(()) } else { write!(f, "({})", parameters.join(", ")) }
    }
}
